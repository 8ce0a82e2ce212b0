"""Classes of lost episodes: each rule, and their order."""

from typing import Any

import pytest
from support.evaluations import record
from support.trajectories import trajectory

from agentevol.loop.report.document import as_markdown
from agentevol.loop.report.evaluations.evaluation_report import document_of, report_of
from agentevol.loop.report.evaluations.losses import LOSS_CLASSES, loss_class, losses
from agentevol.loop.report.evaluations.paired import paired_losses
from agentevol.loop.report.evaluations.record_comparison import compared, comparison_document
from agentevol.loop.report.evaluations.records import Agent, EvaluationRecord, Setting, longest_row, record_of
from agentevol.loop.report.intervals import wilson
from agentevol.rollout.dimensions.clusters import clustered_mean
from agentgym_store.records import STATE, Turn

CUT = {"ending": "truncated(max_turns)"}
CAUSES: dict[str, dict[str, Any]] = {
    "context full": {"ending": "truncated(context)"},
    "invalid actions": {"invalid_in_a_row": 3},
    "same state": {"state_visits": 3},
    "ended wrongly": {"ending": "terminated"},
    "left": {"end_reasons": ["left"]},
    "limit with progress": {**CUT, "reward": 0.5},
    "limit without progress": CUT,
}
"""What makes an episode that a limit cut one of each class."""


def lost(**fields: Any) -> EvaluationRecord:
    return record(**{"invalid_in_a_row": 2, "state_visits": 2, **CUT, **fields})


@pytest.mark.parametrize("name", LOSS_CLASSES)
def test_each_cause_alone_gives_its_class(name: str) -> None:
    assert loss_class(lost(**CAUSES[name])) == name


@pytest.mark.parametrize(
    ("causes", "first"),
    [
        (("context full", "invalid actions", "same state", "limit with progress"), "context full"),
        (("invalid actions", "same state", "ended wrongly", "left"), "invalid actions"),
        (("invalid actions", "limit with progress"), "invalid actions"),
        (("same state", "ended wrongly", "limit with progress"), "same state"),
        (("same state", "left"), "same state"),
        (("left", "limit with progress"), "left"),
    ],
)
def test_of_several_causes_the_first_one_counts(causes: tuple[str, ...], first: str) -> None:
    fields: dict[str, Any] = {}
    for name in reversed(causes):  # the ending of the first one stands
        fields |= CAUSES[name]
    assert loss_class(lost(**fields)) == first


def test_an_end_by_leaving_is_no_wrong_end() -> None:
    assert loss_class(lost(ending="terminated", end_reasons=["left"])) == "left"
    assert loss_class(lost(ending="terminated", end_reasons=["deal"], reward=0.4)) == "ended wrongly"


def test_a_limit_of_the_environment_is_a_limit() -> None:
    assert loss_class(lost(ending="truncated(session-bytes)")) == "limit without progress"


def test_won_and_failed_episodes_are_in_no_class() -> None:
    assert loss_class(lost(reward=1.0, ending="terminated", state_visits=9)) is None
    assert loss_class(lost(reward=None, ending="failed(worker-lost)", invalid_in_a_row=9)) is None
    assert loss_class(lost(reward=None, ending="cancelled")) is None


def test_records_of_earlier_versions_have_fewer_rules() -> None:
    assert loss_class(lost(invalid_in_a_row=None, state_visits=None)) == "limit without progress"


@pytest.mark.parametrize(
    ("values", "length"), [([], 0), ([0, 0], 0), ([1, 1, 0, 1], 2), ([0, 1, 1, 1], 3), ([1, 0, 1, 0, 1], 1)]
)
def test_a_row_is_of_successive_values(values: list[int], length: int) -> None:
    assert longest_row(map(bool, values)) == length


def acted(state: str | None, *, invalid: bool = False, observation: str = "seen", **costs: float) -> Turn:
    info: dict[str, object] = {"invalid_action": True} if invalid else {}
    info |= {} if state is None else {STATE: state}
    return Turn(action="go", observation=observation, reward=0.0, info=info, costs=costs)


def told(*turns: Turn, given: int = 0) -> EvaluationRecord:
    episode = trajectory(
        id="e", purpose="evaluate", turns=turns, given_turns=given, initial_observation="seen"
    )
    return record_of(episode, Agent("m", "plain", None, None), Setting(1, "", {}, None))


def test_a_record_tells_rows_visits_and_costs() -> None:
    turns = [acted(state, invalid=state == "b", harm=0.5) for state in "abbab"]
    found = told(*turns)
    assert (found.invalid_actions, found.invalid_in_a_row, found.state_visits) == (3, 2, 3)
    assert found.costs == {"harm": 2.5}


def test_given_turns_are_not_the_policys() -> None:
    found = told(*[acted("a", invalid=True, harm=1.0) for _ in range(4)], given=2)
    assert (found.invalid_in_a_row, found.state_visits, found.costs) == (2, 2, {"harm": 2.0})


def test_without_a_recorded_state_it_is_what_the_agent_had_read() -> None:
    # read before the turns: seen, seen, new, seen
    found = told(acted(None), acted(None, observation="new"), acted(None), acted(None, observation="new"))
    assert found.state_visits == 3


def test_a_cost_that_was_not_judged_is_none() -> None:
    turn = Turn(action="go", observation="", reward=0.0, costs={"harm": None})
    assert told(turn, acted("a", harm=1.0)).costs == {"harm": None}


RECORDS = [
    lost(task="a", reward=1.0, ending="terminated"),
    lost(task="b", state_visits=4),
    lost(task="c", state_visits=3),
    lost(task="d", reward=None, ending="failed(judge)"),
    lost(task="e"),
    lost(task="e", role="partner", state_visits=5, id="p"),
]


def test_losses_are_counted_with_shares_and_examples() -> None:
    found = losses(RECORDS)
    assert {name: (one.episodes, one.examples) for name, one in found.items()} == {
        "same state": (2, ("eval/b/None/0", "eval/c/None/0")),
        "limit without progress": (1, ("eval/e/None/0",)),
    }
    share = found["same state"].share
    assert (share.mean, share.n, (share.low, share.high)) == (0.5, 4, wilson(2, 4))
    page = as_markdown(document_of(report_of(RECORDS)))
    assert "| same state | 2 | 50.0 % | 15.0 – 85.0 % | eval/b/None/0 |" in page


def test_the_change_between_two_evaluations_is_paired() -> None:
    after = [lost(task="a", state_visits=3), lost(task="b", state_visits=3), lost(task="c"), lost(task="x")]
    found = paired_losses(RECORDS, after)
    # same state: a 0 -> 1, b 1 -> 1, c 1 -> 0; limit: c 0 -> 1
    assert list(found) == ["same state", "limit without progress"]
    assert found["same state"].difference == clustered_mean([1.0, 0.0, -1.0], "abc")
    limit = found["limit without progress"]
    assert (limit.first, limit.second, limit.difference.n) == (0.0, pytest.approx(1 / 3), 3)
    page = as_markdown(comparison_document("x", {"y": compared("x", RECORDS, "y", after, force=False)}))
    assert "| same state | 0.667 | 0.667 | +0.000 | -2.484 to +2.484 | 3 | 3 |" in page
