"""Labels of turns, flags as costs, opinions beside outcomes."""

import pytest
from support.trajectories import trajectory

from agentevol.config.self_evolution.feedback import FeedbackConfig
from agentevol.data.feedback.flags import with_flags
from agentevol.data.feedback.outcomes import contradicts
from agentevol.data.feedback.turns import named, turn_labels
from agentevol.data.feedback.usable import usable
from agentevol.data.training_sequences import costs
from agentgym_store.errors import StoreError
from agentgym_store.feedback.records import Feedback, feedback
from agentgym_store.records import Trajectory, Turn

HOW = FeedbackConfig(sources=("human", "judge"))


def said(
    opinion: dict[str, object], turn: int | None = None, source: str = "human:A", of: str = "a"
) -> Feedback:
    return feedback({"trajectory_id": of, "source": source, "turn": turn, "opinion": opinion})


def score(value: float, turn: int | None = None, source: str = "human:A", of: str = "a") -> Feedback:
    return said({"kind": "score", "value": value, "low": 1, "high": 5}, turn, source, of)


def dimensions(values: dict[str, float], turn: int | None = 0, source: str = "judge:m") -> Feedback:
    return said({"kind": "dimensions", "values": values, "low": 1, "high": 10}, turn, source)


def episode(name: str, *rewards: float) -> Trajectory:
    turns = tuple(Turn(action="look", observation="ok", reward=reward) for reward in rewards)
    return trajectory(id=name, turns=turns)


def test_turns_have_labels_by_dimension_and_by_score() -> None:
    given = [dimensions({"relevance": 10, "progress": 1}), score(4, 0), score(5, 2), score(1)]
    assert named(given) == ["progress", "relevance", "score"]
    labels = turn_labels(given, "score", HOW)
    assert {turn: one.value for turn, one in labels.values["a"].items()} == {0: 0.75, 2: 1.0}
    assert turn_labels(given, "progress", HOW).values["a"][0].value == 0.0
    assert labels.count == 2


def test_a_turn_of_several_sources_has_their_mean_and_their_number() -> None:
    found = turn_labels([score(4, 0), score(2, 0, "judge:m")], "score", HOW).values["a"][0]
    assert (found.value, found.samples) == (0.5, 2)


def test_dimensions_have_a_scale_on_which_they_lie() -> None:
    with pytest.raises(StoreError, match="11 is not on the scale from 1 to 10"):
        dimensions({"relevance": 11})
    with pytest.raises(StoreError, match="both low and high"):
        said({"kind": "dimensions", "values": {"a": 1.0}, "low": 0}, 0)
    plain = said({"kind": "dimensions", "values": {"relevance": 0.5}}, 0)
    found = usable([plain], {}, "train")
    assert (named([plain]), found.turns) == ([], ())


def test_a_flagged_episode_has_the_cost_at_its_end_and_others_have_none() -> None:
    first, second = with_flags([episode("a", 0, 1), episode("b", 0)], {"a"})
    assert costs(first)["flag"] == 1
    assert "flag" not in costs(second)
    assert first.total_reward == 1


EPISODES = {"won": episode("won", 1), "lost": episode("lost", 0)}


def better(this: str, other: str) -> Feedback:
    return said({"kind": "comparison", "other": other, "verdict": "better"}, of=this)


CONTRADICTING = [score(5, of="lost"), score(1, of="won"), better("lost", "won")]
FITTING = [score(5, of="won"), score(3, of="lost"), better("won", "lost"), score(5, 0, of="lost")]


@pytest.mark.parametrize("one", CONTRADICTING)
def test_an_opinion_contradicts_the_outcome(one: Feedback) -> None:
    assert contradicts(one, EPISODES)


@pytest.mark.parametrize("one", [*FITTING, score(5, of="elsewhere"), better("won", "elsewhere")])
def test_an_opinion_contradicts_no_outcome_that_it_fits_or_that_is_unknown(one: Feedback) -> None:
    assert not contradicts(one, EPISODES)


def test_opinions_against_the_outcome_are_left_out_where_that_is_asked_for() -> None:
    rated = [score(5, of="lost"), score(1, of="won"), score(5, of="won")]
    kept, dropped = (usable(rated, EPISODES, "train", drops_conflicts=drops) for drops in (False, True))
    assert (kept.scores, dict(kept.left_out)) == (tuple(rated), {})
    assert (dropped.scores, dict(dropped.left_out)) == (tuple(rated[2:]), {"against the outcome": 2})
