"""Interface for starting, calling and ending processes: `agentevol.cluster` implements it with Ray.

A process is a handle: `process.play.remote(request, sampling)` calls a method and returns a reply, which
`wait` and `results` take. Tests use simpler implementations.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from agentevol.cluster.processes.nodes import Facts, Node, Place
from agentevol.cluster.processes.shared_storage import Token
from agentevol.config.sections.environment import EnvironmentConfig
from agentevol.core.protocols import Checkpoint

POLL_S = 0.5
"""Seconds to wait for one of many replies before other work is checked."""


class ProcessLost(Exception):
    """A process or its node died, or its reply was lost with the node."""


class Processes(Protocol):
    """Starter of processes, with waiting for their replies."""

    def alive(self) -> list[Node]:
        """Living nodes, this machine first."""
        ...

    def labelled(self, labels: Mapping[str, str]) -> list[Node]:
        """Living nodes that have all of these labels."""
        ...

    def facts(
        self, nodes: Sequence[Node], packages: Sequence[str], token: Token, url: str
    ) -> list[Facts | str]:
        """Facts of each node (`agentevol.cluster.processes.nodes.facts`), or the reason for their absence."""
        ...

    def rollout(self, name: str, node: Node, gpus: int, url: str, checkpoint: Checkpoint) -> Any:
        """Start the rollout worker of this name with these weights. The GPUs stay reserved for the name and
        its next process, until it is started elsewhere or `leave` is called.
        """
        ...

    def leave(self, name: str) -> None:
        """Free the GPUs of the rollout worker of this name."""
        ...

    def learners(self, places: Sequence[Place]) -> list[Any]:
        """Start the learners, by rank, in these places. GPUs that they claim stay reserved in the same
        way.
        """
        ...

    def environment(self, node: Node, log: Path, served: Sequence[EnvironmentConfig], again: str) -> Any:
        """Start a process that owns the environment server (`agentevol.cluster.workers.environment`)."""
        ...

    def kill(self, process: Any) -> None:
        """End a process in any state; a dead one is ignored."""
        ...

    def wait(self, replies: Sequence[Any], timeout_s: float) -> list[Any]:
        """Replies that have come, once one has, or none after this time."""
        ...

    def results(self, replies: Sequence[Any], timeout_s: float | None = None) -> list[Any]:
        """Results of the replies. Raises `ProcessLost`, our own errors as they were raised, and `RunStopped`
        for anything else.
        """
        ...
