"""The environment `todo`."""

from agentgym_envs.families.environment import FamilyEnvironment
from agentgym_envs.families.tasks import Generator, counted
from agentgym_envs.families.todo.lists import TodoState, setting, state
from agentgym_envs.families.todo.questions import FORMS
from agentgym_envs.families.todo.tools import TOOLS


class Todo(FamilyEnvironment[TodoState]):
    """Questions about projects and tasks, and operations on them."""

    name = "todo"
    toolset = TOOLS
    generator = Generator(
        name=name,
        tools=TOOLS,
        counts=counted(400, 100, 200, 155),
        forms=FORMS,
        proportions={"string": 98, "integer": 31, "list": 26},
        draw_setting=setting,
        make_state=state,
    )
