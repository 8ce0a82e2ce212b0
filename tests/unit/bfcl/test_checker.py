"""The verdict by the benchmark's semantics, on small classes of our own."""

from collections import Counter

import pytest
from support.bfcl import ANSWER, DOCUMENTS, TASK, TicketAPI, make

from agentgym_envs.bfcl.checker import Judgement, TurnRecord, digest, judge
from agentgym_envs.bfcl.dialogues import Dialogue, SourceAnswer, SourceTask, dialogue_of
from agentgym_envs.bfcl.world import World
from agentgym_envs.tooluse import parse

SHOW, CLOSE, CREATE = (
    "get_ticket(ticket_id=1)",
    "close_ticket(ticket_id=1)",
    "create_ticket(title='Leak', priority=2)",
)
PASSED = Judgement(checked=2, passed=2, fault=None)


def dialogue(truth: list[list[str]]) -> Dialogue:
    task = {**TASK, "question": [TASK["question"][0]] * len(truth)}
    answer = SourceAnswer.model_validate({**ANSWER, "ground_truth": truth})
    return dialogue_of(SourceTask.model_validate(task), answer, "base", DOCUMENTS)


def judged(turns: list[list[str]], truth: list[list[str]] = ANSWER["ground_truth"]) -> Judgement:
    """The judgement on an agent that makes these calls in these turns."""
    task = dialogue(truth)
    world = World(task.classes, task.config, False, make)
    results, records = Counter[bytes](), list[TurnRecord]()
    for texts in turns:
        for text in texts:
            (call,) = parse(text, python=True)
            results[digest(world.call("TicketAPI", call.name, call.arguments))] += 1
        records.append(TurnRecord(bool(texts), world.state(), Counter(results)))
    return judge(task, records, make)


def test_the_solution_passes() -> None:
    assert judged([[SHOW], [CLOSE, CREATE]]) == PASSED


def test_further_calls_that_leave_the_state_and_another_order_pass() -> None:
    assert judged([["get_ticket(ticket_id=2)", SHOW, SHOW], [CREATE, CLOSE]]) == PASSED


@pytest.mark.parametrize(
    ("turns", "fault", "passed"),
    [
        ([[], [CLOSE, CREATE]], "no_call", 1),  # without a call
        ([[SHOW]], "no_call", 1),  # a turn that was not reached
        ([[SHOW, CLOSE], [CREATE]], "state", 1),  # too early
        ([[SHOW], [CLOSE]], "state", 1),  # incomplete
        ([[SHOW], [CLOSE, CREATE, CREATE]], "state", 1),  # once too often
        ([["create_ticket(title='Leak')"], [CLOSE]], "state", 0),
        ([[CLOSE], [CREATE]], "state", 1),  # only the order of the turns differs
        ([["get_ticket(ticket_id=3)"], [CLOSE, CREATE]], "result", 1),  # another result
    ],
)
def test_what_differs_fails(turns: list[list[str]], fault: str, passed: int) -> None:
    assert judged(turns) == Judgement(checked=2, passed=passed, fault=fault)  # type: ignore[arg-type]


def test_a_result_of_an_earlier_turn_counts_as_often_as_it_came() -> None:
    truth = [[SHOW], [SHOW, SHOW, SHOW]]
    other = "get_ticket(ticket_id=2)"  # its result is equal: both tickets are open
    assert judged([[SHOW, SHOW], [other]], truth) == PASSED
    assert judged([[SHOW], [SHOW]], truth) == Judgement(2, 1, "result")


def test_a_turn_without_calls_of_the_solution_is_not_checked_but_its_changes_are_seen_later() -> None:
    truth = [[], [SHOW]]
    assert judged([[], [SHOW]], truth) == judged([["get_ticket(ticket_id=2)"], [SHOW]], truth)
    assert judged([[], [SHOW]], truth) == Judgement(1, 1, None)
    assert judged([[CREATE], [SHOW]], truth) == Judgement(1, 0, "state")
    assert judged([[SHOW], [CREATE]], [[SHOW], []]) == Judgement(1, 1, None)


def test_private_attributes_do_not_count_and_equal_numbers_are_equal() -> None:
    class Shown(TicketAPI):
        def get_ticket(self, ticket_id: int) -> object:
            self.tickets = {1.0: "open", 2: "open"}  # type: ignore[dict-item]
            return super().get_ticket(ticket_id)

    task = dialogue([[SHOW]])
    world = World(task.classes, task.config, False, lambda owner, config, long_context: Shown(config))
    result = Counter([digest(world.call("TicketAPI", "get_ticket", {"ticket_id": 1}))])
    assert judge(task, [TurnRecord(True, world.state(), result)], make).fault is None


def test_an_attribute_that_is_missing_differs() -> None:
    task = dialogue([[SHOW]])
    result = Counter([digest('{"state": "open"}')])
    assert judge(task, [TurnRecord(True, {"TicketAPI": {}}, result)], make).fault == "state"


def test_the_checker_leaves_the_dialogue_as_it_is() -> None:
    task = dialogue(ANSWER["ground_truth"])
    before = task.model_dump_json()
    judge(task, [], make)
    assert task.model_dump_json() == before
