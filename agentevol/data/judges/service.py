"""Judge that asks a judge service (`agentevol judge`) to score episodes of any environment.

    reward.judge = "service"
    reward.options.url = "http://127.0.0.1:8000"
    reward.options.judges = "openai:NAME"
    reward.options.dimension = "efficiency"

The score is the mean of the dimensions, or one of them, each as a share of its range. An episode that the
service does not judge has no score, and neither has one with a reply that is no judgement.
"""

import asyncio
import json
import os
from collections.abc import Mapping
from hashlib import sha256
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

import httpx
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from agentevol.config.urls import check_url
from agentevol.core.errors import ConfigError, described
from agentevol.core.judges import JudgedEpisode, Verdict
from agentevol.data.judgements.items import Transcript
from agentevol.data.judgements.outcomes import Scores
from agentevol.engines.endpoint import Endpoint, key_from

TOKEN_VARIABLE = "AGENTEVOL_TOKEN"
CHECK_S = 10.0
"""Limit of the first request, which asks for the judges."""
REQUEST_S = 3600.0
"""Limit of one judgement; that of a run (`reward.timeout_s`) is shorter."""
PATIENCE_S = 30.0
"""Time for which a service that cannot be reached is tried again."""


class _Read(BaseModel):
    """Part of a reply; replies may grow, and what is new is not read."""

    model_config = ConfigDict(extra="ignore")


class _Known(_Read):
    """A judge of the service."""

    name: str
    version: str
    kind: str = ""


class _Judges(_Read):
    """Reply of `GET /judges`."""

    judges: list[_Known] = Field(min_length=1)
    asked: dict[str, Any] = Field(default_factory=dict)


class _Sample(_Read):
    reasons: list[dict[str, str]] = Field(default_factory=list)


class _Opinion(_Read):
    samples: list[_Sample] = Field(default_factory=list)


class _Ok(_Read):
    status: Literal["ok"]
    scores: Scores
    normalised: Scores
    opinions: list[_Opinion] = Field(default_factory=list)


class _Failed(_Read):
    status: Literal["failed"]
    kind: str
    detail: str


class _Judgements(_Read):
    """Reply of `POST /judgements`."""

    judgements: list[Annotated[_Ok | _Failed, Field(discriminator="status")]]


class ServiceJudge:
    """Judge at a service; scores are shares of the dimensions' ranges. `transport` is a seam for tests."""

    scale = (0.0, 1.0)

    def __init__(
        self,
        transport: httpx.MockTransport | None = None,
        *,
        url: str,
        judges: str = "",
        dimension: str = "",
        dimensions: str = "",
        samples: Annotated[int, Field(ge=0, le=32)] = 0,
        api_key_env: str = "",
    ) -> None:
        """`judges`: names, separated by commas, all of the service by default. `dimensions`: `sotopia`,
        `rubric`, or JSON as for the service; its own by default, as are 0 `samples`. Raises `ConfigError`
        unless the service answers.
        """
        place, key = _address(url), _key(api_key_env)
        self.dimension = dimension
        self._request = _request(judges, dimensions, samples)
        known = _known(place, key, transport)
        chosen = self._request.get("judges") or [one.name for one in known.judges]
        judging = {one.name: one for one in known.judges if one.name in chosen}
        if missing := [name for name in chosen if name not in judging]:
            told = ", ".join(one.name for one in known.judges)
            raise ConfigError(f"the judge service has no judge {missing[0]!r}; there are: {told}")
        self.stochastic = any(one.kind not in ("rule", "replay") for one in judging.values())
        versions = [(name, one.version) for name, one in sorted(judging.items())]
        told = [urlsplit(place).netloc, versions, known.asked, self._request, dimension]
        self.version = sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()[:16]
        self._endpoint = Endpoint(
            place, key, connections=1024, patience_s=PATIENCE_S, transport=transport, pause=asyncio.sleep
        )

    async def judge(self, episode: JudgedEpisode) -> Verdict:
        """Ask the service once. Raises `PolicyFault` where it gives no usable answer."""
        item = Transcript.of(episode).model_dump(mode="json", exclude={"dimensions"})
        answer = await self._endpoint.send(
            "POST", "/judgements", {"items": [item], **self._request}, timeout_s=REQUEST_S
        )
        try:
            found = _Judgements.model_validate(answer).judgements
        except ValidationError as cause:
            return Verdict(None, f"the service's answer is no judgement: {cause.errors()[0]['msg']}")
        if len(found) != 1:
            return Verdict(None, f"the service gave {len(found)} judgements of one episode")
        return self._verdict(found[0])

    async def close(self) -> None:
        """Close the connections."""
        await self._endpoint.close()

    def _verdict(self, judged: _Ok | _Failed) -> Verdict:
        if isinstance(judged, _Failed):
            return Verdict(None, f"failed({judged.kind}): {judged.detail}")
        if len(judged.scores) != 1 or len(judged.normalised) != 1:
            return Verdict(None, f"the service judged {len(judged.scores)} seats of one")
        raw = {name: score for name, score in judged.scores[0].items() if score is not None}
        shares = {name: share for name, share in judged.normalised[0].items() if share is not None}
        if self.dimension and self.dimension not in shares:
            return Verdict(None, f"the service gave no score of {self.dimension}")
        if not shares:
            return Verdict(None, "the service gave no scores")
        score = shares[self.dimension] if self.dimension else sum(shares.values()) / len(shares)
        return Verdict(score, _reason(judged), raw)


def _address(url: str) -> str:
    try:
        return check_url(url)
    except ValueError as cause:
        raise ConfigError(f"the judge service: {cause}") from cause


def _key(variable: str) -> str | None:
    return key_from(variable or (TOKEN_VARIABLE if os.environ.get(TOKEN_VARIABLE) else None))


def _request(judges: str, dimensions: str, samples: int) -> dict[str, Any]:
    """Members of each request beside the items."""
    found: dict[str, Any] = {}
    if names := [name.strip() for name in judges.split(",") if name.strip()]:
        found["judges"] = names
    if dimensions:
        found["dimensions"] = _dimensions(dimensions)
    if samples:
        found["samples"] = samples
    return found


def _dimensions(given: str) -> Any:
    if not given.lstrip().startswith("["):
        return given
    try:
        return json.loads(given)
    except ValueError as cause:
        raise ConfigError(f"dimensions of the judge service are no JSON: {cause}") from None


def _known(url: str, key: str | None, transport: httpx.MockTransport | None) -> _Judges:
    """The service's judges. Raises `ConfigError` where it does not tell them."""
    headers: Mapping[str, str] = {} if key is None else {"authorization": f"Bearer {key}"}
    try:
        with httpx.Client(transport=transport, timeout=CHECK_S, headers=headers) as client:
            response = client.get(f"{url}/judges")
    except httpx.HTTPError as cause:
        raise ConfigError(f"the judge service at {url} does not answer: {described(cause)}") from cause
    if response.status_code in (401, 403):
        raise ConfigError(f"the judge service at {url} refuses the token: {TOKEN_VARIABLE} holds it")
    try:
        return _Judges.model_validate_json(response.content)
    except ValidationError:
        raise ConfigError(f"{url} is no judge service: GET /judges gave {response.status_code}") from None


def _reason(judged: _Ok) -> str:
    """Reasons of the first sample of the first judge, in one line."""
    told = (reasons for one in judged.opinions for sample in one.samples for reasons in sample.reasons)
    return "; ".join(f"{name}: {reason}" for name, reason in next(told, {}).items() if reason)
