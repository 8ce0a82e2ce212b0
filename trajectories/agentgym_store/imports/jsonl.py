"""Whole episodes as JSON Lines, as `agentevol trajectories export` writes them. Lossless."""

from typing import Any

from pydantic import ValidationError

from agentgym_store.imports.contract import Draft, Importer, members, refusal_of
from agentgym_store.imports.reading import Refusal
from agentgym_store.jsonl import is_finite
from agentgym_store.records import Trajectory


class JsonLines(Importer):
    """Every field of every episode."""

    name = "jsonl"
    summary = "An episode of this package with every field."
    lossless = True

    def recognises(self, record: Any) -> bool:
        """See `Importer`."""
        found = members(record)
        return {"initial_observation", "turns"} <= set(found) and "kind" in members(found.get("ending"))

    def episode(self, record: Any) -> Draft | Trajectory:
        """See `Importer`."""
        try:
            episode = Trajectory.model_validate(record)
        except ValidationError as cause:
            raise refusal_of(cause) from cause
        if not is_finite(episode):
            raise Refusal("a number that is not finite")
        return episode
