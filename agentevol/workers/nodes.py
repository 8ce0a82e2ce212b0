"""The machines of a cluster: where a process is put, and whether a machine is fit for it."""

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

from agentevol.errors import ConfigError
from agentevol.workers.tokens import Token

OWN = ("agentevol", "agentgym_client", "agentgym_envs", "agentgym_server", "agentgym_store")
"""Packages that are sent to the workers."""
COMPARED = ("torch", "transformers")
"""Packages that every machine has to have of itself, in the same version."""
REACH_TIMEOUT_S = 10.0


class Node(NamedTuple):
    """A machine of the cluster."""

    id: str
    address: str
    gpus: int = 0

    @property
    def name(self) -> str:
        """By which a person finds it."""
        return f"{self.address} (Ray node {self.id[:8]})"


class Place(NamedTuple):
    """Where a process computes."""

    node: Node
    claimed: int = 0
    """GPUs that are its own."""
    shared: str = ""
    """By its id there, a GPU that another process has claimed; empty for none."""


def alive(rows: Iterable[Mapping[str, Any]], own: str) -> list[Node]:
    """Of what Ray tells about nodes: those that live, `own` first, then by id."""
    found = [
        Node(row["NodeID"], row["NodeManagerAddress"], int(row["Resources"].get("GPU", 0)))
        for row in rows
        if row["Alive"]
    ]
    return sorted(found, key=lambda node: (node.id != own, node.id))


@dataclass
class Room:
    """What is taken of the nodes by this run."""

    nodes: Sequence[Node]
    processes: Counter[str] = field(default_factory=Counter[str])
    """By id of the node."""
    gpus: Counter[str] = field(default_factory=Counter[str])

    def free(self, node: Node) -> int:
        """GPUs."""
        return node.gpus - self.gpus[node.id]

    def take(self, node: str, gpus: int) -> None:
        """A process is there."""
        self.processes[node] += 1
        self.gpus[node] += gpus

    def spread(self, gpus: int) -> Node | None:
        """Where one more process belongs: the node with the fewest of those that have GPUs for it."""
        fitting = [node for node in self.nodes if self.free(node) >= gpus]
        return min(fitting, key=lambda node: self.processes[node.id], default=None)

    def packed(self, count: int, gpus: int) -> list[Node] | None:
        """Where processes belong that talk much: on one node if one has room, else on as few as can be.

        None where there is no room for all.
        """
        whole = [node for node in self.nodes if self.free(node) >= count * gpus]
        if whole:  # the tightest, which leaves room for others; not here, where the worlds are served
            whole.reverse()
            return [min(whole, key=lambda node: (self.free(node), self.processes[node.id]))] * count
        by_room = sorted(self.nodes, key=self.free, reverse=True)
        places = [node for node in by_room for _ in range(self.free(node) // gpus)]
        return places[:count] if len(places) >= count else None


class Facts(NamedTuple):
    """What a machine says of itself."""

    code: str
    """Digest of our own packages."""
    versions: dict[str, str]
    unseen: str
    """Why it cannot share files with the driver; empty where it can."""
    unreached: str
    """Why the environment server cannot be reached from there; empty where it can."""


def facts(packages: Sequence[str], token: Token, url: str) -> Facts:
    """What this machine has to say: runs on every node."""
    return Facts(code_digest(), versions(packages), token.unseen(), _unreached(url))


def check_facts(node: Node, own: Facts, theirs: Facts | str) -> None:
    """Raise `ConfigError`, which names the node and what to do, for one that cannot take part.

    `theirs` is a text where it did not answer: why.
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
    """By package; `none` where it is not installed."""
    return {name: _version(name) for name in packages}


def folders_of(packages: Sequence[str] = OWN) -> list[str]:
    """Where the packages lie."""
    found = {name: find_spec(name) for name in packages}
    places = [spec.submodule_search_locations if spec else None for spec in found.values()]
    return [place[0] for place in places if place]


def code_digest() -> str:
    """Of all modules of our own packages as they are found here."""
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
    """Without the build: a machine without a GPU has another build of the same torch."""
    return text.partition("+")[0]


def _unreached(url: str) -> str:
    place = urlsplit(url)
    port = place.port or (443 if place.scheme == "https" else 80)
    try:
        socket.create_connection((place.hostname or "", port), REACH_TIMEOUT_S).close()
    except OSError as cause:
        return f"{place.hostname}:{port}: {cause}"
    return ""
