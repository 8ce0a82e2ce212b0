"""From the forms of the pages to training batches and changed weights, on a tiny model."""

import math
from pathlib import Path
from typing import Any

import pytest
import torch
from starlette.testclient import TestClient
from support.feedback import guess_table, played
from support.tiny_models import write_guess_model
from transformers import AutoModelForCausalLM

from agentevol.config.run import TrainConfig, load
from agentevol.core.algorithms.registry import objective
from agentevol.core.errors import ConfigError
from agentevol.core.protocols import TrainingSequence
from agentevol.learn.batches.trainable_sequences import NothingToLearn
from agentevol.models.rendering import ChatRenderer, load_tokenizer
from agentevol.runs.training import EXPLORED, train
from agentevol.runs.training_data import training_data
from agentevol.ui.app import create_app
from agentevol.ui.library import Library
from agentevol.ui.settings import UiSettings
from agentgym_store.feedback.records import feedback
from agentgym_store.feedback.table import FeedbackTable
from agentgym_store.records import Trajectory
from agentgym_store.store import Store, Where


@pytest.fixture
def made(tmp_path: Path) -> tuple[Path, Path]:
    return guess_table(tmp_path)


def say(table: Path, *forms: dict[str, str]) -> None:
    """Send forms as the pages do."""
    app = create_app(UiSettings((table.parent,)))
    client = TestClient(app, base_url="http://127.0.0.1:8600", raise_server_exceptions=False)
    key = Library([table.parent]).sources()[0].key
    for form in forms:
        reply = client.post(f"/feedback/{key}", data={"back": "/", "name": "Anna", **form})
        assert reply.url.params["saved"], reply.text


def config_of(base: Path, algorithm: str, *more: str) -> TrainConfig:
    given = [f"algorithm={algorithm}", f"base={base}", "learn.threads=1", "learn.learning_rate=0.01", *more]
    return load(None, given, TrainConfig)


def data_of(made: tuple[Path, Path], algorithm: str, *more: str) -> tuple[list[TrainingSequence], Any]:
    table, base = made
    config = config_of(base, algorithm, *more)
    renderer = ChatRenderer(load_tokenizer(base))
    chosen = objective(config.learn.algorithm, config.learn.options)
    return training_data(table, config, chosen, renderer, EXPLORED)


def read(made: tuple[Path, Path], sequences: list[TrainingSequence]) -> list[tuple[int, str, str]]:
    """Side, context and learnt text of each sequence."""
    tokenizer = load_tokenizer(made[1])

    def text(ids: Any) -> str:
        return str(tokenizer.decode(ids.tolist(), skip_special_tokens=True)).strip()

    return [(one.side, text(one.token_ids[~one.mask]), text(one.token_ids[one.mask])) for one in sequences]


CORRECTION = {"id": "a", "turn": "2", "action": "7"}
PREFERENCE = {"id": "a", "other": "c", "verdict": "worse"}


def test_a_correction_becomes_the_pair_that_was_meant(made: tuple[Path, Path]) -> None:
    say(made[0], CORRECTION)
    sequences, figures = data_of(made, "dpo", "feedback=human")
    context = "Make a guess.4Go higher than 4."
    assert read(made, sequences) == [(1, context, "7"), (-1, context, "3")]
    prompt = next(iter(Store.open(made[0]).trajectories(Where(ids=["a"])))).turns[1].sample
    assert prompt is not None
    for one in sequences:
        assert tuple(one.token_ids[: len(prompt.prompt_ids)].tolist()) == prompt.prompt_ids
        assert one.unit == sequences[0].unit
    assert sequences[0].policy_version is None
    assert figures["feedback_correction"] == figures["feedback_pairs_of_corrections"] == 1


def test_a_preference_becomes_a_pair_of_episodes(made: tuple[Path, Path]) -> None:
    say(made[0], PREFERENCE)
    sequences, figures = data_of(made, "dpo", "feedback=human")
    assert [(side, learnt) for side, _, learnt in read(made, sequences)] == [(1, "567"), (-1, "432")]
    assert figures["feedback_pairs_of_comparisons"] == 1


def test_a_correction_is_imitated_and_nothing_else(made: tuple[Path, Path]) -> None:
    say(made[0], CORRECTION, PREFERENCE)
    sequences, _ = data_of(made, "sft", "feedback=human")
    assert read(made, sequences) == [(0, "Make a guess.4Go higher than 4.", "7")]


def test_ratings_become_labels(made: tuple[Path, Path]) -> None:
    say(made[0], {"id": "a", "score": "1"}, {"id": "b", "score": "3"}, {"id": "c", "score": "5"})
    sequences, figures = data_of(made, "kto", "feedback=human")
    assert {(one.trajectory_id, one.side) for one in sequences if one.side} == {("a", -1), ("c", 1)}
    assert (figures["feedback_desirable"], figures["feedback_undesirable"]) == (1, 1)


def test_others_and_majorities(made: tuple[Path, Path]) -> None:
    say(made[0], PREFERENCE, {**PREFERENCE, "verdict": "better", "name": "Bob"})
    with pytest.raises(NothingToLearn, match="feedback_undecided_pairs 1"):
        data_of(made, "dpo", "feedback=human")
    sequences, _ = data_of(made, "dpo", "feedback.sources=[human:Bob]")
    assert [(one.side, one.trajectory_id) for one in sequences] == [(1, "a"), (-1, "c")]
    say(made[0], {**PREFERENCE, "name": "Cleo"})
    sequences, figures = data_of(made, "dpo", "feedback=human")
    assert [(one.side, one.trajectory_id) for one in sequences] == [(1, "c"), (-1, "a")]
    assert [one.preference for one in sequences] == pytest.approx([2 / 3] * 2)
    assert figures["feedback_soft_pairs"] == 1
    sequences, figures = data_of(made, "ipo", "feedback=human")
    assert [one.preference for one in sequences] == [1, 1]
    assert figures["feedback_hardened_pairs"] == 1


def test_a_named_source_that_said_nothing_is_told(made: tuple[Path, Path]) -> None:
    say(made[0], PREFERENCE)
    with pytest.raises(ConfigError, match="no opinion of 'human:Bob'; there are those of human:Anna"):
        data_of(made, "dpo", "feedback.sources=[human:Anna,human:Bob]")
    with pytest.raises(ConfigError, match="no opinion of 'human:Bob'"):
        data_of(
            made, "dpo", "feedback=human", "feedback.aggregate=weighted", "feedback.weights={'human:Bob'=2}"
        )


def test_flagged_and_held_out_episodes_teach_nothing(made: tuple[Path, Path]) -> None:
    say(made[0], CORRECTION, {"id": "a", "flag": "unsafe"}, {"id": "test", "turn": "1", "action": "8"})
    with pytest.raises(NothingToLearn, match="feedback_left_out_of_flagged_episodes 1"):
        data_of(made, "dpo", "feedback=human")
    table, base = made
    config = config_of(base, "sft", "feedback=human")
    chosen = objective("sft", {})
    with pytest.raises(NothingToLearn, match="feedback_left_out_held_out 1"):
        training_data(table, config, chosen, ChatRenderer(load_tokenizer(base)), Where(purpose=None))


def test_what_no_message_can_say_is_counted(made: tuple[Path, Path]) -> None:
    say(made[0], {**CORRECTION, "action": "7</think>8"})
    with pytest.raises(NothingToLearn, match="feedback_inexpressible_corrections 1"):
        data_of(made, "dpo", "feedback=human")


def test_opinions_beside_outcomes(made: tuple[Path, Path]) -> None:
    say(made[0], CORRECTION, {"id": "b", "flag": "broken"})
    options = ("feedback=human", "feedback.only=false", "select.rule=all")
    with pytest.raises(ConfigError, match="feedback"):
        data_of(made, "sft", "feedback.only=false")
    sequences, _ = data_of(made, "sft", "feedback.sources=[human]", *options[1:])
    assert sorted(one.trajectory_id for one in sequences) == ["a", "a", "c"]
    with pytest.raises(ConfigError, match="select"):
        data_of(made, "sft", "feedback=human", "select.rule=all")


@pytest.mark.parametrize("option", ["feedback.high=0.9", "feedback=robot", "pairs.strategy=adjacent"])
def test_options_without_an_effect_are_errors(made: tuple[Path, Path], option: str) -> None:
    given = [option] if option.startswith("feedback=") else ["feedback.sources=[human]", option]
    with pytest.raises(ConfigError, match=r"effect|source"):
        config_of(made[1], "dpo", *given)


def likelier(model: Path, context: str, action: str) -> float:
    """Log-probability of an action after a context."""
    renderer = ChatRenderer(load_tokenizer(model))
    table = next(iter(Store.open(model.parent / "home" / "table").trajectories(Where(ids=[context]))))
    sample = table.turns[1].sample
    assert sample is not None
    said = renderer.action_ids(action)
    ids = torch.tensor([[*sample.prompt_ids, *said]])
    network = AutoModelForCausalLM.from_pretrained(model)
    with torch.no_grad():
        logp = network(ids).logits[0].log_softmax(-1)
    start = len(sample.prompt_ids)
    return sum(float(logp[start + place - 1, token]) for place, token in enumerate(said))


def test_clicks_change_the_weights(made: tuple[Path, Path]) -> None:
    table, base = made
    with pytest.raises(NothingToLearn, match="there is none"):
        train(table, config_of(base, "dpo", "feedback=human"), out=base.parent / "none")
    say(table, CORRECTION)
    out = base.parent / "better"
    report = train(table, config_of(base, "dpo", "feedback=human", "learn.epochs=4"), out=out)
    assert report.metrics["feedback_pairs_of_corrections"] == 1
    before = likelier(base, "a", "7") - likelier(base, "a", "3")
    after = likelier(out, "a", "7") - likelier(out, "a", "3")
    assert after > before + 0.1
    other = likelier(out, "a", "8") - likelier(base, "a", "8")
    assert likelier(out, "a", "7") - likelier(base, "a", "7") > other


def give(table: Path, *records: dict[str, Any]) -> None:
    found = [feedback({"source": "human:Anna", **record}) for record in records]
    FeedbackTable.beside(table).append(found)


def rating(episode: str, value: float, turn: int | None = None, **more: Any) -> dict[str, Any]:
    opinion = {"kind": "score", "value": value, "low": 0, "high": 1}
    return {"trajectory_id": episode, "turn": turn, "opinion": opinion, **more}


def test_ratings_weigh_imitated_episodes_above_the_baseline(made: tuple[Path, Path]) -> None:
    give(made[0], rating("a", 0.9), rating("b", 0.4), rating("c", 0.6))
    options = ("feedback=human", "learn.options.minimum=0.5")
    sequences, figures = data_of(made, "weighted_bc", *options)
    weights = {one.trajectory_id: round(one.weight, 6) for one in sequences}
    assert weights == {"a": 0.4, "b": 0.0, "c": 0.1}
    assert (figures["feedback_weighted_episodes"], figures["feedback_weightless_episodes"]) == (2, 1)


def test_labels_of_turns_sit_at_their_last_tokens_and_are_unknown_elsewhere(made: tuple[Path, Path]) -> None:
    scale = {"kind": "dimensions", "low": 1, "high": 5}
    give(
        made[0],
        rating("a", 0.8, 1),
        {"trajectory_id": "a", "turn": 1, "opinion": {**scale, "values": {"r": 4}}},
    )
    give(made[0], {"trajectory_id": "c", "turn": 2, "opinion": {**scale, "values": {"r": 1}}})
    (one,), figures = data_of(made, "process_reward", "feedback=human")
    assert one.labels is not None
    assert one.labels[one.mask].tolist() == [[pytest.approx(0.8)]]
    assert figures["feedback_labelled_turns_r"] == 2
    both, _ = data_of(made, "process_reward", "feedback=human", 'objectives=["score", "r"]')
    heads = {one.trajectory_id: one.labels[one.mask].tolist() for one in both if one.labels is not None}
    assert heads["a"] == [[pytest.approx(0.75), pytest.approx(0.8)]]  # heads in the order of their names
    assert heads["c"][0][0] == 0
    assert math.isnan(heads["c"][0][1])
    with pytest.raises(NothingToLearn, match="gives turns 'speed'; there are: r, score"):
        data_of(made, "process_reward", "feedback=human", 'objectives=["speed"]')


def test_labels_by_opinions_stand_beside_counted_ones(made: tuple[Path, Path]) -> None:
    give(made[0], rating("a", 0.8, 1))
    options = ("feedback.sources=[human]", "feedback.only=false", "pooled=true", "select.rule=all")
    sequences, _ = data_of(made, "process_reward", *options, 'objectives=["outcome", "score"]')
    labelled = {one.trajectory_id: one.labels[one.mask] for one in sequences if one.labels is not None}
    assert [row[1] for row in labelled["a"].tolist() if not math.isnan(row[1])] == [pytest.approx(0.8)]
    assert all(math.isnan(row[1]) for row in labelled.get("c", []))


def test_scores_stand_for_returns(made: tuple[Path, Path]) -> None:
    give(made[0], rating("a", 0.9), rating("c", 0.1), rating("test", 1.0))
    options = ("feedback.sources=[human]", "feedback.only=false", "select.score=feedback", "select.rule=all")
    sequences, figures = data_of(made, "grpo", *options)
    returns = {one.trajectory_id: sum(one.episode.rewards) for one in sequences if one.episode is not None}
    assert returns == {"a": 0.9, "c": 0.1}
    assert figures["feedback_scored_episodes"] == 2


def test_opinions_against_the_outcome_are_counted(made: tuple[Path, Path]) -> None:
    give(made[0], rating("a", 0.9), rating("c", 0.1))
    _, figures = data_of(made, "kto", "feedback=human")
    assert figures["feedback_against_outcome"] == 1  # both are lost


def won(episode: Trajectory, reward: float) -> Trajectory:
    last = episode.turns[-1].model_copy(update={"reward": float(reward)})
    return episode.model_copy(update={"turns": (*episode.turns[:-1], last)})


def test_a_source_below_chance_is_named_and_has_no_weight(tmp_path: Path) -> None:
    base = write_guess_model(tmp_path / "base")
    renderer = ChatRenderer(load_tokenizer(base))
    episodes = [won(played(renderer, f"e{n}", [str(n)], task_id=f"t{n}"), 1 - n % 2) for n in range(12)]
    table = tmp_path / "home" / "table"
    Store.open(table).append(episodes, commit={"n": "1"})
    for number in range(12):
        value = 0.2 if number % 2 else 0.8
        for source, told in (("human:A", value), ("human:B", value), ("judge:m", 1 - value)):
            give(table, rating(f"e{number}", told, source=source))
    options = ("feedback=[human,judge]", "learn.options.minimum=0.5", "feedback.aggregate=reliability")
    sequences, figures = data_of((table, base), "weighted_bc", *options)
    assert figures["feedback_below_chance_judge:m"] == 1
    assert {round(one.weight, 3) for one in sequences} == {0.3, 0.0}
    plain, figures = data_of((table, base), "weighted_bc", *options[:2])
    assert {round(one.weight, 3) for one in plain} == {0.1, 0.0}
    assert not [name for name in figures if "below_chance" in name]
