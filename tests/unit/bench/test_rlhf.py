"""Table of RLHF's benchmark: figures of rounds, means and differences, stops, and its file of outcomes."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from agentevol.cli.benchmarks.kept_outcomes import keep_records, kept_records
from agentevol.cli.benchmarks.rlhf.arms import ARMS, PAIRS, Trial
from agentevol.cli.benchmarks.rlhf.base import with_base
from agentevol.cli.benchmarks.rlhf.main import Comparison, main, named
from agentevol.cli.benchmarks.rlhf.outcomes import Outcome, Rate, Round, round_of
from agentevol.cli.benchmarks.rlhf.table import NAME, WIDTH, stop_of, table
from agentevol.config.presets.methods import METHODS
from agentevol.config.rewards.reward import PreferenceModelReward
from agentevol.core.errors import ConfigError
from agentevol.core.summaries import EvaluationSummary, IterationSummary


def rate(percent: int) -> Rate:
    return Rate(wins=2 * percent, n=200)


def outcome(arm: str, seed: int, right: list[int], scores: list[float] | None = None, **more: Any) -> Outcome:
    """A trial whose held-out and validation questions are equally often right, and 10 samples a round."""
    known = scores or []
    rounds = tuple(
        Round(
            iteration=number,
            test=rate(percent),
            validation=rate(percent),
            score=known[number - 1] if 0 < number <= len(known) else None,
            kl=0.1 * number if known else None,
            pair_accuracy=0.9 - number / 100 if known and number else None,
            samples=10 if number else 0,
        )
        for number, percent in enumerate(right)
    )
    given = {"preference_rounds": 1 if known else 0, "planned": len(right) - 1, "kl": 0.25, **more}
    sampled = rate(right[0] - 10), rate(right[-1] - 4)
    return Outcome(arm=arm, seed=seed, minutes=1.0, base=rate(20), sampled=sampled, rounds=rounds, **given)


def cells(line: str) -> list[str]:
    places = range(NAME, len(line), WIDTH)
    return [line[place : place + WIDTH].strip() for place in places]


def row(lines: list[str], name: str) -> str:
    return next(line for line in lines if line[:NAME].strip() == name)


def test_the_table_has_accuracy_by_stage_with_intervals_and_differences_seed_by_seed() -> None:
    outcomes = [
        *(outcome("sft", seed, [percent]) for seed, percent in ((0, 40), (1, 50))),
        *(outcome("grpo", seed, [percent, 70, 60]) for seed, percent in ((0, 40), (1, 50))),
    ]
    lines = list(table(outcomes))
    assert lines[0] == "right answers to 200 held-out questions of each arm and seed, in percent"
    # Student's quantile of one degree of freedom is 12.71; the error of 40 and 50 is 5
    assert cells(row(lines, "grpo")) == [
        *("20.0 ± 0.0", "45.0 ± 63.5", "60.0 ± 0.0", "70.0 ± 0.0", "35.0 ± 63.5", "56.0 ± 0.0"),
        *("+15.0 ± 63.5", "+21.0 ± 63.5", "0.250 ± 0.000", "–", "20 ± 0", "20 ± 0"),
    ]
    difference = row(lines, "grpo - sft")
    assert difference[NAME : NAME + WIDTH].strip() == "+15.0 ± 63.5"
    assert difference.endswith("+20.0, +10.0")


def test_one_seed_has_the_interval_of_its_questions() -> None:
    lines = list(table([outcome("sft", 0, [50])]))
    assert cells(row(lines, "sft"))[:2] == ["20.0 (15.0–26.1)", "50.0 (43.1–56.9)"]
    assert not [line for line in lines if " - " in line[:NAME]]


def test_a_reward_model_is_measured_on_pairs_it_has_not_seen_and_only_its_round_needs_outcomes() -> None:
    trained = outcome("rlhf", 0, [40, 40, 50, 60], scores=[0.1, 0.2, 0.3])
    assert trained.held_out_pairs == pytest.approx(88.0)  # of round 2, the first after its own
    assert (trained.samples, trained.labels) == (30, 10)
    others = outcome("grpo", 0, [40, 50, 60])
    assert (others.held_out_pairs, others.samples, others.labels) == (None, 20, 20)


def test_curves_show_a_score_that_rises_while_accuracy_falls_and_where_a_run_stopped() -> None:
    right, scores = [40, 40, 50, 45, 30, 20], [0.1, 0.5, 0.9, 1.3, 1.7]
    pushed = outcome("pushed", 0, right, scores=scores)
    assert stop_of(pushed) == "all 5 rounds; a patience of 2 stops after round 4"
    stopped = outcome("stopped", 0, right[:5], scores=scores[:4], planned=5)
    assert stop_of(stopped) == "stopped after round 4 of 5"
    lines = list(table([pushed, stopped]))
    start = lines.index("\npushed, seed 0: all 5 rounds; a patience of 2 stops after round 4")
    assert [line.split() for line in lines[start + 1 : start + 4]] == [
        ["round", "0", "1", "2", "3", "4", "5"],
        ["model's", "score", "–", "0.10", "0.50", "0.90", "1.30", "1.70"],
        ["validation", "%", "40.0", "40.0", "50.0", "45.0", "30.0", "20.0"],
    ]
    assert row(lines, "pushed - stopped").endswith("-10.0")


def test_a_run_that_gets_better_would_not_have_been_stopped() -> None:
    better = outcome("rlhf", 0, [40, 40, 50, 60], scores=[0.1, 0.2, 0.3])
    assert stop_of(better) == "all 3 rounds, and a patience of 2 would not have stopped it"


def test_a_round_has_the_figures_of_its_iteration() -> None:
    evaluation = EvaluationSummary(split="test", n=8, successes=6, mean_reward=0.75, mean_turns=1.0)
    summary = IterationSummary(
        iteration=2,
        checkpoint="0002",
        table_version=3,
        explored={"terminated": 9, "failed(policy)": 1},
        learn={"kl": 0.5, "reward_pair_accuracy": 0.75},
        evaluation=evaluation,
        proxy=1.5,
    )
    found = round_of(summary)
    assert (found.test, found.validation.percent) == (Rate(wins=6, n=8), None)
    assert (found.score, found.kl, found.pair_accuracy, found.samples) == (1.5, 0.5, 0.75, 10)


def test_arms_are_presets_and_differ_in_what_they_say() -> None:
    assert {arm.preset for arm in ARMS.values()} == {name for name in METHODS if name.startswith("rlhf")}
    assert {name for pair in PAIRS for name in pair} == set(ARMS)
    assert named("all") == list(ARMS)
    assert named("grpo, sft") == ["sft", "grpo"]
    with pytest.raises(ConfigError, match="no arm 'x'; there are: all, sft, rlhf, grpo"):
        named("sft,x")
    pushed, stopped, near = (
        Trial(arm, 2).config("questions", 4, 50, ()) for arm in ("pushed", "stopped", "rlhf")
    )
    for config in (pushed, stopped, near):
        assert isinstance(config.reward, PreferenceModelReward)
        assert config.reward.preference_rounds == 2
    assert (pushed.reward.exploited_after, stopped.reward.exploited_after) == (None, 2)
    assert pushed.model_copy(update={"reward": stopped.reward}) == stopped
    assert (pushed.kl, pushed.iterations, near.iterations, near.seed) == (None, 4, 4, 2)
    assert (near.explore.difficulty, near.evaluate.episodes, near.evaluate.validation_episodes) == (
        "1",
        50,
        50,
    )
    idle = Trial("sft", 0).config("questions", 4, 50, ("explore.tasks=7",))
    assert (idle.iterations, idle.explore.tasks, idle.learn.learning_rate) == (1, 1, 0.0)
    assert idle.demonstrations == near.demonstrations


def test_another_file_of_questions_needs_a_base() -> None:
    assert with_base("questions:mine.jsonl", ("base=folder",)) == ("base=folder",)
    with pytest.raises(
        ConfigError, match=r"--env questions:mine\.jsonl has no base of its own: give --set base"
    ):
        with_base("questions:mine.jsonl", ("explore.tasks=3",))


def test_one_round_is_too_few() -> None:
    told = "--rounds 1: the first half trains the reward model, give 2 or more"
    with pytest.raises(ConfigError, match=told):
        main(json=False, rounds=1)


def test_outcomes_are_kept_and_only_go_on_with_equal_settings(tmp_path: Path) -> None:
    file, settings = tmp_path / "rlhf.json", Comparison("questions", 4, 50, ("explore.tasks=3",)).settings
    assert kept_records(file, settings, Outcome) == kept_records(None, settings, Outcome) == []
    outcomes = [outcome("rlhf", 0, [40, 40, 50], scores=[0.1, 0.2])]
    keep_records(file, settings, outcomes)
    assert kept_records(file, settings, Outcome) == outcomes
    with pytest.raises(ConfigError, match=r"rlhf\.json has outcomes of other settings"):
        kept_records(file, Comparison("questions", 4, 60, ("explore.tasks=3",)).settings, Outcome)


@pytest.mark.parametrize("text", ["", "{", "[]", json.dumps({"settings": {}}), json.dumps({"outcomes": []})])
def test_a_file_that_holds_no_outcomes_is_told_in_one_line(tmp_path: Path, text: str) -> None:
    file = tmp_path / "other.json"
    file.write_text(text)
    with pytest.raises(ConfigError, match=re.escape(f"{file} has no outcomes of a benchmark")):
        kept_records(file, {}, Outcome)
