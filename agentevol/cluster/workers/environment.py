"""Environment server of a run on another machine: a process there owns it, and the driver monitors it."""

import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from agentevol.cluster.checkpoints.access import copies
from agentevol.cluster.checkpoints.object_store import CheckpointStore
from agentevol.cluster.processes.failures import start_failure
from agentevol.cluster.processes.interface import Processes, ProcessLost
from agentevol.cluster.processes.membership import Members
from agentevol.cluster.processes.nodes import Node
from agentevol.config.run import RunConfig
from agentevol.config.sections.environment import EnvironmentConfig
from agentevol.core.errors import AgentEvolError, ConfigError, one_line
from agentevol.rollout.environment_server import RESTARTS, RETRY_S, EnvironmentServer, gave_up
from agentevol.rollout.faults import FaultLog

ASK_S = 2.0
"""Seconds between requests for the process's news."""
END_S = 20.0
"""Seconds that the server may take to end."""


class EnvironmentWorker:
    """Process that owns the environment server on its node. `host` returns the address at which others reach
    it.

    `again` is the address of the server that it replaces; empty for the first one.
    """

    def __init__(
        self,
        served: Sequence[EnvironmentConfig],
        log: Path,
        host: Callable[[], str],
        again: str = "",
        store: CheckpointStore | None = None,
    ) -> None:
        self._copies = copies(store)  # kept, as copies stay while it lives
        log = self._copies.place(log)
        if not log.parent.is_dir():
            raise ConfigError(
                f"the node of the environment server, {host()}, cannot see the run's folder: put --out on a"
                " file system that every node has mounted at the same path"
            )
        self._lines: list[str] = []
        self._faults = FaultLog(self._lines.append)
        self._server = EnvironmentServer(served[0], log, served[1:], host(), self._faults, again)
        self._server.__enter__()

    def url(self) -> str:
        """Address of the server."""
        return self._server.url

    def news(self) -> tuple[list[str], dict[str, float], str | None]:
        """Messages about restarts since the previous call, their counts for `Faults`, and the reason for
        which the server has ended; None while it runs.
        """
        count = len(self._lines)
        lines, self._lines[:count] = self._lines[:count], []
        return lines, self._faults.take().figures(), self._faults.reason

    def close(self) -> None:
        """End the server."""
        self._server.__exit__()


class PlacedServer:
    """Environment server on a node with the labels of `ray.environment_labels`; a context manager.

    `url` is constant: where the process that owns it dies, another on that node takes its port and token.
    Where the node is lost, the run ends (`Members.need`), and can be resumed.
    """

    def __init__(
        self,
        config: RunConfig,
        processes: Processes,
        members: Members,
        faults: FaultLog,
        log: Path,
        served: Sequence[EnvironmentConfig],
    ) -> None:
        self._config, self._processes = config, processes
        self._members, self._faults = members, faults
        self._log, self._served = log, served
        self._closing = threading.Event()
        self._watcher: threading.Thread | None = None
        self._process: Any = None
        self.url = ""

    def __enter__(self) -> "PlacedServer":
        labels = self._config.ray.environment_labels
        node = next(iter(self._processes.labelled(labels)), None)
        if node is None:
            wanted = ",".join(f"{name}={value}" for name, value in labels.items())
            raise ConfigError(
                f"ray.environment_labels: no node has {wanted}; start one with `ray start --labels {wanted}`"
            )
        try:
            self.url = self._start(node)
        except ProcessLost as cause:
            raise start_failure(str(cause), "the environment server") from cause
        self._members.need(
            node, "the environment server ran there: resume the run to start it on another node"
        )
        self._watcher = threading.Thread(
            target=self._watch, args=(node,), daemon=True, name="environment-server"
        )
        self._watcher.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._closing.set()
        with suppress(AgentEvolError, ProcessLost):
            self._processes.results([self._process.close.remote()], END_S)
        self._processes.kill(self._process)
        if self._watcher is not None:
            self._watcher.join(END_S)

    def _start(self, node: Node, again: str = "") -> str:
        self._process = self._processes.environment(node, self._log, self._served, again)
        return self._processes.results([self._process.url.remote()], self._config.ray.start_timeout_s)[0]

    def _watch(self, node: Node) -> None:
        while not self._closing.wait(ASK_S):
            try:
                lines, figures, reason = self._processes.results([self._process.news.remote()])[0]
            except ProcessLost:
                self._replace(node)
                if self._faults.reason is not None:
                    return
            except AgentEvolError:  # Ray itself is gone: the working thread reports it
                return
            else:
                for line in lines:
                    self._faults.note(line)
                self._faults.note("", **figures)
                if reason is not None:
                    self._faults.end(reason)
                    return

    def _replace(self, node: Node) -> None:
        """Start another process on the node, while the node is there."""
        began, starts, reason = time.monotonic(), 0, ""
        while not self._closing.is_set() and starts < RESTARTS:
            if node not in self._processes.labelled(self._config.ray.environment_labels):
                return
            if not starts:
                self._faults.note("the environment server was lost, and is restarted", lost_servers=1)
            starts += 1
            try:
                self._start(node, self.url)
            except (AgentEvolError, ProcessLost) as cause:
                reason = one_line(cause)
                self._closing.wait(RETRY_S)  # the port may not be free yet
            else:
                self._faults.note(servers_s=time.monotonic() - began)
                return
        if not self._closing.is_set():
            self._faults.end(gave_up(reason))
