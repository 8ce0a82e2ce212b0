"""Settings of a judge service beyond address, tokens and limits of any server."""

from typing import Annotated, Final

from pydantic import Field

from agentevol.data.judgements.panel import Asked
from agentgym_envs.core import Record
from agentgym_server.settings import ServerSettings

BODY_BYTES: Final = 16 << 20
"""Maximum size of a body: a few hundred conversations."""


class JudgeSettings(Record):
    """Settings of one judge service."""

    server: ServerSettings = ServerSettings(max_body_bytes=BODY_BYTES)
    asked: Asked = Asked()
    """Defaults of a request to the judges."""
    max_items: Annotated[int, Field(ge=1)] = 256
    """Items of one request; beyond, 413."""
    max_requests: Annotated[int, Field(ge=1)] = 64
    """Requests that are judged at a time; beyond, 429."""
