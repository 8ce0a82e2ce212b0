"""State of a help desk: `DeskWorld`, tables and the version of the benchmark."""

from typing import NoReturn

from agentgym_envs.tau.data.domain import Domain
from agentgym_envs.tau.tasks import Version
from agentgym_envs.tau.world import World
from agentgym_envs.tooluse import ToolError
from agentgym_envs.tooluse.tables import Row


class DeskWorld(World):
    """Tables of a help desk; errors are worded as the version does."""

    def __init__(self, domain: Domain, version: Version) -> None:
        super().__init__(domain.tables)
        self.version: Version = version

    @property
    def is_tau1(self) -> bool:
        """True for the rules of tau-bench."""
        return self.version == "tau1"

    def refuse(self, message: str) -> NoReturn:
        """Raise the error of a tool: tau-bench writes it in lower case."""
        raise ToolError(message if self.is_tau1 else message[0].upper() + message[1:])

    def row(self, table: str, key: str, what: str) -> Row:
        """A row, to be read; raises `ToolError` if there is none: `user not found`."""
        rows = self.tables[table]
        if key not in rows:
            self.refuse(f"{what} not found")
        return rows[key]
