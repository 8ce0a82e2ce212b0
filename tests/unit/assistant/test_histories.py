"""Known points: an episode that meets them is equal to one that does not, and shares nothing that changes."""

import json
import pickle
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentgym_envs.assistant import Assistant, catalogue, histories
from agentgym_envs.core import StepResult

TASK = Assistant().task("assistant/train/todo_done/5-0")
POOL = [
    *Assistant().expert(TASK)[:-1],
    '{"name": "list_todos", "arguments": {"done": false, "limit": 3}}',
    '{"name": "list_projects", "arguments": {}}',
    '{"name": "complete_todo", "arguments": {"todo_id": 3}}',
    '{"name": "delete_todo", "arguments": {"todo_id": 3}}',
    '{"name": "create_todo", "arguments": {"project_id": 2, "title": "more"}}',
    '{"name": "create_todo", "arguments": {"project_id": 99, "title": "more"}}',
    '{"name": "update_todo", "arguments": {"todo_id": 5, "fields": {"priority": 2}}}',
    '[{"name": "complete_todo", "arguments": {"todo_id": 8}}, {"name": "list_todos", "arguments": {}}]',
    '{"name": "search_emails", "arguments": {}}',
    "no call",
    '{"name": "submit", "arguments": {"status": "done"}}',
]


def played(actions: list[str]) -> tuple[list[StepResult], object]:
    """Results and net change of an episode."""
    assistant = Assistant()
    assistant.reset(TASK, seed=0)
    results = [assistant.step(action) for action in actions]
    return results, assistant.net_change()


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from(POOL), max_size=9))
def test_repeated_episodes_are_equal(actions: list[str]) -> None:
    first = played(actions)
    assert played(actions) == first
    catalogue.office(5).histories.clear()
    assert played(actions) == first


def test_a_snapshot_continues_with_known_points() -> None:
    assistant, other = Assistant(), Assistant()
    assistant.reset(TASK, seed=0)
    look, complete, submit = assistant.expert(TASK)
    assistant.step(look)
    snapshot = assistant.snapshot()
    assistant.step(complete)
    assert assistant.step(submit).reward == 1
    other.restore(snapshot)
    other.step(complete)
    assert other.step(submit).reward == 1
    other.restore(snapshot)
    assert other.step(submit).reward == 0


@pytest.mark.parametrize("kept", [False, True])
def test_who_changes_a_result_changes_no_other_episode(kept: bool) -> None:
    actions = [*Assistant().expert(TASK)[:-1], "no call", Assistant().expert(TASK)[-1]]
    if kept:
        played(actions)
    else:
        catalogue.office(5).histories.clear()
    expected = [{}, {}, {"invalid_action": True}, {"outcome": "success"}]
    for _ in range(3):
        results, change = played(actions)
        assert [result.info for result in results] == expected
        assert [result.costs for result in results] == [{}] * 4
        assert len(change.changed) == 1  # pyright: ignore[reportAttributeAccessIssue]
        for result in results:
            result.info["outcome"] = "budget"
            result.costs["money"] = 1.0
        change.changed.clear()  # pyright: ignore[reportAttributeAccessIssue]
        change.inserted["todo", (1,)] += 1  # pyright: ignore[reportAttributeAccessIssue]


CHANGES: list[Any] = [
    lambda tool: tool.update(type="other"),
    lambda tool: tool["function"].pop("name"),
    lambda tool: tool["function"].__setitem__("name", "other"),
    lambda tool: tool["function"]["parameters"]["properties"].clear(),
    lambda tool: tool["function"]["parameters"]["required"].append("other"),
    lambda tool: tool["function"]["parameters"]["required"].__iadd__(["other"]),
    lambda tool: tool["function"]["parameters"]["required"].sort(),
]


@pytest.mark.parametrize("change", CHANGES)
def test_schemas_which_all_episodes_share_cannot_be_changed(change: Any) -> None:
    assistant = Assistant()
    first = assistant.reset(TASK, seed=0)
    later = assistant.step("no call").observation
    for tools in (first.tools, later.tools, assistant.tools):
        for tool in tools or ():
            with pytest.raises(TypeError, match="change a copy of it"):
                change(tool)


def test_copies_of_schemas_may_be_changed_and_read_as_they_do() -> None:
    tools = Assistant().reset(TASK, seed=0).tools
    assert tools
    tool = tools[0]
    for other in (deepcopy(tool), pickle.loads(pickle.dumps(tool)), json.loads(json.dumps(tool))):
        assert other == tool
        other["function"]["parameters"]["required"].append("other")
        other["function"]["name"] = "other"
        assert other != tool


def test_points_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(histories, "MOST_KEPT", 10)
    kept = catalogue.office(5).histories
    kept.clear()
    expert = Assistant().expert(TASK)
    played(expert)
    key = (TASK.id, (False, "schemas", False))
    beginning = kept.beginning(key)
    assert beginning is not None
    assert beginning.point.known.keys() == {expert[0]}
    played(expert)
    assert kept.beginning(key) is beginning
    played([*expert, "x" * 2_000])
    played(["x" * 2_000])
    assert beginning.point.known.keys() == {expert[0]}
    played([f"no call {number}" for number in range(9)])
    assert kept.beginning(key) is None


def test_an_episode_outlives_the_offices_that_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalogue, "OFFICES_KEPT", 2)
    tasks = Assistant().tasks("train", "single")
    others = {task.place.office: task for task in tasks[:400] if task.place.office != TASK.place.office}
    assistant, expert = Assistant(), Assistant().expert(TASK)
    assistant.reset(TASK, seed=0)
    for task in list(others.values())[:4]:
        Assistant().reset(task, seed=0)
    assert [assistant.step(action) for action in expert][-1].reward == 1
