"""The environment `todo`."""

from agentgym_envs.families.environment import FamilyEnvironment
from agentgym_envs.families.tasks import FamilyTask, Generator, counted
from agentgym_envs.families.todo.lists import TodoState, setting, state
from agentgym_envs.families.todo.questions import FORMS
from agentgym_envs.families.todo.tools import TOOLS
from agentgym_envs.tooluse.calls import written


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

    def undone(self, task: FamilyTask) -> list[str]:
        """A project becomes a favorite, or none, and again what it was."""
        projects = self.begin(task, 0).projects
        key = min(projects)
        now = bool(projects[key]["is_favorite"])
        return [
            written("update_project", project_id=key, is_favorite=not now),
            written("update_project", project_id=key, is_favorite=now),
        ]
