"""Partner that is a policy of its own behind an endpoint: `PolicyPartner`.

It reads and writes what an agent in its seat would: a conversation of observations and messages, as policies
are trained on, and not the package's prompt. `agentevol serve` is such an endpoint for a model folder, a
starter or a run, so that servers of environments need no weights.
"""

import asyncio
from copy import copy
from typing import Any, Final

from agentgym_envs.endpoints.client import ChatClient, Message
from agentgym_envs.endpoints.records import Said
from agentgym_envs.formats import FORMATS
from agentgym_envs.sotopia.models.partner import PartnerFault
from agentgym_envs.sotopia.moves import Utterance
from agentgym_envs.sotopia.options import Options
from agentgym_envs.sotopia.play.messages import action_in, observed, refused
from agentgym_envs.sotopia.protocol.actions import NOTHING, Action, ReplyError
from agentgym_envs.sotopia.protocol.conversation import Conversation
from agentgym_envs.sotopia.tasks import NAME

TRIES: Final = 2
"""Messages in a turn, as for agents: a second malformed one does nothing."""


class PolicyPartner:
    """Partner whose messages a served policy writes; a malformed one is its mistake, and no failure."""

    def __init__(self, options: Options, seed: int) -> None:
        self._model = options.partner_endpoint
        self._options, self._seed = options, seed
        self._format = FORMATS[options.partner_format]
        self._client = ChatClient(
            self._model, role="partner", fault=PartnerFault, budget=options.endpoint_budget
        )
        instruction = self._format.instruction(NAME)
        self._messages: list[Message] = [{"role": "system", "content": instruction}] if instruction else []
        self._seen: int | None = None
        """Steps that it has observed; None before its background."""

    async def act(self, conversation: Conversation, seat: int, heard: Utterance | None) -> Action:
        """The policy's action. Raises `PartnerFault`."""
        try:
            async with asyncio.timeout(self._model.longest_s):
                return await self._act(conversation, seat)
        except TimeoutError:
            late = f"the partner gave no action within {self._model.longest_s:g} s"
            raise PartnerFault(late + self._client.failing) from None

    def copied(self) -> "PolicyPartner":
        """A partner that goes on from here."""
        other = copy(self)
        other._client, other._messages = self._client.copied(), list(self._messages)
        return other

    def told(self) -> dict[str, Any]:
        """Model, host and sampling, and figures of the requests."""
        return {"kind": "policy", **self._client.figures(), "format": self._format.name}

    async def _act(self, conversation: Conversation, seat: int) -> Action:
        text = observed(conversation, seat, self._seen, self._options)
        self._seen = conversation.turn_number
        for _ in range(TRIES):
            try:
                return action_in(self._format.parse(await self._reply(text)), self._options.actions)
            except ReplyError as fault:
                text = refused(fault)
        return NOTHING

    async def _reply(self, observation: str) -> str:
        """The policy's message after another observation; both stay in its history."""
        self._messages.append({"role": "user", "content": observation})
        request = {
            "messages": self._messages,
            "seed": (self._seed + len(self._messages)) % 2**31,
        }
        said = await self._client.complete(request, _text)
        self._messages.append({"role": "assistant", "content": said})
        return said


def _text(said: Said) -> str:
    return said.content or ""
