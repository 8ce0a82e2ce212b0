"""GPUs that are set aside for a run: placement groups of Ray."""

import time
from collections.abc import Container
from dataclasses import dataclass
from typing import Any

import ray
from ray.util import placement_group, remove_placement_group
from ray.util.placement_group import PlacementGroup
from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

from agentevol.errors import RunStopped
from agentevol.workers.nodes import Node


@dataclass
class _Group:
    group: PlacementGroup
    node: Node
    bundles: list[int]
    """GPUs of each."""
    awaited: Any
    """The reply that tells that Ray has set them aside; None once it has."""
    began: float
    """When they were asked for, in seconds of a monotonic clock."""


class Groups:
    """GPUs that are set aside: one process follows another on them, and nobody gets them in between. By name
    of whom they are for.

    Ray removes what is left of them with the run.
    """

    def __init__(self) -> None:
        self._there: dict[str, _Group] = {}

    def on(self, name: str, node: Node, bundles: list[int], index: int = 0) -> Any:
        """Where the one with this index is scheduled: in what this name has there already, or gets now."""
        held = self._there.get(name)
        if held is None or (held.node.id, held.bundles) != (node.id, bundles):
            self.remove(name)
            where = [label_of(node)] * len(bundles)
            wanted = [{"GPU": float(gpus)} for gpus in bundles]
            group = placement_group(wanted, strategy="STRICT_PACK", bundle_label_selector=where)
            held = self._there[name] = _Group(group, node, bundles, group.ready(), time.monotonic())
        return PlacementGroupSchedulingStrategy(held.group, index)

    def remove(self, name: str) -> None:
        """This name has none any more; who was to start there has died."""
        held = self._there.pop(name, None)
        if held is not None:
            remove_placement_group(held.group)

    def keep_on(self, nodes: Container[str]) -> None:
        """Remove those on others: Ray would let who starts there wait for ever."""
        for name, held in list(self._there.items()):
            if held.node.id not in nodes:
                self.remove(name)

    def check(self, bound_s: float) -> None:
        """Raise `RunStopped` where Ray has not set some aside after this time."""
        for held in list(self._there.values()):
            if held.awaited is not None and ray.wait([held.awaited], timeout=0)[0]:
                held.awaited = None
            if held.awaited is not None and time.monotonic() - held.began > bound_s:
                raise RunStopped(
                    f"Ray has not set aside {sum(held.bundles)} of the GPUs on {held.node.name} within"
                    f" {bound_s:g} s (ray.start_timeout_s): `ray status` tells who has them"
                )


def label_of(node: Node) -> dict[str, str]:
    """The label that this node alone has."""
    return {"ray.io/node-id": node.id}
