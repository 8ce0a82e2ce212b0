"""Numbers of more than 64 bits, and members that no schema has, in all tools of all environments of tools."""

import json

import pytest
from support.tool_environments import NAMES

from agentgym_envs.assistant import Assistant
from agentgym_envs.registry import make
from agentgym_envs.tooluse import ToolEnvironment
from agentgym_envs.tooluse.attacks.domain import MEMBER, beyond_schema
from agentgym_envs.tooluse.calls import written

STRINGS_ALONE = ("academia", "movie", "sql", "tau-mock", "tau-retail", "todo")
"""Environments whose tools have no numbers and no objects as arguments."""


@pytest.mark.parametrize("name", NAMES)
def test_every_tool_answers_them(name: str) -> None:
    environment = make(name)
    assert isinstance(environment, ToolEnvironment)
    task = environment.tasks(environment.splits[0])[0]
    tried = 0
    for tool in environment.offered_to(task).values():
        for arguments in beyond_schema(tool.parameters):
            environment.reset(task, 0)
            result = environment.step(written(tool.name, **arguments))
            assert result.reward == 0.0
            if json.dumps(MEMBER)[1:-1] in json.dumps(arguments):
                assert "unknown argument" in result.observation.text
            tried += 1
    environment.close()
    assert (tried == 0) == (name in STRINGS_ALONE)


def test_a_field_that_a_row_does_not_have_is_refused_and_changes_nothing() -> None:
    assistant = Assistant(all_tools=True)
    assistant.reset(assistant.tasks("train")[0], 0)
    before = assistant.net_change()
    for fields in ({"id": 999}, {"answer": "x"}, {"title\" = 'gone', \"done": 1}):
        told = assistant.step(written("update_todo", todo_id=1, fields=fields)).observation.text
        assert "unknown argument" in told
    told = assistant.step(written("get_todo", todo_id=10**30)).observation.text
    assert "out_of_range: a number has more than 64 bits" in told
    assert assistant.net_change() == before
