"""An open connection to an MCP server: the official client on an event loop of its own thread."""

import asyncio
import shlex
from collections.abc import Awaitable, Callable, Sequence
from threading import Event, Thread
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mcp.client import Client

CONNECT_S, CALL_S, CLOSE_S = 30.0, 60.0, 5.0
"""Seconds that a connection, a request and the end of a connection may take."""
MISSING = "tools of an MCP server need the package mcp: pip install 'agentevol[mcp]'"


class Connection:
    """Connection to a URL (Streamable HTTP), or to a command that is started and spoken to over its pipes.

    Raises `ImportError` without the client, and whatever it raises where the server cannot be reached.
    """

    def __init__(self, address: str | Sequence[str]) -> None:
        self._client = _client(address)
        self._runner = asyncio.Runner()
        self._loop = self._runner.get_loop()
        self._opened, self._failure = Event(), list[BaseException]()
        self._leave: asyncio.Event = asyncio.Event()
        self._thread = Thread(target=self._main, name="mcp", daemon=True)
        self._thread.start()
        if not self._opened.wait(CONNECT_S):
            self.close()
            raise TimeoutError(f"no connection within {CONNECT_S:.0f} s")
        if self._failure:
            raise self._failure[0]

    def run(self, ask: "Callable[[Client], Awaitable[Any]]") -> Any:
        """The answer of a request. Raises `TimeoutError`, and what the client raises."""

        async def answered() -> Any:
            return await asyncio.wait_for(ask(self._client), CALL_S)

        if not self._thread.is_alive():
            raise ConnectionError("the connection was lost")
        return asyncio.run_coroutine_threadsafe(answered(), self._loop).result(CALL_S + CLOSE_S)

    def close(self) -> None:
        """End the connection, and the process of a command."""
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._leave.set)
            self._thread.join(CLOSE_S)

    def _main(self) -> None:
        try:
            with self._runner:  # its end cancels requests that are under way, so that nobody waits for them
                self._runner.run(self._stay())
        except BaseException as cause:  # noqa: BLE001 - raised in the thread that waits
            self._failure.append(cause)
        finally:
            self._opened.set()

    async def _stay(self) -> None:
        """The client is entered and left by the same task, as its task groups demand."""
        async with self._client:
            self._opened.set()
            await self._leave.wait()


def _client(address: str | Sequence[str]) -> "Client":
    try:
        from mcp import StdioServerParameters
        from mcp.client import Client
    except ImportError as cause:
        raise ImportError(MISSING) from cause
    if isinstance(address, str) and address.startswith(("http://", "https://")):
        return Client(address)
    command, *arguments = shlex.split(address) if isinstance(address, str) else address
    return Client(StdioServerParameters(command=command, args=arguments))
