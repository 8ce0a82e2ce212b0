"""Bodies of requests and replies of the judge service."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from agentevol.data.judgements.aggregation import Aggregate
from agentevol.data.judgements.dimension_sets import DimensionSet
from agentevol.data.judgements.items import Item
from agentevol.data.judgements.outcomes import Judgement
from agentevol.data.judgements.panel import Asked
from agentevol.data.judgements.summary import Summary
from agentgym_server.lanes.replies import Shown, maybe
from agentgym_server.wire.requests import Body, Omittable, absent

JudgeName = Annotated[str, Field(min_length=1, max_length=256)]


class JudgementsBody(Body):
    """Items to judge, and how; what is absent is the service's own setting."""

    items: Annotated[list[Item], Field(min_length=1)]
    judges: Omittable[Annotated[list[JudgeName], Field(min_length=1, max_length=16)]] = absent()
    """Names of judges; absent: all."""
    dimensions: Omittable[DimensionSet] = absent()
    samples: Omittable[Annotated[int, Field(ge=1, le=32)]] = absent()
    aggregate: Omittable[Aggregate] = absent()

    def asked(self, default: Asked) -> Asked:
        """Requests for every item."""
        given = {name: getattr(self, name) for name in Asked.model_fields}
        return default.model_copy(update={name: value for name, value in given.items() if value is not None})


class JudgementsReply(BaseModel):
    """Judgements in the order of the items."""

    model_config = ConfigDict(frozen=True)

    judgements: list[Judgement]
    summary: Summary


class ShownJudge(Shown):
    """Judge of the service."""

    name: str
    version: str
    """Fingerprint: scores of two versions are not compared."""
    kind: Literal["rule", "openai", "replay"]


class JudgesReply(Shown):
    """Judges, and what is asked of them by default."""

    judges: list[ShownJudge]
    asked: dict[str, Any]
    max_items: Annotated[int, Field(ge=1)]
    """Items of one request."""


class ShownJudgements(Shown):
    """Judgements in the order of the items."""

    judgements: list[Judgement]
    summary: Summary


class HealthReply(Shown):
    """Liveness; unauthenticated callers get the status only."""

    status: Literal["healthy", "draining"]
    api_version: str = maybe()
    uptime_s: Annotated[float, Field(ge=0)] = maybe()
    requests: dict[str, int] = maybe()
    """Requests that are being judged, and their limit."""
    judges: list[str] = maybe()
    judged: dict[str, int] = maybe()
    """Items so far by outcome."""
