"""ShareGPT: conversations with `from` and `value`, with the system prompt and tools of LLaMA-Factory."""

from typing import Any

from pydantic import Field

from agentgym_store.imports.contract import Draft, Importer, Shape, members, validated
from agentgym_store.imports.conversation import Said, conversation, drafted, speaker
from agentgym_store.records import Trajectory


class _Message(Shape):
    speaker: str = Field(alias="from")
    value: str


class _Row(Shape):
    id: str | int | None = None
    system: str | None = None
    tools: str | None = None
    conversations: list[_Message]


class ShareGPT(Importer):
    """Conversations without marks of what is learnt: all messages of the agent are."""

    name = "sharegpt"
    summary = "A conversation whose messages have `from` and `value`."

    def recognises(self, record: Any) -> bool:
        """See `Importer`."""
        return "conversations" in members(record)

    def episode(self, record: Any) -> Draft | Trajectory:
        """See `Importer`."""
        row = validated(_Row, record)
        before = [Said("system", text) for text in (row.system, row.tools) if text]
        said = [Said(speaker(one.speaker), one.value) for one in row.conversations]
        opening, turns = conversation([*before, *said])
        return drafted(record, opening, turns, name=row.id)
