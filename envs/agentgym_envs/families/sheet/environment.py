"""The environment `sheet`."""

from agentgym_envs.families.environment import FamilyEnvironment
from agentgym_envs.families.sheet.operations import FORMS
from agentgym_envs.families.sheet.tools import TOOLS
from agentgym_envs.families.sheet.workbook import REVISION, SheetState, setting, state
from agentgym_envs.families.tasks import FamilyTask, Generator, counted
from agentgym_envs.tooluse.calls import written


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

    @property
    def data_version(self) -> str:
        return f"{super().data_version}.{REVISION}"

    def giving_up(self, task: FamilyTask) -> list[str]:
        return [task.plan[-1]]

    def undone(self, task: FamilyTask) -> list[str]:
        """A cell gets another value, and its own again."""
        name, grid = next(iter(self.begin(task, 0).sheets.items()))
        return [
            written("open_sheet", name=name),
            written("update_cell", position="A1", value="another"),
            written("update_cell", position="A1", value=grid.cells[0][0]),
        ]
