"""AgentTraj, the format of AgentGym and of `agentevol trajectories export --format agenttraj`.

    {"item_id": "webshop_6", "conversations": [{"from": "human", "loss": null, "value": "..."},
                                               {"from": "gpt", "loss": true, "value": "..."}]}

AgentInstruct (arXiv:2310.12823) has the same conversations, with `id`. They begin with the prompt of the
environment and an acknowledgement that is not learnt: that exchange is no turn, and is left out.
"""

import re
from typing import Any, cast

from pydantic import Field

from agentgym_store.imports.contract import Draft, Importer, Shape, members, validated
from agentgym_store.imports.conversation import Said, conversation, drafted, speaker
from agentgym_store.imports.reading import Refusal
from agentgym_store.records import Trajectory

NUMBERED = re.compile(r"([a-z][a-z0-9_-]*)_\d+", re.ASCII)
"""Name of a record that begins with its environment; those of ALFWorld are names of games."""
OPENING = "with an opening exchange, which is left out"
NO_CONVERSATION = "without a conversation (evaluation tasks)"


class _Message(Shape):
    speaker: str = Field(alias="from")
    value: str
    loss: bool | None = None


class _Row(Shape):
    item_id: str | None = None
    id: str | None = None
    """Name of the record in AgentInstruct, which has the same conversations."""
    conversations: list[_Message] | None = None


class AgentTraj(Importer):
    """Conversations with a mark on each message that is learnt."""

    name = "agenttraj"
    summary = "A conversation of AgentGym's AgentTraj."

    def recognises(self, record: Any) -> bool:
        """See `Importer`."""
        found = members(record)
        if "conversations" not in found:
            return False
        said = found["conversations"]
        messages = cast("list[Any]", said) if isinstance(said, list) else []
        return "item_id" in found or any("loss" in members(one) for one in messages[:2])

    def episode(self, record: Any) -> Draft | Trajectory:
        """See `Importer`."""
        row = validated(_Row, record)
        if row.conversations is None:
            raise Refusal(NO_CONVERSATION)
        has_meta = "meta" in members(record)
        said = row.conversations if has_meta else _without_opening(row.conversations)
        opening, turns = conversation(
            [Said(speaker(one.speaker), one.value, one.loss is not False) for one in said]
        )
        name = row.item_id or row.id
        named = NUMBERED.fullmatch(name or "")
        notes = (OPENING,) if len(said) < len(row.conversations) else ()
        return drafted(record, opening, turns, name=name, env=named and named[1], notes=notes)


def _without_opening(said: list[_Message]) -> list[_Message]:
    """The conversation without a first exchange that is not learnt and is followed by another one."""
    is_opened = len(said) > 3 and said[1].speaker == "gpt" and said[1].loss is False
    return said[2:] if is_opened else said
