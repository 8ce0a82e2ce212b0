"""Environment servers of the playground: one for each environment that is played.

A server starts on demand, and is stopped when nobody has used it for a while. It exits with its standard
input, so that it does not outlive these pages.
"""

import asyncio
import secrets
import shutil
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from agentevol.config.sections import EnvironmentConfig
from agentevol.core.errors import one_line
from agentevol.rollout.environment_server import EnvironmentServer
from agentevol.rollout.faults import FaultLog
from agentevol.ui.errors import NotFound
from agentevol.ui.playground.errors import CannotPlay, TooMany
from agentgym_envs.registry import environment_class, lacking, names

IDLE_S = 900.0
"""Seconds without use after which a server is stopped."""
MOST = 6
"""Servers at one time."""

State = Literal["off", "starting", "ready"]


@dataclass
class _Open:
    faults: FaultLog
    log: Path
    ready: asyncio.Task[str] | None = None
    server: EnvironmentServer | None = None
    users: int = 0
    timer: asyncio.TimerHandle | None = None

    @property
    def is_ready(self) -> bool:
        return self.ready is not None and self.ready.done()


class Servers:
    """Subprocesses by the name of their environment. All methods are called in one event loop."""

    def __init__(self, idle_s: float = IDLE_S) -> None:
        self._idle_s = idle_s
        self._open: dict[str, _Open] = {}
        self._problems: dict[str, str] = {}
        self._stopping: set[asyncio.Task[None]] = set()
        self._logs: Path | None = None

    def state(self, env: str) -> State:
        """State of the server of an environment."""
        if env not in self._open:
            return "off"
        return "ready" if self._open[env].is_ready else "starting"

    def problem(self, env: str) -> str:
        """Reason for which it cannot be played, or its latest server was lost; empty if there is none."""
        return self._problems.get(env, "")

    def start(self, env: str) -> None:
        """Start the server, unless it runs. Raises `NotFound`, `CannotPlay`, `TooMany`."""
        if env in self._open and self._open[env].faults.reason is None:
            self._rest(env)
            return
        self._check(env)
        if self._logs is None:
            self._logs = Path(tempfile.mkdtemp(prefix="agentevol-playground-"))
        self._problems.pop(env, None)
        one = self._open[env] = _Open(FaultLog(), self._logs / f"{secrets.token_hex(4)}.log")
        one.ready = asyncio.create_task(self._started(env, one))
        one.ready.add_done_callback(_looked_at)
        self._rest(env)

    @asynccontextmanager
    async def used(self, env: str) -> AsyncIterator[str]:
        """The address of the server, which is started if need be and is not idle within the block.

        Raises as `start`.
        """
        self.start(env)
        one = self._open[env]
        assert one.ready is not None
        one.users += 1
        try:
            yield await asyncio.shield(one.ready)
        finally:
            one.users -= 1
            if self._open.get(env) is one:
                self._rest(env)

    async def close(self) -> None:
        """Stop all servers."""
        for env in tuple(self._open):
            self._stop(env)
        await asyncio.gather(*self._stopping, return_exceptions=True)
        if self._logs is not None:
            shutil.rmtree(self._logs, ignore_errors=True)

    def _check(self, env: str) -> None:
        if env not in names():
            raise NotFound(f"There is no environment {env}.", "The list shows those that there are.")
        if needs := lacking(env):
            raise CannotPlay(f"{env} needs {needs}.", "Install it, then load this page again.")
        self._open.pop(env, None)  # one that could not be started again
        if len(self._open) < MOST:
            return
        idle = [name for name, one in self._open.items() if not one.users and one.is_ready]
        if not idle:
            raise TooMany(f"{MOST} environments are played at this moment.", "End one of the episodes.")
        self._stop(idle[0])

    async def _started(self, env: str, one: _Open) -> str:
        def start() -> str:
            workers = int(environment_class(env).blocking)  # a cheap one needs no process for itself
            config = EnvironmentConfig(name=env, workers=workers)
            one.server = EnvironmentServer(config, one.log, faults=one.faults)
            return one.server.__enter__().url

        try:
            return await asyncio.to_thread(start)
        except Exception as cause:
            self._problems[env] = one_line(cause)
            if self._open.get(env) is one:
                self._stop(env)
            advice = "Check it by `agentevol envs check`, and that its data are there."
            raise CannotPlay(f"{env} cannot be played: {one_line(cause)}", advice) from cause

    def _rest(self, env: str) -> None:
        """Begin the time after which the server is idle."""
        one = self._open[env]
        if one.timer is not None:
            one.timer.cancel()
        one.timer = asyncio.get_running_loop().call_later(self._idle_s, self._stop_if_idle, env, one)

    def _stop_if_idle(self, env: str, one: _Open) -> None:
        if self._open.get(env) is not one:
            return
        if one.users or not one.is_ready:
            self._rest(env)
        else:
            self._stop(env)

    def _stop(self, env: str) -> None:
        one = self._open.pop(env)
        if one.timer is not None:
            one.timer.cancel()
        if one.server is not None:
            stopping = asyncio.create_task(asyncio.to_thread(one.server.__exit__))
            self._stopping.add(stopping)
            stopping.add_done_callback(self._stopping.discard)


def _looked_at(ready: asyncio.Task[str]) -> None:
    """Its failure is told by `Servers.problem`, whether or not anyone waits for the task."""
    if not ready.cancelled():
        ready.exception()
