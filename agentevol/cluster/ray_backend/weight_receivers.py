"""Rollout workers as receivers of a learner's weight transfer, on Ray."""

from collections.abc import Mapping, Sequence
from typing import Any

import ray
from ray.exceptions import RayError, RayTaskError

from agentevol.core.errors import AgentEvolError, TransferFailed, one_line
from agentevol.engines.vllm.weights.transfer_modes import Step


class Receivers:
    """`agentevol.engines.vllm.weights.sender.Receivers` on Ray: rollout workers, called from a learner's
    process.
    """

    def __init__(self, workers: Sequence[Any], ranks: int) -> None:
        self._workers, self.ranks = workers, ranks
        self.names = tuple(worker._actor_id.hex() for worker in workers)

    def init_weight_transfer_engine(self, init_info: Mapping[str, Any]) -> None:
        own = self.ranks // len(self._workers)
        told = [dict(init_info) for _ in self._workers]
        for number, one in enumerate(told):
            if "rank_offset" in one:
                one["rank_offset"] += number * own
        self._each("init_weight_transfer_engine", told)

    def start_weight_update(self) -> None:
        self._all("start_weight_update")

    def update_weights(self, update_info: Any) -> None:
        self._all("update_weights", update_info)

    def finish_weight_update(self, weight_version: str | None = None) -> None:
        self._all("finish_weight_update")

    def probe(self) -> list[Any]:
        return self._all("probe")

    def admit(self) -> None:
        self._all("admit")

    def _all(self, step: Step, given: Any = None) -> list[Any]:
        return self._each(step, [given] * len(self._workers))

    def _each(self, step: Step, given: Sequence[Any]) -> list[Any]:
        try:
            return ray.get(
                [one.deliver.remote(step, this) for one, this in zip(self._workers, given, strict=True)]
            )
        except RayTaskError as cause:
            if isinstance(cause.cause, AgentEvolError):
                raise cause.cause from None
            raise TransferFailed(f"an engine broke: {cause.cause!r}") from cause
        except RayError as cause:
            raise TransferFailed(one_line(cause)) from cause
