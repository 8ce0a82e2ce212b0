"""A live MCP server as a source of tools."""

from collections.abc import Awaitable, Callable, Sequence
from threading import Lock
from typing import TYPE_CHECKING, Any

from agentgym_envs.tooluse.errors import ToolError
from agentgym_envs.tooluse.mcp.connection import Connection
from agentgym_envs.tooluse.tool import Tool

if TYPE_CHECKING:
    from mcp.client import Client
    from mcp.types import Tool as ListedTool

INVALID_PARAMS = -32602
"""JSON-RPC's code for arguments that the server refuses: the agent's error, not the server's."""


class McpServer:
    """Server at a URL, or the command that starts one.

    It is connected to when it is first needed, and again after a connection was lost. Methods raise
    `ConnectionError` where the server cannot be reached, fails, or does not answer within a minute.
    """

    def __init__(self, address: str | Sequence[str]) -> None:
        self.address = address
        self._connection: Connection | None = None
        self._lock = Lock()

    def tools(self) -> list[Tool]:
        """The tools that the server has now. They leave the state of an episode alone."""
        return [
            self._tool(one.name, one.description or "", dict(one.input_schema))
            for one in self._answer(_listed)
        ]

    def call(self, name: str, arguments: dict[str, Any]) -> Any:
        """The result of a tool: its structured content, or else its text.

        Raises `ToolError` for an error that the tool or the check of its arguments reports.
        """
        result = self._answer(lambda client: client.call_tool(name, arguments))
        text = "\n".join(getattr(part, "text", f"[{part.type}]") for part in result.content)
        if result.is_error:
            raise ToolError(text or "the tool reports an error")
        return text if result.structured_content is None else result.structured_content

    def close(self) -> None:
        """End the connection, and the process of a command."""
        self._drop(self._connection)

    def _drop(self, connection: Connection | None) -> None:
        """Close a connection, unless another thread has done so and may have opened the next one."""
        with self._lock:
            if connection is not None and connection is self._connection:
                connection.close()
                self._connection = None

    def _tool(self, name: str, description: str, parameters: dict[str, Any]) -> Tool:
        def run(state: object, /, **arguments: Any) -> Any:  # noqa: ARG001 - the state of every tool
            return self.call(name, arguments)

        return Tool(name, description, parameters, "generic", run)

    def _answer(self, ask: "Callable[[Client], Awaitable[Any]]") -> Any:
        connection = None
        try:
            with self._lock:
                if self._connection is None:
                    self._connection = Connection(self.address)
                connection = self._connection
            return connection.run(ask)
        except ImportError:
            raise
        except Exception as cause:
            if getattr(getattr(cause, "error", None), "code", None) == INVALID_PARAMS:
                raise ToolError(str(cause)) from None
            self._drop(connection)
            raise ConnectionError(f"MCP server {self._shown()}: {_innermost(cause)}") from cause

    def _shown(self) -> str:
        return self.address if isinstance(self.address, str) else " ".join(self.address)


async def _listed(client: "Client") -> "list[ListedTool]":
    found, cursor = list[Any](), None
    while True:
        page = await client.list_tools(cursor=cursor, cache_mode="bypass")
        found += page.tools
        cursor = page.next_cursor
        if cursor is None:
            return found


def _innermost(cause: BaseException) -> str:
    """One line about an error, which the client's task groups wrap."""
    while wrapped := getattr(cause, "exceptions", None):
        cause = wrapped[0]
    return f"{type(cause).__name__}: {' '.join(str(cause).split())[:200]}"
