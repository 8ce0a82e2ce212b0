"""Judge of items: the protocol."""

from collections.abc import Sequence
from typing import Any, Protocol

from agentevol.data.judgements.items import Item
from agentevol.data.judgements.outcomes import Rating, Usage
from agentgym_envs.sotopia.protocol.dimensions import Dimension


class ItemJudge(Protocol):
    """Judge of conversations and transcripts."""

    name: str
    """For example `openai:gpt-4.1`."""
    version: str
    """Fingerprint that changes whenever equal items may get other scores."""

    async def rate(
        self, item: Item, dimensions: Sequence[Dimension], samples: int
    ) -> tuple[Sequence[Rating], Usage]:
        """Ratings of an item; one of a judge that always says the same. Raises `NoRating`."""
        ...

    def facts(self) -> dict[str, Any]:
        """Further facts about the judge, as JSON: its model, for example."""
        ...
