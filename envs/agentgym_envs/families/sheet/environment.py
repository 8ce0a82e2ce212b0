"""The environment `sheet`."""

from agentgym_envs.families.environment import FamilyEnvironment
from agentgym_envs.families.sheet.operations import FORMS
from agentgym_envs.families.sheet.tools import TOOLS
from agentgym_envs.families.sheet.workbook import SheetState, setting, state
from agentgym_envs.families.tasks import FamilyTask, Generator, counted


class Sheet(FamilyEnvironment[SheetState]):
    """Operations on tables. The verdict compares whole tables: sizes, cells, notes and merged ranges."""

    name = "sheet"
    toolset = TOOLS
    generator = Generator(
        name=name,
        tools=TOOLS,
        counts=counted(400, 100, 200, 20),
        forms=FORMS,
        proportions={"table": 20},
        draw_setting=setting,
        make_state=state,
        ending=lambda _: {},
    )

    def giving_up(self, task: FamilyTask) -> list[str]:
        return [task.plan[-1]]
