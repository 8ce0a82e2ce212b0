"""Known transitions: an episode that meets them is equal to one that does not."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentgym_envs.assistant import Assistant, catalogue
from agentgym_envs.assistant.database import transitions
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
    catalogue.image_of(5).cache.clear()
    assert played(actions) == first


def test_a_snapshot_continues_with_known_transitions() -> None:
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


def test_states_are_bounded_also_where_their_transitions_are_not_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(transitions, "MOST_KEPT", 10)
    cache = transitions.TransitionCache()
    made = [cache.state((("UPDATE todo SET done = ?", (number,)),)) for number in range(25)]
    assert cache.state(made[24].changes) is made[24]  # the latest ones are known
    assert cache.state(made[0].changes) is not made[0]  # the first ones were forgotten
