from pathlib import Path

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from agentevol.core.summaries import EvaluationSummary, IterationSummary
from agentevol.loop.tracking.scalars import scalars
from agentevol.loop.tracking.tensorboard import write_curves

ONE = IterationSummary(
    iteration=3,
    checkpoint="0003",
    table_version=7,
    learn={"loss_last": 0.5},
    evaluation=EvaluationSummary(split="test", n=4, successes=1, mean_reward=0.25, mean_turns=8.0),
    validation=EvaluationSummary(split="valid", n=0, successes=0, mean_reward=0.0, mean_turns=0.0),
    seconds={"explore": 12.0},
    system={"worker_memory_gib": 1.5},
)


def test_what_was_not_scored_has_no_curve():
    assert dict(scalars(ONE)) == {
        "success/test": 0.25,
        "reward/test": 0.25,
        "turns/test": 8.0,
        "tokens/test": 0.0,
        "learn/loss_last": 0.5,
        "seconds/explore": 12.0,
        "system/worker_memory_gib": 1.5,
    }


def test_figures_of_the_data_and_of_changes_have_curves():
    changed = EvaluationSummary(
        split="test", n=4, successes=1, mean_reward=0.25, mean_turns=8.0, gained=2, lost=1
    )
    more = {"selection": {"keep_rate": 0.5}, "data": {"guess": {"mean_weight": 0.75}}, "evaluation": changed}
    got = dict(scalars(ONE.model_copy(update=more)))
    expected = {
        "gained/test": 2.0,
        "lost/test": 1.0,
        "selection/keep_rate": 0.5,
        "data/guess/mean_weight": 0.75,
    }
    assert {name: got[name] for name in expected} == expected


def test_tensorboard_reads_the_curves(tmp_path: Path):
    write_curves(tmp_path, ONE)
    events = EventAccumulator(str(tmp_path)).Reload()
    (point,) = events.Scalars("success/test")
    assert (point.step, point.value) == (3, 0.25)
