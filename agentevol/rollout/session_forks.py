"""Continuations of one state by forks of one session, instead of a replay for each of them.

Four continuations after five turns: a replay for each takes 20 environment steps, one replay that is forked
four times takes 5.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from agentgym_client import EnvClient, Session
from agentgym_client.errors import EnvClientError
from agentgym_envs.core import Observation


@dataclass(frozen=True)
class Reached:
    """A session at a state, and the observations on the way: the opening, then a reply per turn."""

    session: Session
    shown: tuple[Observation, ...]


@dataclass
class _Root:
    """Session at a state, from which all forks are made; it is never stepped itself."""

    reached: asyncio.Future[Reached]
    users: int = 0


class Forks:
    """Root sessions of the states whose continuations are being played on one client.

    `episodes` is the number of concurrent episodes on the server in all: forks are used only if the server
    holds twice as many sessions, or the waiting root sessions would fill it.
    """

    def __init__(self, client: EnvClient, episodes: int) -> None:
        self._client, self._episodes = client, episodes
        self._roots: dict[Hashable, _Root] = {}
        self._offered: asyncio.Future[frozenset[str]] | None = None

    async def offered(self, env: str) -> bool:
        """True where the server can fork this environment and has capacity; asked until it has answered."""
        if self._offered is None:
            self._offered = asyncio.ensure_future(self._ask())
        asked = self._offered
        try:
            return env in await asyncio.shield(asked)
        except EnvClientError:
            if self._offered is asked:
                self._offered = None
            return False

    @asynccontextmanager
    async def session(
        self, state: Hashable, reach: Callable[[], Awaitable[Reached]]
    ) -> AsyncIterator[Reached]:
        """Return a fork of the session of this `state`, which the first caller creates by `reach`; closed
        afterwards.

        The root session is closed with its last user. Raises the exceptions of `reach` and the client.
        """
        root = self._roots.get(state)
        if root is None:
            root = self._roots[state] = _Root(asyncio.ensure_future(reach()))
        root.users += 1
        try:
            reached = await asyncio.shield(root.reached)
            child = await reached.session.fork()
        except BaseException:
            await self._leave(state, root, keep=False)  # the next caller begins anew
            raise
        try:
            yield Reached(child, reached.shown)
        finally:
            await closed(child)
            await self._leave(state, root, keep=True)

    async def _leave(self, state: Hashable, root: _Root, *, keep: bool) -> None:
        root.users -= 1
        if self._roots.get(state) is root and not (keep and root.users):
            del self._roots[state]
        if root.users:
            return
        if not root.reached.done():
            root.reached.cancel()  # which closes its session
        elif not _failed(root.reached):
            await closed(root.reached.result().session)

    async def _ask(self) -> frozenset[str]:
        """Environments that can be forked."""
        held = (await self._client.health()).get("sessions", {}).get("max", 0)
        if held < 2 * self._episodes:
            return frozenset()
        served = await self._client.environments()
        return frozenset(one.env for one in served if one.capabilities.get("fork", "none") != "none")


async def closed(session: Session) -> None:
    """Close a session; failures are ignored, since the lease frees the session."""
    try:
        await session.close()
    except EnvClientError:
        return


def _failed(future: asyncio.Future[Reached]) -> bool:
    return future.cancelled() or future.exception() is not None
