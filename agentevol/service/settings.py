"""Settings of a policy service beyond address, tokens and limits of any server."""

from typing import Annotated

from pydantic import Field

from agentevol.service.chat.request import Rules
from agentgym_envs.core import Record
from agentgym_server.settings import ServerSettings

MODEL = "policy"
"""Name of the model for clients, with any weights."""
BODY_BYTES = 4 << 20
"""Maximum size of a body: every call sends its whole conversation."""


class ServiceSettings(Record):
    """Settings of one policy service."""

    server: ServerSettings = ServerSettings(max_body_bytes=BODY_BYTES)
    run: str = "serve"
    """Run under which episodes are stored."""
    max_new_tokens: Annotated[int, Field(ge=1)] = 512
    """Maximum number of tokens of a reply."""
    temperature: Annotated[float, Field(gt=0, le=2)] = 1.0
    """Temperature of recorded calls, which overrides clients': the learner recomputes log-probabilities at
    1.
    """
    update_wait_s: Annotated[float, Field(ge=0)] = 30.0
    """Maximum wait of a call for new weights before it is refused with 503, seconds."""
    call_timeout_s: Annotated[float, Field(gt=0)] = 300.0
    """Time without output after which an engine has failed, seconds."""
    max_calls: Annotated[int, Field(ge=1)] = 1000
    """Maximum number of calls of one session."""

    @property
    def captured(self) -> Rules:
        """Rules for calls of a session. Nucleus sampling would change the log-probabilities of the model."""
        return Rules(self.max_new_tokens, self.temperature, top_p=1.0)

    @property
    def plain(self) -> Rules:
        """Rules for calls without recording."""
        return Rules(self.max_new_tokens)
