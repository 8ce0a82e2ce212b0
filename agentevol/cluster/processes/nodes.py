"""Nodes of a cluster: placement of processes, and fitness checks."""

import hashlib
import socket
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from agentevol.cluster.processes.shared_storage import Token
from agentevol.core.errors import ConfigError

OWN = ("agentevol", "agentgym_client", "agentgym_envs", "agentgym_server", "agentgym_store")
"""Packages that are sent to the workers."""
COMPARED = ("torch", "transformers")
"""Packages that every machine has to have installed in the same version."""
REACH_TIMEOUT_S = 10.0


class Node(NamedTuple):
    """A machine of the cluster."""

    id: str
    address: str
    gpus: int = 0

    @property
    def name(self) -> str:
        """Human-readable name."""
        return f"{self.address} (Ray node {self.id[:8]})"


class Place(NamedTuple):
    """Place of a process on a node."""

    node: Node
    claimed: int = 0
    """Number of GPUs of its own."""
    shared: str = ""
    """Id on that node of a GPU that another process has claimed; empty for none."""


def alive(rows: Iterable[Mapping[str, Any]], own: str) -> list[Node]:
    """Living nodes in Ray's table, `own` first, then by id."""
    found = [
        Node(row["NodeID"], row["NodeManagerAddress"], int(row["Resources"].get("GPU", 0)))
        for row in rows
        if row["Alive"]
    ]
    return sorted(found, key=lambda node: (node.id != own, node.id))


@dataclass
class Room:
    """Resources of the nodes that this run has taken."""

    nodes: Sequence[Node]
    processes: Counter[str] = field(default_factory=Counter[str])
    """Number of processes by node id."""
    gpus: Counter[str] = field(default_factory=Counter[str])

    def free(self, node: Node) -> int:
        """Number of free GPUs."""
        return node.gpus - self.gpus[node.id]

    def take(self, node: str, gpus: int) -> None:
        """Take resources for a process."""
        self.processes[node] += 1
        self.gpus[node] += gpus

    def spread(self, gpus: int) -> Node | None:
        """Node for one more process: the one with the fewest processes among those with enough GPUs."""
        fitting = [node for node in self.nodes if self.free(node) >= gpus]
        return min(fitting, key=lambda node: self.processes[node.id], default=None)

    def packed(self, count: int, gpus: int) -> list[Node] | None:
        """Nodes for processes that communicate much: one node if one has room, else as few as possible.

        None where there is no room for all.
        """
        whole = [node for node in self.nodes if self.free(node) >= count * gpus]
        if whole:  # the tightest, which leaves room for others; not here, where the environments are served
            whole.reverse()
            return [min(whole, key=lambda node: (self.free(node), self.processes[node.id]))] * count
        by_room = sorted(self.nodes, key=self.free, reverse=True)
        places = [node for node in by_room for _ in range(self.free(node) // gpus)]
        return places[:count] if len(places) >= count else None


class Facts(NamedTuple):
    """A machine's description of itself."""

    code: str
    """Digest of our own packages."""
    versions: dict[str, str]
    unseen: str
    """Reason for which it cannot share files with the driver; empty where it can."""
    unreached: str
    """Reason for which it cannot reach the environment server; empty where it can."""


def facts(packages: Sequence[str], token: Token, url: str) -> Facts:
    """Facts of this machine: runs on every node."""
    return Facts(code_digest(), versions(packages), token.unseen(), _unreached(url))


def check_facts(node: Node, own: Facts, theirs: Facts | str) -> None:
    """Raise `ConfigError`, which names the node and the remedy, for one that cannot take part.

    `theirs` is a text where the node did not answer: the reason.
    """
    if isinstance(theirs, str):
        raise ConfigError(f"node {node.name} starts no process of the run: {theirs}")
    if theirs.unseen:
        raise ConfigError(f"node {node.name} {theirs.unseen}")
    if theirs.unreached:
        raise ConfigError(
            f"node {node.name} cannot reach the environment server: {theirs.unreached}; open the way, or"
            " give environment.url"
        )
    for name, here in own.versions.items():
        there = theirs.versions.get(name, "none")
        if _public(there) != _public(here):
            raise ConfigError(
                f"node {node.name} has {name} {there}, this machine has {here}: install the same one"
            )
    if theirs.code != own.code:
        raise ConfigError(
            f"node {node.name} does not run the agentevol that was sent to it: another one lies in the folder"
            " where Ray was started there"
        )


def versions(packages: Sequence[str]) -> dict[str, str]:
    """Versions by package; `none` where it is not installed."""
    return {name: _version(name) for name in packages}


def folders_of(packages: Sequence[str] = OWN) -> list[str]:
    """Folders of the packages."""
    found = {name: find_spec(name) for name in packages}
    places = [spec.submodule_search_locations if spec else None for spec in found.values()]
    return [place[0] for place in places if place]


def code_digest() -> str:
    """Digest of all modules of our own packages as installed here."""
    digest = hashlib.sha256()
    for folder in map(Path, folders_of()):
        for file in sorted(folder.rglob("*.py")):
            digest.update(f"{folder.name}/{file.relative_to(folder)}\0".encode())
            digest.update(file.read_bytes())
    return digest.hexdigest()


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "none"


def _public(text: str) -> str:
    """Version without the build: a machine without a GPU has another build of the same torch."""
    return text.partition("+")[0]


def _unreached(url: str) -> str:
    place = urlsplit(url)
    port = place.port or (443 if place.scheme == "https" else 80)
    try:
        socket.create_connection((place.hostname or "", port), REACH_TIMEOUT_S).close()
    except OSError as cause:
        return f"{place.hostname}:{port}: {cause}"
    return ""
