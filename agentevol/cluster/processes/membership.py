"""Membership of a cluster's nodes in a run, and the placement of its processes."""

import threading
import time
from collections.abc import Hashable, Sequence
from pathlib import Path

from agentevol.cluster.checkpoints.object_store import CheckpointStore
from agentevol.cluster.processes.interface import Processes
from agentevol.cluster.processes.nodes import Node, Room, check_facts, facts
from agentevol.cluster.processes.shared_storage import token_in
from agentevol.core.errors import ConfigError, RunStopped
from agentevol.rollout.faults import FaultLog

LOOK_S = 2.0
"""Seconds between polls of the nodes."""


class Members:
    """Nodes that take part; nodes that join later take part as well, if they are fit.

    `named`: true if messages have to distinguish several machines.
    """

    def __init__(
        self, processes: Processes, faults: FaultLog, packages: Sequence[str], *, named: bool
    ) -> None:
        self._processes, self._faults = processes, faults
        self._packages, self._named = packages, named
        self._nodes = {node.id: node for node in processes.alive()}
        self._unfit: set[str] = set()
        self._shared: tuple[Path | CheckpointStore, str] | None = None
        """Resources that every node has to reach: the run's folder or the store in its place, and the
        environment server.
        """
        self._needed: tuple[Node, str] | None = None
        """Node without which the run ends, and the message about it."""
        self._taken: dict[Hashable, tuple[str, int]] = {}
        """Node and number of GPUs of every process."""
        self._looked_at, self._lock = time.monotonic(), threading.RLock()

    def check(self, shared: Path | CheckpointStore, url: str) -> None:
        """Raise `ConfigError` for the first node that cannot take part: it has other versions, does not see
        `shared`, or cannot reach the environment server at `url`.
        """
        self._shared = shared, url
        for reason in self._unfitness(list(self._nodes.values())).values():
            raise ConfigError(reason)

    @property
    def gpus(self) -> int:
        """Number of GPUs of all nodes."""
        return sum(node.gpus for node in self._nodes.values())

    def need(self, node: Node, why: str) -> None:
        """Declare that the run cannot continue without this node; `why` is the reason and the remedy."""
        self._needed = node, why

    def look(self, *, at_once: bool = False) -> None:
        """Refresh the list of nodes, at intervals or `at_once`. Raises `RunStopped` where a required node is
        gone, or anything else without which the run cannot continue.
        """
        with self._lock:
            if self._faults.reason is not None:
                raise RunStopped(self._faults.reason)
            if not at_once and time.monotonic() - self._looked_at < LOOK_S:
                return
            there = self._processes.alive()
            for gone in self._nodes.keys() - {node.id for node in there}:
                self._faults.note(f"node {self._nodes[gone].name} was lost", lost_nodes=1)
            known = self._nodes.keys() | self._unfit
            unfit = self._unfitness([node for node in there if node.id not in known])
            for reason in unfit.values():
                self._faults.note(f"left out: {reason}")
            self._unfit |= unfit.keys()
            self._nodes = {node.id: node for node in there if node.id not in self._unfit}
            self._looked_at = time.monotonic()
            if self._needed is not None and self._needed[0].id not in {node.id for node in there}:
                raise RunStopped(f"node {self._needed[0].name} was lost, and {self._needed[1]}")

    def place(self, who: Hashable, gpus: int) -> Node | None:
        """Reserve a node for one process: its previous one, if its GPUs are still there, else the one of
        `Room.spread`; None for no node.
        """
        with self._lock:
            before, _ = self._taken.get(who, ("", 0))
            self.leave(who)
            room = self._room()
            node = self._nodes.get(before) if gpus else None
            if node is None or room.free(node) < gpus:
                node = room.spread(gpus)
            if node is not None:
                self._taken[who] = node.id, gpus
            return node

    def place_together(self, who: Sequence[Hashable], gpus: int) -> list[Node] | None:
        """Reserve nodes for processes that communicate much (`Room.packed`); None where there is no room for
        all.
        """
        with self._lock:
            self.leave(*who)
            nodes = self._room().packed(len(who), gpus)
            for one, node in zip(who, nodes or (), strict=nodes is not None):
                self._taken[one] = node.id, gpus
            return nodes

    def node_of(self, who: Hashable) -> Node | None:
        """Node of a process; None where it has none, or the node was lost."""
        node, _ = self._taken.get(who, ("", 0))
        return self._nodes.get(node)

    def join(self, who: Hashable, node: Node) -> None:
        """Place a process on a node, without a GPU of its own."""
        self._taken[who] = node.id, 0

    def leave(self, *who: Hashable) -> None:
        """Remove processes from their nodes."""
        for one in who:
            self._taken.pop(one, None)

    def where(self, who: Hashable) -> str:
        """Location for messages, ` on ...`; empty on a single machine."""
        node, _ = self._taken.get(who, ("", 0))
        known = self._nodes.get(node)
        if not self._named or not node:
            return ""
        return f" on {known.name}" if known else f" on Ray node {node[:8]}"

    def _room(self) -> Room:
        room = Room(list(self._nodes.values()))
        for node, gpus in self._taken.values():
            room.take(node, gpus)
        return room

    def _unfitness(self, nodes: Sequence[Node]) -> dict[str, str]:
        """Reasons for which some of these nodes cannot take part, by node id."""
        if self._shared is None or not nodes:
            return {}
        shared, url = self._shared
        found: dict[str, str] = {}
        with token_in(shared) as token:
            own = facts(self._packages, token, url)
            told = self._processes.facts(nodes, self._packages, token, url)
            for node, theirs in zip(nodes, told, strict=True):
                try:
                    check_facts(node, own, theirs)
                except ConfigError as cause:
                    found[node.id] = str(cause)
        return found
