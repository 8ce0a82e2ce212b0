"""Refusals need a look that would have found the target, and questions are understood."""

import json
from collections.abc import Iterator

import pytest

from agentgym_envs.assistant import Assistant
from agentgym_envs.assistant.environment import AssistantTask
from agentgym_envs.core import StepResult

REASONS = {
    "ghost_target": "not_found",
    "twin_unknown": "ambiguous",
    "slot_taken": "conflict",
    "unsaid_unknown": "missing_information",
}


def call(name: str, /, **arguments: object) -> str:
    return json.dumps({"name": name, "arguments": arguments})


def tasks(kind: str, count: int = 5) -> Iterator[AssistantTask]:
    found = (task for task in Assistant().tasks("train", "refusal") if task.kind == kind)
    for _, task in zip(range(count), found, strict=False):
        yield task


def played(task: AssistantTask, *actions: str) -> StepResult:
    world = Assistant(all_tools=True)
    world.reset(task, 0)
    return [world.step(action) for action in actions][-1]


def refused(kind: str) -> str:
    return call("submit", status="cannot", reason_code=REASONS[kind])


@pytest.mark.parametrize(
    ("kind", "looks"),
    [
        ("ghost_target", [call("list_todos", query="zzzz")]),
        ("ghost_target", [call("list_todos", done=True, limit=1)]),
        ("twin_unknown", [call("search_contacts", query="zzzz"), call("ask_user", question="Which one?")]),
        ("slot_taken", [call("list_events", start="2020-01-01T00:00", end="2020-01-02T00:00")]),
        ("unsaid_unknown", [call("ask_user", question="hello")]),
    ],
)
def test_a_refusal_after_looking_elsewhere_earns_nothing(kind: str, looks: list[str]) -> None:
    for task in tasks(kind):
        result = played(task, *looks, refused(kind))
        assert result.reward == 0
        assert result.info["outcome"] in ("missing_evidence", "policy_violation")


def test_a_part_of_the_title_finds_the_target_too() -> None:
    for task in tasks("ghost_target"):
        title = task.instruction.split('"')[1]
        searched = call("list_todos", query=title.split()[-1].upper(), done=False)
        assert played(task, searched, refused("ghost_target")).reward == 1
        elsewhere = call("list_todos", query=title, project_id=1)
        assert played(task, elsewhere, refused("ghost_target")).reward == 0


@pytest.mark.parametrize(
    "question",
    [
        "Who do you mean?",
        "I found 2 contacts with this name. Please tell me the team.",
        "There is more than one. Which one should get the mail?",
        "Is it one of both?",
    ],
)
def test_the_user_knows_which_person_is_meant(question: str) -> None:
    for task in tasks("twin_target"):
        assert "The one in " in played(task, call("ask_user", question=question)).observation.text
        assert "nothing to add" in played(task, call("ask_user", question="hello")).observation.text


@pytest.mark.parametrize("question", ["Where should I create it?", "Which of your lists?", "What project?"])
def test_the_user_knows_which_project_is_meant(question: str) -> None:
    for task in tasks("unsaid_asked"):
        assert ", please." in played(task, call("ask_user", question=question)).observation.text


def test_blind_refusals_earn_nothing() -> None:
    world = Assistant()
    for task in list(world.tasks("test", "refusal"))[:48]:
        actions = world.shortcuts(task)["blind_refusal"]
        world.reset(task, 0)
        assert sum(world.step(action).reward for action in actions) == 0
