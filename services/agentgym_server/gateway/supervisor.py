"""Supervisor of server processes beside the gateway: each is started, watched, and restarted when it dies.

A child runs the same command that a user would type, with its own random instance. It prints `ready URL`,
reads its standard input, and exits when that ends: no child outlives a supervisor, however that dies.
"""

import asyncio
import contextlib
import logging
import os
import secrets
import signal
import sys
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from agentgym_server.gateway.backends.fleet import Backend
from agentgym_server.serve import GRACE_S, CannotServe
from agentgym_server.settings import ServerSettings

log = logging.getLogger(__name__)

START_TIMEOUT_S = 120.0
FIRST_PAUSE_S = 0.5
LONGEST_PAUSE_S = 30.0
LAST_WORDS_S = 1.0
STEADY_S = 60.0
"""Lifetime after which a server that dies is restarted without a long pause."""
TOKENS = {
    "token": "AGENTEVOL_TOKEN",
    "trainer_token": "AGENTEVOL_TRAINER_TOKEN",
    "agent_token": "AGENTEVOL_AGENT_TOKEN",
}
"""Settings that are secrets, and the environment variables that carry them."""


class Role(NamedTuple):
    """Server to keep running."""

    name: str
    command: tuple[str, ...]
    """Command channel without `--instance`."""


class Child:
    """Process of a role and its successors: a `Source` of at most one address."""

    def __init__(self, role: Role, environment: Mapping[str, str], taken: set[int]) -> None:
        """`taken`: instances that are or were in use."""
        self.name = role.name
        self._command, self._environment, self._taken = role.command, environment, taken
        self.url: str | None = None
        self.started: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Done with the first `ready`; a `CannotServe` if the first process did not get that far."""
        self.started.add_done_callback(lambda future: future.cancelled() or future.exception())
        self._process: asyncio.subprocess.Process | None = None
        self._words: list[str] = []
        self._keeping = asyncio.create_task(self._keep())

    async def urls(self) -> Sequence[str]:
        """See `Source.urls`."""
        return [] if self.url is None else [self.url]

    def send(self, number: signal.Signals) -> None:
        """Send a signal to the running process, if any."""
        if self._process is not None and self._process.returncode is None:
            self._process.send_signal(number)

    def kill(self) -> None:
        """Kill it now, and do not restart it."""
        self._keeping.cancel()
        self.send(signal.SIGKILL)

    async def stop(self, timeout_s: float) -> None:
        """Let it drain, and do not restart it."""
        self._keeping.cancel()
        await asyncio.gather(self._keeping, return_exceptions=True)
        process = self._process
        if process is None or process.returncode is not None:
            return
        self.send(signal.SIGTERM)
        try:
            await asyncio.wait_for(process.wait(), timeout_s)
        except TimeoutError:
            log.warning("%s does not stop; it is killed", self.name)
            self.send(signal.SIGKILL)
            await process.wait()

    async def _keep(self) -> None:
        pause_s, now = FIRST_PAUSE_S / 2, asyncio.get_running_loop().time
        while True:
            began = now()
            code = await self._live()
            if not self.started.done():
                self.started.set_exception(CannotServe(f"{self.name}: {last_words(self._words, code)}"))
                return
            pause_s = FIRST_PAUSE_S if now() - began > STEADY_S else min(2 * pause_s, LONGEST_PAUSE_S)
            log.warning("%s ended with %d and is started again in %g s", self.name, code, pause_s)
            await asyncio.sleep(pause_s)

    async def _live(self) -> int:
        """Run one process to its end; returns its exit code."""
        process = self._process = await asyncio.create_subprocess_exec(
            *self._command,
            f"--instance={self._instance()}",
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=self._environment,
        )
        assert process.stdout is not None
        assert process.stderr is not None
        relays = [asyncio.create_task(self._relay(process.stderr))]
        channel = b""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(START_TIMEOUT_S):
                channel = await process.stdout.readline()
        if channel.startswith(b"ready "):
            self._ready(channel.decode().split()[1])
            relays.append(asyncio.create_task(self._relay(process.stdout)))
        else:
            self.send(signal.SIGKILL)
        code = await process.wait()
        self.url = None
        await asyncio.wait(relays, timeout=LAST_WORDS_S)
        return code

    def _ready(self, url: str) -> None:
        self.url = url
        if not self.started.done():
            self.started.set_result(None)
            for words in self._words:
                self._say(words)

    async def _relay(self, stream: asyncio.StreamReader) -> None:
        """Relay its output; of a first process once it is ready, since its last channels are an error."""
        while channel := await _line(stream):
            words = channel.decode(errors="replace").rstrip()
            if self.started.done():
                self._say(words)
            else:
                self._words.append(words)

    def _say(self, words: str) -> None:
        """Print a channel of JSON unchanged, and any other channel with the name of the child."""
        sys.stderr.write(f"{words}\n" if words.startswith("{") else f"{self.name}: {words}\n")

    def _instance(self) -> int:
        while (instance := secrets.randbelow(1 << 20)) in self._taken:
            pass
        self._taken.add(instance)
        return instance


class Supervisor:
    """Child processes of one gateway."""

    def __init__(self, roles: Sequence[Role], settings: ServerSettings) -> None:
        self._settings = settings
        environment = child_environment(settings)
        taken: set[int] = set()
        self.children = [Child(role, environment, taken) for role in roles]
        self._stopping = False

    async def start(self) -> None:
        """Wait until every child is ready; raises `CannotServe`."""
        await asyncio.gather(*(child.started for child in self.children))

    def replace(self, backend: Backend) -> None:
        """Restart the process of a backend that is lost or does not respond."""
        for child in self.children:
            if child.url == backend.url and not self._stopping:
                child.send(signal.SIGKILL)

    async def drain(self) -> None:
        """Let all children finish their sessions, up to a time limit."""
        self._stopping = True
        limit_s = self._settings.drain_s + 2 * GRACE_S
        await asyncio.gather(*(child.stop(limit_s) for child in self.children))

    def kill(self) -> None:
        """Kill all children now."""
        self._stopping = True
        for child in self.children:
            child.kill()


def last_words(channels: Sequence[str], code: int) -> str:
    """The reason why a process ended: its error, else its last channel, else its exit code."""
    errors = [channel for channel in channels if channel.startswith("error: ")]
    return (errors or channels or [f"it ended with {code}"])[-1].removeprefix("error: ")


def child_environment(settings: ServerSettings) -> dict[str, str]:
    """Environment variables of children: ours, with the secrets of these settings only."""
    ours = {name: value for name, value in os.environ.items() if name not in TOKENS.values()}
    secret = {variable: getattr(settings, field) for field, variable in TOKENS.items()}
    return ours | {variable: value for variable, value in secret.items() if value}


async def _line(stream: asyncio.StreamReader) -> bytes:
    """The next channel; a part of a channel that is far too long."""
    try:
        return await stream.readuntil(b"\n")
    except asyncio.IncompleteReadError as end:
        return end.partial
    except asyncio.LimitOverrunError as long:
        return await stream.read(max(1, long.consumed))
