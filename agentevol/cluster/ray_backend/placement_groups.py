"""Reservation of GPUs for a run: placement groups of Ray."""

import time
from collections.abc import Container
from dataclasses import dataclass
from typing import Any

import ray
from ray.util import placement_group, remove_placement_group
from ray.util.placement_group import PlacementGroup
from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

from agentevol.cluster.processes.nodes import Node
from agentevol.core.errors import RunStopped


@dataclass
class _Group:
    group: PlacementGroup
    node: Node
    bundles: list[int]
    """GPUs of each bundle."""
    awaited: Any
    """Reply that confirms the reservation; None once it has come."""
    began: float
    """Time of the request, in seconds of a monotonic clock."""


class Groups:
    """Reserved GPUs by the name of their user: its processes follow one another on them, and no other process
    gets them in between.

    Ray removes the remaining ones with the run.
    """

    def __init__(self) -> None:
        self._there: dict[str, _Group] = {}

    def on(self, name: str, node: Node, bundles: list[int], index: int = 0) -> Any:
        """Scheduling strategy of the bundle with this index in the group of this name, which is created where
        it does not exist.
        """
        held = self._there.get(name)
        if held is None or (held.node.id, held.bundles) != (node.id, bundles):
            self.remove(name)
            where = [label_of(node)] * len(bundles)
            wanted = [{"GPU": float(gpus)} for gpus in bundles]
            group = placement_group(wanted, strategy="STRICT_PACK", bundle_label_selector=where)
            held = self._there[name] = _Group(group, node, bundles, group.ready(), time.monotonic())
        return PlacementGroupSchedulingStrategy(held.group, index)

    def remove(self, name: str) -> None:
        """Remove the group of this name; a process that was to start there has died."""
        held = self._there.pop(name, None)
        if held is not None:
            remove_placement_group(held.group)

    def keep_on(self, nodes: Container[str]) -> None:
        """Remove the groups on other nodes: Ray would let processes that start there wait for ever."""
        for name, held in list(self._there.items()):
            if held.node.id not in nodes:
                self.remove(name)

    def check(self, bound_s: float) -> None:
        """Raise `RunStopped` where Ray has not made a reservation within this time."""
        for held in list(self._there.values()):
            if held.awaited is not None and ray.wait([held.awaited], timeout=0)[0]:
                held.awaited = None
            if held.awaited is not None and time.monotonic() - held.began > bound_s:
                raise RunStopped(
                    f"Ray has not reserved {sum(held.bundles)} of the GPUs on {held.node.name} within"
                    f" {bound_s:g} s (ray.start_timeout_s): `ray status` shows who holds them"
                )


def label_of(node: Node) -> dict[str, str]:
    """Label that this node alone has."""
    return {"ray.io/node-id": node.id}
