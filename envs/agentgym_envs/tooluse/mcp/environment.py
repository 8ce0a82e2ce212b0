"""Environment with the tools of a live MCP server beside one's own.

    class Desk(McpToolEnvironment[State]):
        name = "desk"
        server = McpServer("http://127.0.0.1:9000/mcp")
        toolset = with_finish(find_tickets, close_ticket)
        tasks_file = Path(__file__).parent / "tasks.json"

`docs/tools.md` has the rest.
"""

from functools import cached_property
from typing import ClassVar, Generic

from agentgym_envs.tooluse.environment import StateT
from agentgym_envs.tooluse.mcp.server import McpServer
from agentgym_envs.tooluse.task_file import FileTask, TaskFileEnvironment
from agentgym_envs.tooluse.tool import Toolset


class McpToolEnvironment(TaskFileEnvironment[StateT], Generic[StateT]):
    """Environment of one's own tools and a live server's. Rewards are those of `TaskFileEnvironment`.

    It is not deterministic: a server may answer another time otherwise, and all episodes reach the same one.
    A server that cannot be reached fails the episode (`ConnectionError`); it is never a reward.
    """

    server: ClassVar[McpServer]
    deterministic = False
    blocking = True
    forkable = False

    def offered_to(self, task: FileTask) -> Toolset:
        """The environment's own tools and those that the server has when the environment is made.

        Raises `ValueError` where a tool of the server has the name of another one.
        """
        return self._offered

    @cached_property
    def _offered(self) -> Toolset:
        return Toolset([*self.toolset.values(), *self.server.tools()])
