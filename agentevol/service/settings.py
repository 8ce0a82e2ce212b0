"""What a service may be told, beside address, tokens and limits of any server."""

from typing import Annotated

from pydantic import Field

from agentevol.service.chat_request import Rules
from agentgym_envs.core import Record
from agentgym_server.settings import ServerSettings

MODEL = "policy"
"""What clients know the model as, whatever weights it has."""
BODY_BYTES = 4 << 20
"""Most bytes of a body: a conversation is sent whole with every call."""


class ServiceSettings(Record):
    """Settings of one policy service."""

    server: ServerSettings = ServerSettings(max_body_bytes=BODY_BYTES)
    run: str = "serve"
    """The run under whose name episodes are stored."""
    max_new_tokens: Annotated[int, Field(ge=1)] = 512
    """Most tokens of a reply."""
    temperature: Annotated[float, Field(gt=0, le=2)] = 1.0
    """Of all that is recorded, whatever clients ask: the learner recomputes log-probabilities at one."""
    update_wait_s: Annotated[float, Field(ge=0)] = 30.0
    """How long a call waits for new weights before it is sent away with 503."""
    call_timeout_s: Annotated[float, Field(gt=0)] = 300.0
    """An engine that says nothing for so long has failed."""
    max_calls: Annotated[int, Field(ge=1)] = 1000
    """Calls of one session."""

    @property
    def captured(self) -> Rules:
        """For calls of a session. A nucleus would make log-probabilities others than those of the model."""
        return Rules(self.max_new_tokens, self.temperature, top_p=1.0)

    @property
    def plain(self) -> Rules:
        """For calls of which nothing is recorded."""
        return Rules(self.max_new_tokens)
