"""Environment servers of the playground: one for each environment and choice of options.

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

from agentevol.config.sections.environment import EnvironmentConfig
from agentevol.core.errors import one_line
from agentevol.rollout.environment_server import EnvironmentServer
from agentevol.rollout.faults import FaultLog
from agentevol.ui.errors import NotFound
from agentevol.ui.playground.errors import CannotPlay, TooMany
from agentevol.ui.playground.setups import Setup
from agentgym_envs.registry import environment_class, lacking, names

IDLE_S = 900.0
"""Seconds without use after which a server is stopped."""
MOST = 6
"""Servers at one time."""
MOST_PROBLEMS = 256
"""Reasons that are remembered."""

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
    """Subprocesses by environment and options. All methods are called in one event loop."""

    def __init__(self, idle_s: float = IDLE_S) -> None:
        self._idle_s = idle_s
        self._open: dict[Setup, _Open] = {}
        self._problems: dict[Setup, str] = {}
        self._stopping: set[asyncio.Task[None]] = set()
        self._logs: Path | None = None

    def state(self, setup: Setup) -> State:
        """State of the server of an environment with these options."""
        if setup not in self._open:
            return "off"
        return "ready" if self._open[setup].is_ready else "starting"

    def open(self, env: str) -> list[Setup]:
        """Options with which an environment has a server."""
        return [setup for setup in tuple(self._open) if setup.env == env]

    def problem(self, setup: Setup) -> str:
        """Reason for which it cannot be played, or its latest server was lost; empty if there is none."""
        return self._problems.get(setup, "")

    def start(self, setup: Setup) -> None:
        """Start the server, unless it runs. Raises `NotFound`, `CannotPlay`, `TooMany`."""
        if setup in self._open and self._open[setup].faults.reason is None:
            self._rest(setup)
            return
        self._check(setup)
        if self._logs is None:
            self._logs = Path(tempfile.mkdtemp(prefix="agentevol-playground-"))
        self._problems.pop(setup, None)
        one = self._open[setup] = _Open(FaultLog(), self._logs / f"{secrets.token_hex(4)}.log")
        one.ready = asyncio.create_task(self._started(setup, one))
        one.ready.add_done_callback(_looked_at)
        self._rest(setup)

    @asynccontextmanager
    async def used(self, setup: Setup) -> AsyncIterator[str]:
        """The address of the server, which is started if need be and is not idle within the block.

        Raises as `start`.
        """
        self.start(setup)
        one = self._open[setup]
        assert one.ready is not None
        one.users += 1
        try:
            yield await asyncio.shield(one.ready)
        finally:
            one.users -= 1
            if self._open.get(setup) is one:
                self._rest(setup)

    async def close(self) -> None:
        """Stop all servers."""
        for setup in tuple(self._open):
            self._stop(setup)
        await asyncio.gather(*self._stopping, return_exceptions=True)
        if self._logs is not None:
            shutil.rmtree(self._logs, ignore_errors=True)

    def _check(self, setup: Setup) -> None:
        env = setup.env
        if env not in names():
            raise NotFound(f"There is no environment {env}.", "The list shows those that there are.")
        if needs := lacking(env):
            raise CannotPlay(f"{env} needs {needs}.", "Install it, then load this page again.")
        self._open.pop(setup, None)  # one that could not be started again
        if len(self._open) < MOST:
            return
        idle = [other for other, one in self._open.items() if not one.users and one.is_ready]
        if not idle:
            raise TooMany(f"{MOST} environments are played at this moment.", "End one of the episodes.")
        self._stop(idle[0])

    async def _started(self, setup: Setup, one: _Open) -> str:
        def start() -> str:
            workers = int(environment_class(setup.env).blocking)  # a cheap one needs no process for itself
            config = EnvironmentConfig(name=setup.env, workers=workers, options=dict(setup.options))
            one.server = EnvironmentServer(config, one.log, faults=one.faults)
            return one.server.__enter__().url

        try:
            return await asyncio.to_thread(start)
        except Exception as cause:
            problem = self._problems[setup] = setup.masked(one_line(cause))
            while len(self._problems) > MOST_PROBLEMS:
                del self._problems[next(iter(self._problems))]
            if self._open.get(setup) is one:
                self._stop(setup)
            advice = "Check it by `agentevol envs check`, and that its data are there."
            raise CannotPlay(f"{setup.env} cannot be played: {problem}", advice) from cause

    def _rest(self, setup: Setup) -> None:
        """Begin the time after which the server is idle."""
        one = self._open[setup]
        if one.timer is not None:
            one.timer.cancel()
        one.timer = asyncio.get_running_loop().call_later(self._idle_s, self._stop_if_idle, setup, one)

    def _stop_if_idle(self, setup: Setup, one: _Open) -> None:
        if self._open.get(setup) is not one:
            return
        if one.users or not one.is_ready:
            self._rest(setup)
        else:
            self._stop(setup)

    def _stop(self, setup: Setup) -> None:
        one = self._open.pop(setup)
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
