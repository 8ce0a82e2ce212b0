"""Partner played by a model behind an endpoint: `PartnerModel`, `ModelPartner`."""

import asyncio
import json
from collections.abc import Sequence
from copy import copy
from typing import TYPE_CHECKING, Any

from agentgym_envs.endpoints.budget import Budget
from agentgym_envs.endpoints.cache import AnswerCache
from agentgym_envs.endpoints.client import ChatClient, Message
from agentgym_envs.endpoints.records import Endpoint, EndpointFault, Said
from agentgym_envs.formats import after_thinking
from agentgym_envs.sotopia.protocol.actions import Action, ReplyError, from_json
from agentgym_envs.sotopia.protocol.conversation import Conversation
from agentgym_envs.sotopia.protocol.prompts import ACTION_FORMAT, ACTION_SCHEMA, agent_prompt

if TYPE_CHECKING:
    import httpx

REPAIR = "That is no action: {reason}. Reply with one JSON object of this form and nothing else:\n{form}"


class PartnerFault(EndpointFault):
    """The endpoint of the partner gave no action: the episode fails, and is no reward."""


class PartnerModel(Endpoint):
    """Endpoint and sampling of a partner."""

    temperature: float = 0.7
    structured: bool = False
    """Whether the endpoint is asked for JSON of the action's schema (`response_format`)."""


class ModelPartner:
    """Seat of a conversation whose actions a model chooses; it reads what its seat observes, nothing else."""

    def __init__(
        self,
        model: PartnerModel,
        seed: int,
        *,
        cache: AnswerCache | None = None,
        budget: Budget | None = None,
        transport: "httpx.AsyncBaseTransport | None" = None,
    ) -> None:
        self._model = model
        self._seed = seed
        self._client = ChatClient(
            model, role="partner", fault=PartnerFault, cache=cache, budget=budget, transport=transport
        )

    async def act(self, conversation: Conversation, seat: int) -> Action:
        """The next action of a seat. Raises `PartnerFault`."""
        request: dict[str, Any] = {
            "messages": [{"role": "user", "content": agent_prompt(conversation, seat)}],
            "seed": (self._seed + conversation.turn_number) % 2**31,
        }
        if self._model.structured:
            request["response_format"] = response_format("action", ACTION_SCHEMA)
        try:
            async with asyncio.timeout(self._model.longest_s):
                return await self._client.complete(request, _action, repair=_repair)
        except TimeoutError:
            late = f"the partner gave no action within {self._model.longest_s:g} s"
            raise PartnerFault(late + self._client.failing) from None

    def copied(self) -> "ModelPartner":
        """A partner that counts its requests on from here."""
        other = copy(self)
        other._client = self._client.copied()
        return other

    def figures(self) -> dict[str, Any]:
        """Figures of the requests so far."""
        return self._client.figures()


def response_format(name: str, schema: dict[str, Any]) -> dict[str, Any]:
    """The request for JSON of a schema."""
    return {"type": "json_schema", "json_schema": {"name": name, "schema": json.loads(json.dumps(schema))}}


def _action(said: Said) -> Action:
    try:
        return from_json(after_thinking(said.content or "").strip())
    except ReplyError as fault:
        raise PartnerFault(f"the partner's answer is no action: {fault}") from None


def _repair(answer: str, reason: str) -> Sequence[Message]:
    return [
        {"role": "assistant", "content": answer},
        {"role": "user", "content": REPAIR.format(reason=reason, form=ACTION_FORMAT)},
    ]
