"""Verdicts: each way to fail has its outcome."""

import json
from collections.abc import Callable

import pytest

from agentgym_envs.assistant import Assistant
from agentgym_envs.core import StepResult, Task


@pytest.fixture(scope="module")
def assistant() -> Assistant:
    return Assistant(all_tools=True)


def call(name: str, /, **arguments: object) -> str:
    """A call as an action."""
    return json.dumps({"name": name, "arguments": arguments})


def first(assistant: Assistant, kind: str) -> Task:
    """The first test task of a template."""
    for level in assistant.difficulties:
        for task in assistant.tasks("test", level)[:13]:
            if task.kind == kind:
                return task
    raise AssertionError(kind)


def played(assistant: Assistant, task: Task, *actions: str) -> StepResult:
    """The last result of an episode."""
    assistant.reset(task, seed=0)  # pyright: ignore[reportArgumentType]
    return [assistant.step(action) for action in actions][-1]


def test_outcomes_of_an_action(assistant: Assistant) -> None:
    task = first(assistant, "todo_done")
    look, complete, submit = assistant.expert(task)  # pyright: ignore[reportArgumentType]
    other = call("update_project", project_id=1, is_favorite=True)
    undo = call("update_project", project_id=1, is_favorite=False)
    assistant.reset(task, seed=0)  # pyright: ignore[reportArgumentType]
    favorite = '"is_favorite":1' in assistant.step(call("list_projects")).observation.text.split("}")[0]
    change, back = (undo, other) if favorite else (other, undo)
    cases = {
        "success": (look, complete, submit),
        "wrong_state": (look, submit),
        "collateral": (look, complete, change, submit),
        "refused_wrongly": (look, complete, call("submit", status="cannot", reason_code="not_found")),
    }
    for outcome, actions in cases.items():
        result = played(assistant, task, *actions)
        assert (result.info["outcome"], result.reward) == (outcome, float(outcome == "success"))
    assert (
        played(assistant, task, look, complete, change, back, submit).reward == 1
    )  # what is undone is nothing
    assert played(assistant, task, look, change, complete, back, submit).reward == 1


def test_outcomes_of_an_answer(assistant: Assistant) -> None:
    task = first(assistant, "event_when")
    look, submit = assistant.expert(task)  # pyright: ignore[reportArgumentType]
    assert played(assistant, task, look, submit).info["outcome"] == "success"
    assert played(assistant, task, submit).info["outcome"] == "missing_evidence"
    wrong = call("submit", status="answer", answer="2026-03-02T09:01")
    assert played(assistant, task, look, wrong).info["outcome"] == "wrong_answer"
    assert played(assistant, task, look, call("submit", status="done")).info["outcome"] == "wrong_answer"


def test_outcomes_of_a_refusal(assistant: Assistant) -> None:
    task = first(assistant, "twin_unknown")
    look, ask, refuse = assistant.expert(task)  # pyright: ignore[reportArgumentType]
    assert played(assistant, task, look, ask, refuse).info["outcome"] == "success"
    assert played(assistant, task, look, refuse).info["outcome"] == "policy_violation"
    assert played(assistant, task, call("submit", status="done")).info["outcome"] == "wrong_answer"
    other = call("submit", status="cannot", reason_code="not_found")
    assert played(assistant, task, look, ask, other).info["outcome"] == "refused_wrongly"


def test_texts_of_the_agents_own_words_are_matched_by_what_they_contain(assistant: Assistant) -> None:
    task = first(assistant, "overdue_digest")
    *looks, send, submit = assistant.expert(task)  # pyright: ignore[reportArgumentType]
    sent = json.loads(send)["arguments"]
    count, titles = sent["body"].split(" overdue: ")
    other = f"Dear owner, these {count} are late:\n{titles.replace(', ', chr(10)).upper()}"
    assert played(assistant, task, *looks, call("send_email", **{**sent, "body": other}), submit).reward == 1
    less = titles.rpartition(", ")[0]
    short = call("send_email", **{**sent, "body": f"{count}: {less}"})
    assert played(assistant, task, *looks, short, submit).info["outcome"] == "wrong_state"


def test_a_submission_that_contradicts_itself_does_not_end_the_episode(assistant: Assistant) -> None:
    task = first(assistant, "todo_done")
    result = played(assistant, task, call("submit", status="cannot"))
    assert not result.terminated
    assert "the status cannot needs a reason" in result.observation.text
    assert '"not_permitted"' in result.observation.text


def test_done_and_answer_mean_the_same(assistant: Assistant) -> None:
    task = first(assistant, "todo_done")
    look, complete, _ = assistant.expert(task)  # pyright: ignore[reportArgumentType]
    for given in ({"status": "answer"}, {"status": "answer", "answer": "It is done."}, {"status": "done"}):
        assert played(assistant, task, look, complete, call("submit", **given)).reward == 1
        assert played(assistant, task, look, call("submit", **given)).info["outcome"] == "wrong_state"
    task = first(assistant, "event_when")
    look, submit = assistant.expert(task)  # pyright: ignore[reportArgumentType]
    answer = json.loads(submit)["arguments"]["answer"]
    for status in ("answer", "done"):
        assert played(assistant, task, look, call("submit", status=status, answer=answer)).reward == 1
        assert played(assistant, task, look, call("submit", status=status)).info["outcome"] == "wrong_answer"


def test_a_reason_beside_the_work_is_that_of_the_part_that_is_refused(assistant: Assistant) -> None:
    for kind, reason, outcome in (
        ("partial", "not_permitted", "success"),
        ("partial", None, "success"),
        ("partial", "not_found", "refused_wrongly"),
        ("todo_done", "not_permitted", "refused_wrongly"),
        ("policy_refuse", "not_permitted", "wrong_answer"),  # all of it has to be refused: status cannot
    ):
        task = first(assistant, kind)
        *before, submit = assistant.expert(task)  # pyright: ignore[reportArgumentType]
        given = {**json.loads(submit)["arguments"], "status": "done", "reason_code": reason}
        assert played(assistant, task, *before, call("submit", **given)).info["outcome"] == outcome


def test_a_note_is_not_judged_and_has_a_most(assistant: Assistant) -> None:
    for kind, status in (("todo_done", "done"), ("event_when", "answer"), ("policy_refuse", "cannot")):
        task = first(assistant, kind)
        *before, submit = assistant.expert(task)  # pyright: ignore[reportArgumentType]
        given = json.loads(submit)["arguments"]
        assert given["status"] == status
        for note in ("", "I could not do it: not_found", "n" * 4_000):
            result = played(assistant, task, *before, call("submit", **given, note=note))
            assert result.info == {"outcome": "success"}
        long = played(assistant, task, *before, call("submit", **given, note="n" * 4_001))
        assert not long.terminated
        assert json.loads(long.observation.text)["error"]["argument"] == "note"


def test_turns_are_limited_by_the_task(assistant: Assistant) -> None:
    task = first(assistant, "todo_done")
    result = played(assistant, task, *[call("get_now")] * 15)
    assert (result.truncated, result.reward, result.info["outcome"]) == (True, 0, "budget")


def test_tools_can_be_told_in_the_text() -> None:
    told = Assistant(tools_in="text")
    opening = told.reset(first(told, "todo_done"), seed=0)  # pyright: ignore[reportArgumentType]
    assert opening.tools is None
    assert "\ncomplete_todo(todo_id)\n" in opening.text
    with pytest.raises(ValueError, match="tools_in is schemas or text"):
        Assistant(tools_in="nowhere")  # pyright: ignore[reportArgumentType]


def test_a_number_beyond_64_bits_is_told_also_after_a_call_that_failed(assistant: Assistant) -> None:
    file = call("create_file", folder="notes", name="twice.txt", body="-")
    known, beyond = call("get_file", file_id=1), call("get_file", file_id=10**30)
    result = played(assistant, first(assistant, "file_add"), known, file, file, beyond)
    assert "out_of_range: a number has more than 64 bits" in result.observation.text


def test_a_change_that_is_taken_back_costs_the_reward_with_strict_history() -> None:
    for strict, reward in ((False, 1.0), (True, 0.0)):
        world = Assistant(strict_history=strict)
        task = next(one for one in world.tasks("train", "single") if world.undone(one))
        for actions, expected in (([], 1.0), (world.undone(task) or [], reward)):
            world.reset(task, 0)
            results = [world.step(action) for action in (*actions, *world.expert(task))]
            assert results[-1].reward == expected
            assert results[-1].info["outcome"] == ("success" if expected else "collateral")


@pytest.mark.parametrize(
    ("change", "reward"),
    [
        (lambda body: body.upper(), 1.0),
        (lambda body: f"{body} (as of 2026-03-02 09:00)", 1.0),
        (lambda body: body.replace(" overdue", "0 overdue", 1), 0.0),
        (lambda body: f"1 2 3 4 5 6 7 {body}", 0.0),
        (lambda body: body.partition(",")[0], 0.0),
    ],
)
def test_a_digest_has_the_number_and_the_titles_and_no_others(
    change: Callable[[str], str], reward: float
) -> None:
    world = Assistant()
    task = next(one for one in world.tasks("train", "multi") if one.kind == "overdue_digest")
    world.reset(task, 0)
    result = None
    for action in world.expert(task):
        made = json.loads(action)
        if made["name"] == "send_email":
            made["arguments"]["body"] = change(made["arguments"]["body"])
        result = world.step(json.dumps(made))
    assert result is not None
    assert result.reward == reward


def test_a_digest_of_all_to_dos_is_none() -> None:
    world = Assistant()
    task = next(one for one in world.tasks("train", "multi") if one.kind == "overdue_digest")
    world.reset(task, 0)
    titles = [row["title"] for row in world.state.office.rows("SELECT DISTINCT title FROM todo")]
    result = None
    for action in world.expert(task):
        made = json.loads(action)
        if made["name"] == "send_email":
            made["arguments"]["body"] += ", " + ", ".join(titles)[:3000]
        result = world.step(json.dumps(made))
    assert result is not None
    assert result.reward == 0
