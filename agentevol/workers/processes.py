"""What the processes of a run are asked of: `agentevol.cluster` answers with Ray, tests with less.

A process is a handle: `process.play.remote(request, sampling)` asks it for something and returns a reply,
which `wait` and `results` take.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from agentevol.protocols import Checkpoint
from agentevol.workers.nodes import Facts, Node, Place
from agentevol.workers.tokens import Token

POLL_S = 0.5
"""How long is waited for one of many replies before other things are looked at."""


class ProcessLost(Exception):
    """A process or its node died, or what it had answered was lost with the node."""


class Processes(Protocol):
    """Starts processes, ends them, and brings their replies."""

    def alive(self) -> list[Node]:
        """The nodes there are, this machine first."""
        ...

    def labelled(self, labels: Mapping[str, str]) -> list[Node]:
        """Those of them that have all of these labels."""
        ...

    def facts(
        self, nodes: Sequence[Node], packages: Sequence[str], token: Token, url: str
    ) -> list[Facts | str]:
        """What each node says of itself (`agentevol.workers.nodes.facts`), or why it does not."""
        ...

    def rollout(self, name: str, node: Node, gpus: int, url: str, checkpoint: Checkpoint) -> Any:
        """Start the rollout worker of this name with these weights. The GPUs stay its name's, for the process
        that comes in its place, until it is started elsewhere or is told to `leave`.
        """
        ...

    def leave(self, name: str) -> None:
        """The rollout worker of this name is nowhere now: its GPUs are free."""
        ...

    def learners(self, places: Sequence[Place]) -> list[Any]:
        """Start the learners, by rank, in these places. GPUs that they claim stay theirs in the same way."""
        ...

    def environment(self, node: Node, log: Path, others: Sequence[str], again: str) -> Any:
        """Start a process that holds the environment server (`agentevol.workers.environment`)."""
        ...

    def kill(self, process: Any) -> None:
        """End a process, whatever it does; one that is dead stays so."""
        ...

    def wait(self, replies: Sequence[Any], timeout_s: float) -> list[Any]:
        """Those that have come, once one has, or none after this time."""
        ...

    def results(self, replies: Sequence[Any], timeout_s: float | None = None) -> list[Any]:
        """What was replied. Raises `ProcessLost`, our own errors as they were raised, and `RunStopped` for
        anything else.
        """
        ...
