"""Opinions in the loop: which ones an iteration learns from, resumption, held-out and retained episodes."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from support.feedback import played
from support.tiny_models import write_guess_model

from agentevol.config.run import RunConfig, load
from agentevol.config.sections.learner import LearnConfig
from agentevol.core.errors import ConfigError, RunStopped
from agentevol.core.protocols import Checkpoint, LearnerJob, LearnReport, TrainingSequence
from agentevol.data.hashes import of_sequences
from agentevol.learn.learner import GradientLearner
from agentevol.loop.report.page import render
from agentevol.loop.stages.iteration import Stages
from agentevol.loop.state.context import RunContext
from agentevol.loop.state.manifest_writer import read_manifests
from agentevol.loop.state.progress import Progress
from agentevol.loop.state.reward_figures import reward_figures
from agentevol.loop.state.run_folder import RunFolder
from agentevol.models.rendering import ChatRenderer, load_tokenizer
from agentevol.runs.launch import plan
from agentgym_store.feedback.records import feedback
from agentgym_store.feedback.table import FeedbackTable
from agentgym_store.records import Trajectory
from agentgym_store.store import Store


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_guess_model(tmp_path_factory.mktemp("guess") / "base")


def episodes(base: Path, iteration: int, run: str = "now", **fields: Any) -> list[Trajectory]:
    """Four episodes of one task, of which the last is won."""
    renderer = ChatRenderer(load_tokenizer(base))
    found: list[Trajectory] = []
    for attempt, actions in enumerate((["4", "3"], ["5", "6"], ["7", "6"], ["8"])):
        told = {"run": run, "iteration": iteration, "task_id": f"t{iteration}", "env": "guess", **fields}
        purpose = str(fields.get("purpose", "explore"))
        one = played(renderer, f"{run}/{purpose}/{iteration:04d}/{attempt}", actions, **told)
        if attempt == 3:
            won = one.turns[-1].model_copy(update={"reward": 1.0})
            one = one.model_copy(update={"turns": (*one.turns[:-1], won)})
        found.append(one)
    return found


def begun(tmp_path: Path, base: Path, *settings: str) -> RunFolder:
    """A run with two explored iterations and an evaluated one in its table."""
    given = ["name=now", "env=guess", "select.per_task=null", "iterations=3", *settings]
    folder = RunFolder.create(tmp_path / "run", load(None, given), Checkpoint(base, 0))
    for iteration in (1, 2):
        folder.store.append(episodes(base, iteration), commit={"explored": str(iteration)})
    held_out = episodes(base, 1, purpose="evaluate", split="test", task_id="u")
    folder.store.append(held_out, commit={"evaluated": "1"})
    return folder


def stages(folder: RunFolder, cluster: Any = None) -> Stages:
    base, progress = folder.checkpoints.base(), Progress(Console(quiet=True))
    return Stages(RunContext.of(folder, cluster, "", base, progress))


def selected(folder: RunFolder, iteration: int, run: Stages | None = None) -> list[TrainingSequence]:
    run = run or stages(folder)
    return run.select(iteration, run.context.episodes.explored(iteration))


def say(folder: RunFolder, name: str, opinion: dict[str, Any], turn: int | None = None) -> str:
    """Add an opinion of Anna's on an episode such as `0001/2`; return its id."""
    place = name if "/explore/" in name or "/evaluate/" in name else f"now/explore/{name}"
    told = {"trajectory_id": place, "turn": turn, "source": "human:Anna", "opinion": opinion}
    record = feedback(told)
    FeedbackTable(folder.path / "feedback").append([record])
    return record.id


def correction(action: str) -> dict[str, Any]:
    return {"kind": "correction", "action": action}


def rating(value: float) -> dict[str, Any]:
    return {"kind": "score", "value": value, "low": 0, "high": 1}


FLAG = {"kind": "flag", "reason": "unsafe"}


def names(sequences: Sequence[TrainingSequence]) -> list[str]:
    return [one.trajectory_id.removeprefix("now/explore/") for one in sequences]


def learnt(base: Path, sequence: TrainingSequence) -> str:
    """The only action of a sequence that is learnt."""
    ids = sequence.token_ids[sequence.mask].tolist()
    return str(load_tokenizer(base).decode(ids, skip_special_tokens=True)).strip()


def test_a_correction_is_imitated_beside_the_wins_of_the_iteration(tmp_path: Path, base: Path) -> None:
    folder = begun(tmp_path, base, "select.merge=none", "feedback=human")
    say(folder, "0001/0", correction("7"), turn=1)
    sequences = selected(folder, 1)
    assert names(sequences) == ["0001/3", "0001/0"]
    assert [learnt(base, one) for one in sequences] == ["8", "7"]


def test_without_the_setting_opinions_have_no_effect(tmp_path: Path, base: Path) -> None:
    folder = begun(tmp_path, base, "select.merge=none")
    say(folder, "0001/0", correction("7"), turn=1)
    say(folder, "0001/3", FLAG)
    assert names(selected(folder, 1)) == ["0001/3"]
    assert "feedback" not in read_manifests(folder.path, 1)
    assert not (folder.path / "opinions").exists()


def test_opinions_alone_teach_with_only(tmp_path: Path, base: Path) -> None:
    folder = begun(tmp_path, base, "feedback=human", "feedback.only=true")
    assert selected(folder, 1) == []
    say(folder, "0001/0", correction("7"), turn=1)
    assert names(selected(folder, 2)) == ["0001/0"]


def test_an_iteration_sees_opinions_about_itself_and_earlier_ones_only(tmp_path: Path, base: Path) -> None:
    folder = begun(tmp_path, base, "select.merge=none", "feedback=human")
    say(folder, "0001/0", correction("7"), turn=1)
    say(folder, "0002/1", correction("8"), turn=0)  # explored ahead, as far as iteration 1 knows
    assert names(selected(folder, 1)) == ["0001/3", "0001/0"]
    assert names(selected(folder, 2)) == ["0002/3", "0001/0", "0002/1"]


def test_a_resumed_iteration_learns_from_the_same_opinions(tmp_path: Path, base: Path) -> None:
    folder = begun(tmp_path, base, "select.merge=none", "feedback=human")
    first = say(folder, "0001/0", correction("7"), turn=1)
    before = selected(folder, 1)
    noted = json.loads((folder.path / "opinions" / "0001.json").read_text())
    manifests = read_manifests(folder.path, 1)
    assert noted == {"opinions": [first]}
    say(folder, "0001/0", correction("8"), turn=1)  # replaces the first one
    say(folder, "0001/3", FLAG)
    again = selected(folder, 1)
    assert of_sequences(again) == of_sequences(before)
    assert read_manifests(folder.path, 1) == manifests
    # the next iteration, and a run that had not been there, learn from what stands now
    assert [learnt(base, one) for one in selected(folder, 2)] == ["8", "8"]
    (folder.path / "opinions" / "0001.json").unlink()
    assert names(selected(folder, 1)) == ["0001/0"]
    assert read_manifests(folder.path, 1)["feedback"] != manifests["feedback"]


def test_noted_opinions_that_are_gone_stop_the_run(tmp_path: Path, base: Path) -> None:
    folder = begun(tmp_path, base, "feedback=human")
    say(folder, "0001/0", correction("7"), turn=1)
    selected(folder, 1)
    (folder.path / "feedback").rename(tmp_path / "elsewhere")
    with pytest.raises(RunStopped, match="1 opinions that this iteration learns from"):
        selected(folder, 1)


def test_flagged_episodes_teach_nothing_in_any_later_iteration(tmp_path: Path, base: Path) -> None:
    folder = begun(tmp_path, base, "select.merge=cumulative", "feedback=human")
    assert names(selected(folder, 1)) == ["0001/3"]  # encoded for later iterations
    assert names(selected(folder, 2)) == ["0002/3", "0001/3"]
    (folder.path / "opinions" / "0002.json").unlink()
    say(folder, "0001/3", FLAG)
    assert names(selected(folder, 2)) == ["0002/3"]
    say(folder, "0002/3", FLAG)
    (folder.path / "opinions" / "0002.json").unlink()
    assert names(selected(folder, 2)) == []


def test_flagged_episodes_are_not_replayed(tmp_path: Path, base: Path) -> None:
    folder = begun(tmp_path, base, "select.merge=replay", "replay.fraction=0.5", "feedback=human")
    assert set(names(selected(folder, 2))) == {"0002/3", "0001/3"}
    (folder.path / "opinions" / "0002.json").unlink()
    say(folder, "0001/3", FLAG)
    assert set(names(selected(folder, 2))) == {"0002/3"}


def test_held_out_episodes_teach_nothing_and_are_counted(tmp_path: Path, base: Path) -> None:
    folder = begun(tmp_path, base, "algorithm=dpo", "feedback=human", "feedback.only=true")
    say(folder, "now/evaluate/0001/0", correction("7"), turn=1)
    say(folder, "0001/0", correction("7"), turn=1)
    assert names(selected(folder, 1)) == ["0001/0", "0001/0"]
    counts = read_manifests(folder.path, 1)["feedback"].counts
    assert counts == {
        "feedback_correction": 2,
        "feedback_pairs_of_corrections": 1,
        "feedback_pairs_of_comparisons": 0,
        "feedback_undecided_pairs": 0,
        "feedback_inexpressible_corrections": 0,
        "feedback_against_outcome": 0,
        "feedback_left_out_held_out": 1,
    }


def test_pairs_and_labels_of_opinions_stand_beside_those_of_outcomes(tmp_path: Path, base: Path) -> None:
    folder = begun(tmp_path, base, "algorithm=dpo", "feedback=human")
    own = len(selected(folder, 1)) // 2
    (folder.path / "opinions" / "0001.json").unlink()
    say(folder, "0001/0", {"kind": "comparison", "other": "now/explore/0001/1", "verdict": "better"})
    pairs = selected(folder, 1)
    assert len(pairs) == 2 * own + 2
    assert [(one.side, one.unit) for one in pairs[-2:]] == [(1, "feedback pair 0"), (-1, "feedback pair 0")]
    assert names(pairs[-2:]) == ["0001/0", "0001/1"]


def test_a_rating_replaces_the_label_of_the_outcome(tmp_path: Path, base: Path) -> None:
    folder = begun(tmp_path, base, "algorithm=kto", "feedback=human", "feedback.high=0.8")
    say(folder, "0001/3", rating(0.1))  # won
    say(folder, "0001/0", rating(0.75))  # between
    sequences = selected(folder, 1)
    found = {name: one.side for name, one in zip(names(sequences), sequences, strict=True)}
    assert found == {"0001/0": -1, "0001/1": -1, "0001/2": -1, "0001/3": -1}
    assert len(sequences) == 4


def test_counts_are_in_the_summary_and_on_the_page(tmp_path: Path, base: Path) -> None:
    folder = begun(tmp_path, base, "select.merge=none", "feedback=human")
    say(folder, "0001/0", correction("7"), turn=1)
    run = stages(folder)
    selected(folder, 1, run)
    draft = run.context.drafts.of(1)
    assert draft.selection["feedback_corrected_actions"] == 1
    assert draft.data["guess"]["sequences_feedback"] == 1
    folder.summaries.finish(draft)
    page = render(folder.summaries.run(), b"")
    assert "<h2>Feedback</h2>" in page
    assert "corrected actions" in page


def test_opinions_about_retained_episodes_are_copied_with_them(tmp_path: Path, base: Path) -> None:
    before = tmp_path / "before"
    told = episodes(base, 1, run="before", split="valid", env="maze")
    Store.open(before / "trajectories").append(told, commit={"n": "1"})
    other = "before/explore/0001/1"
    opinions = [
        ("before/explore/0001/3", {"kind": "comparison", "other": other, "verdict": "worse"}, None),
        (other, correction("7"), 0),
        ("before/explore/0001/0", FLAG, None),
    ]
    FeedbackTable.beside(before / "trajectories").append(
        [
            feedback({"trajectory_id": name, "turn": turn, "source": "human:Bob", "opinion": opinion})
            for name, opinion, turn in opinions
        ]
    )
    given = ["select.merge=replay", f"retained.data={before}", "select.rule=all", "feedback=human"]
    folder = begun(tmp_path, base, *given)
    stages(folder).base()
    before.rename(tmp_path / "gone")  # a run stands on its own
    stages(folder).base()
    table = FeedbackTable(folder.path / "feedback")
    assert {one.trajectory_id for one in table.records()} == {
        f"now/retain/before/explore/0001/{n}" for n in (0, 1, 3)
    }
    found = [one for one in selected(folder, 1) if "retain" in one.trajectory_id]
    taught = [one for one in found if not one.replayed]
    assert names(taught) == ["now/retain/before/explore/0001/1"]
    assert (learnt(base, taught[0]), taught[0].policy_version) == ("7", None)
    assert "now/retain/before/explore/0001/0" not in names(found)


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        (["algorithm=grpo", "feedback=human"], "learns from groups"),
        (["algorithm=dpo", "feedback=human", "feedback.high=0.9"], "not labels"),
        (["algorithm=dpo", "feedback.only=true"], "without feedback.sources"),
        (["algorithm=dpo", "feedback=human", "feedback.only=true", "pairs.per_task=2"], "pairs"),
        (["feedback=robot"], "no source of feedback"),
    ],
)
def test_settings_without_an_effect_are_errors(settings: list[str], reason: str) -> None:
    with pytest.raises(ConfigError, match=reason):
        load(None, ["env=guess", *settings])


PESSIMISTIC = ("algorithm=dpo", "feedback.aggregate=pessimistic", "feedback.conflict=drop")


def test_the_plan_says_whose_opinions_are_learnt(base: Path) -> None:
    settings = ["env=guess", f"base={base}", "feedback.sources=[human:Anna,judge]"]
    line = "feedback: opinions of human:Anna, judge about explored episodes, beside the selected episodes"
    assert line in plan(load(None, settings))
    chosen = load(None, [*settings, *PESSIMISTIC])
    assert f"{line}; several as one by 'pessimistic'; without those against the outcome" in plan(chosen)
    assert not [one for one in plan(load(None, ["env=guess", f"base={base}"])) if "feedback" in one]


def test_the_short_form_goes_with_other_settings_in_any_order(tmp_path: Path) -> None:
    file = tmp_path / "run.toml"
    file.write_text('feedback = "human"\n[environment]\nname = "guess"\n')
    for config in (
        load(None, ["env=guess", "feedback=human", "feedback.only=true"]),
        load(None, ["env=guess", "feedback.only=true", "feedback=human"]),
        load(file, ["feedback.only=true"]),
    ):
        assert (config.feedback.sources, config.feedback.only) == (("human",), True)
    with pytest.raises(ConfigError, match="iterations is not a section"):
        load(None, ["iterations=2", "iterations.more=1"])


RATED = {"kind": "score", "value": 0.9, "low": 0, "high": 1}


def test_opinions_stand_for_returns_in_selection(tmp_path: Path, base: Path) -> None:
    settings = ("algorithm=sft", "feedback=human", "select.score=feedback", "select.rule=top_k_ratio")
    folder = begun(tmp_path, base, *settings, "select.ratio=0.5", "select.merge=none")
    say(folder, "0001/0", RATED)
    say(folder, "0001/3", {**RATED, "value": 0.1})
    found = selected(folder, 1)
    assert {one.trajectory_id for one in found} == {"now/explore/0001/0"}
    counts = stages(folder).mixture.opinions.taught(1).figures
    assert counts["feedback_scored_episodes"] == 2
    assert counts["feedback_against_outcome"] == 2


def test_flags_are_a_cost_where_it_is_limited(tmp_path: Path, base: Path) -> None:
    settings = ("algorithm=lagrangian", "feedback=human", "constraints.flag.limit=0.1", "select.merge=none")
    folder = begun(tmp_path, base, *settings, "constraints.flag.initial=1")
    say(folder, "0001/1", {"kind": "flag", "reason": "unsafe"})
    found = {one.trajectory_id: one.episode for one in selected(folder, 1)}
    costs = {name: episode.costs.get("flag", 0.0) for name, episode in found.items() if episode is not None}
    assert costs.pop("now/explore/0001/1") == 1
    assert len(costs) == 3
    assert set(costs.values()) == {0.0}


def test_a_flagged_episode_is_out_of_a_selection_without_that_cost(tmp_path: Path, base: Path) -> None:
    settings = ("algorithm=grpo", "feedback=human", "select.score=feedback", "select.merge=none")
    folder = begun(tmp_path, base, *settings)
    for number in range(4):
        say(folder, f"0001/{number}", {**RATED, "value": number / 4})
    say(folder, "0001/1", {"kind": "flag", "reason": "unsafe"})
    found = {one.trajectory_id: one.episode for one in selected(folder, 1)}
    returns = {name[-1]: sum(episode.rewards) for name, episode in found.items() if episode is not None}
    assert returns == {"0": 0.0, "2": 0.5, "3": 0.75}


class Learning:
    """Stands in for the processes: training and values of the process reward model in this one."""

    def __init__(self, config: RunConfig) -> None:
        self._config = config

    def usage(self) -> list[Any]:
        return []

    def learn(self, job: LearnerJob, _progress: object, how: LearnConfig) -> LearnReport:
        return GradientLearner(how).learn(job)

    def values(self, checkpoint: Checkpoint, sequences: Sequence[TrainingSequence]) -> list[Any]:
        heads = list(self._config.process.model_heads)
        return GradientLearner(self._config.process_learn).values(checkpoint, sequences, heads)


def test_the_cost_of_a_flag_makes_the_flagged_actions_less_likely(tmp_path: Path, base: Path) -> None:
    settings = ["algorithm=lagrangian", "feedback=human", "constraints.flag.limit=0", "learn.threads=1"]
    settings += ["constraints.flag.initial=2", "learn.learning_rate=0.01"]
    settings += ["learn.max_logp_gap=100"]
    perplexities: list[list[float]] = []
    for flagged in (True, False):
        folder = begun(tmp_path / str(flagged), base, *settings)
        policy = folder.checkpoints.repeat(folder.checkpoints.accepted(0), folder.checkpoints.accepted(1))
        if flagged:
            say(folder, "0002/2", FLAG)
        run = stages(folder, Learning(folder.config))
        assert run.prices.before(2)["flag"].value == 2
        sequences = selected(folder, 2, run)
        update = run.learn(2, policy, sequences)
        learner = GradientLearner(folder.config.learn)
        perplexities.append([learner.perplexity(update, [one]) for one in sequences])
    with_flag, without = perplexities
    assert with_flag[2] > 1.05 * without[2]
    assert with_flag[0] < 0.95 * without[0]  # of the same return, now better than the flagged one


def test_opinions_of_turns_reward_the_turns_of_later_iterations(tmp_path: Path, base: Path) -> None:
    settings = ["algorithm=reinforce_pp", "feedback=human", "process.opinions.relevance=1", "process.alpha=0"]
    settings += ["process.beta=1", "process.epochs=30", "process.learning_rate=0.01", "learn.threads=1"]
    folder = begun(tmp_path, base, *settings)
    for name, turn, relevance in (
        ("0", 0, 2),
        ("0", 1, 1),
        ("1", 0, 1),
        ("1", 1, 9),
        ("2", 0, 2),
        ("3", 0, 1),
    ):
        told = {"kind": "dimensions", "values": {"relevance": relevance}, "low": 1, "high": 9}
        say(folder, f"0001/{name}", told, turn=turn)
    run = stages(folder, Learning(folder.config))
    for iteration in (1, 2):
        explored = run.context.episodes.explored(iteration)
        chosen = run.select(iteration, explored)
        found = run.shape(iteration, folder.checkpoints.accepted(0), explored, chosen)
    assert read_manifests(folder.path, 2)["feedback"].counts["feedback_labelled_turns_relevance"] == 6
    rewards = {one.trajectory_id[-1]: one.episode.rewards for one in found if one.episode}
    # nobody has an opinion of these episodes: 5, 6 and 7, 6 have turns that were relevant before
    assert sum(map(sum, rewards.values())) == pytest.approx(0, abs=1e-6)
    assert min(rewards["1"][1], rewards["2"][1]) > 0.2 > max(rewards["0"]) > -1
    assert max(rewards["1"][0], rewards["2"][0], rewards["3"][0]) < 0
    assert reward_figures(folder.path, 2)["process_brier"] < 0.05
