"""Environment server of a run: a subprocess that is restarted when it dies.

The trainer meets environments over HTTP only; it starts the same command as a user would.
"""

import json
import os
import secrets
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from queue import Empty, Queue
from urllib.parse import urlsplit

from agentevol.config.sections.environment import EnvironmentConfig
from agentevol.core.errors import RunStopped, one_line
from agentevol.rollout.faults import FaultLog
from agentgym_server.settings import is_loopback

READY_TIMEOUT_S = 180.0  # on a busy machine, imports alone take a minute
RESTARTS = 20
"""Maximum failed starts in a row. A server that starts and dies repeatedly breaks episodes, which are counted
(`explore.max_failed`).
"""
LOOPBACK = "127.0.0.1"
RETRY_S = 1.0
USER = "agentevol"
"""User name before the token in an address; the server reads the token alone."""


class EnvironmentServer:
    """A context manager around `agentevol envs serve`. `url` is constant: a restarted server takes the same
    port. It starts in the background: the first access to `url` waits for it.

    The server reads its standard input and exits when that ends, so it does not outlive a killed run. At a
    `host` that other machines can reach it requires a token, which is part of `url` then. With the `again` of
    another server, which is gone, it takes over that server's port and token.
    """

    def __init__(
        self,
        config: EnvironmentConfig,
        log: Path,
        others: Sequence[EnvironmentConfig] = (),
        host: str = LOOPBACK,
        faults: FaultLog | None = None,
        again: str = "",
    ) -> None:
        self._config, self._log, self._others = config, log, others
        self._host, self._faults = host, faults or FaultLog()
        before = urlsplit(again)
        self._token = "" if is_loopback(host) else before.password or secrets.token_urlsafe(24)
        self._port = before.port or 0
        self.restarts = 0
        self._url = ""
        self._closing = False
        self._process: subprocess.Popen[str] | None = None
        self._lines: Queue[str] = Queue()
        self._watcher: threading.Thread | None = None

    @property
    def pid(self) -> int:
        """Process id of the running server."""
        return self._process.pid if self._process else 0

    @property
    def url(self) -> str:
        """Address of the server, once it answers. Raises `RunStopped` where it does not start."""
        if not self._url:
            self._url = self._ready()
            self._watcher = threading.Thread(target=self._watch, daemon=True, name="environment-server")
            self._watcher.start()
        return self._url

    def __enter__(self) -> "EnvironmentServer":
        self._start(self._port)
        return self

    def __exit__(self, *_: object) -> None:
        self._closing = True
        if self._process is not None:
            self._process.terminate()
            try:
                self._process.wait(10)
            except subprocess.TimeoutExpired:
                self._process.kill()

    def _start(self, port: int) -> None:
        with self._log.open("a") as log:
            self._process = subprocess.Popen(
                command(self._config, port, self._others, self._host),
                env={**os.environ, **({"AGENTEVOL_TOKEN": self._token} if self._token else {})},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
        self._lines = Queue()
        threading.Thread(target=_forward, args=(self._process, self._lines), daemon=True).start()

    def _ready(self) -> str:
        """Address that the process reports."""
        try:
            line = self._lines.get(timeout=READY_TIMEOUT_S)
        except Empty:
            line = ""
        if not line.startswith("ready "):
            if self._process is not None:
                self._process.kill()
            raise RunStopped(
                f"the environment server did not start; its last output: {_last_words(self._log)}"
            )
        url = line.removeprefix("ready ").strip()
        return url.replace("http://", f"http://{USER}:{self._token}@") if self._token else url

    def _watch(self) -> None:
        while not self._closing and self._process is not None:
            self._process.wait()
            if self._closing:
                return
            lost = time.monotonic()
            self._faults.note("the environment server was lost, and is restarted", lost_servers=1)
            reason = self._start_again()
            if self._closing:
                return
            if reason is not None:
                self._closing = True
                self._faults.end(gave_up(reason))
                return
            self._faults.note(servers_s=time.monotonic() - lost)

    def _start_again(self) -> str | None:
        """None once it answers; the reason of the failure after `RESTARTS` tries or where the server is no
        longer needed.
        """
        reason = ""
        for _ in range(RESTARTS):
            self.restarts += 1
            try:
                self._start(port=int(self._url.rpartition(":")[2]))
                self._ready()
                return None
            except (RunStopped, OSError) as cause:
                reason = one_line(cause)
                if self._closing:
                    break
                time.sleep(RETRY_S)  # the port may not be free yet
        return reason


def gave_up(reason: str) -> str:
    """Message of a run that ends for lack of its environment server."""
    return (
        f"the environment server was lost and could not be started again in {RESTARTS} tries: {reason};"
        " resume the run once it can"
    )


def command(
    config: EnvironmentConfig, port: int, others: Sequence[EnvironmentConfig] = (), host: str = LOOPBACK
) -> Sequence[str]:
    """Command line of the server; `others` are further environments on it."""
    served = (config, *others)
    options = [
        f"--option={one.name}.{key}={_toml(value)}"
        for one in served
        for key, value in sorted(one.options.items())
    ]
    workers = ["--workers", str(config.workers)] if config.workers else []
    return [
        *(
            sys.executable,
            "-m",
            "agentevol",
            "envs",
            "serve",
            *(one.name for one in served),
            "--port",
            str(port),
        ),
        *(("--host", host) if host != LOOPBACK else ()),
        *("--max-sessions", "4096", "--exit-with-stdin", *workers, *options),
    ]


def _toml(value: str | int | float | bool) -> str:
    return json.dumps(value)  # of these types, JSON is TOML


def _forward(process: "subprocess.Popen[str]", lines: Queue[str]) -> None:
    assert process.stdout is not None
    for line in process.stdout:
        lines.put(line)
    lines.put("")


def _last_words(log: Path) -> str:
    lines = [line for line in log.read_text(errors="replace").splitlines() if line.strip()]
    return lines[-1][:300] if lines else "none"
