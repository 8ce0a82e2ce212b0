"""Options of the environment `sotopia`: `Options`, and the endpoints that they name."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final, Literal, Self, cast

from pydantic import ConfigDict, Field, ValidationError, model_validator

from agentgym_envs.core import Record
from agentgym_envs.endpoints.budget import Budget, shared_budget
from agentgym_envs.options import PRIVATE
from agentgym_envs.social.tasks import FamiliesOption
from agentgym_envs.sotopia.models.judge import JudgeModel
from agentgym_envs.sotopia.models.partner import PartnerModel
from agentgym_envs.sotopia.protocol.conversation import Order, StaleRule
from agentgym_envs.sotopia.protocol.dimensions import SOTOPIA, Dimension
from agentgym_envs.sotopia.protocol.views import View

PartnerKind = Literal["rule", "openai", "policy", "replay", "human"]
JudgeKind = Literal["verify", "openai", "replay", "none"]
Form = Literal["json", "text"]
"""Form of an agent's messages."""
RewardMix = Literal["goal", "overall", "product"]
POLICY: Final = "policy"
"""Name of the model of a partner `policy` that is given none: a policy service has one model."""
EndpointTable = str | dict[str, Any]
"""Name of a model, or all fields of its endpoint: a table, or a JSON object as text."""


class Options(Record):
    """Options, checked together. Raises `ValueError`, in one line: see `of`."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    view: View = "relationship"
    """Description of the partner's character that the agent reads."""
    actions: Form = "json"
    """`json`: `{"action_type", "argument"}`; `text`: words, `[action] ...`, `left the conversation`."""
    observation: Literal["turns", "prompt"] = "turns"
    """`turns`: what is new to the seat; `prompt`: the whole message for a model, as the package writes it."""
    order: Order = "round-robin"
    """Order of turns."""
    max_turns: int = Field(default=20, ge=1, le=1000)
    """Steps of a conversation: in `round-robin`, utterances of both together."""
    max_stale: int = Field(default=2, ge=0, le=1000)
    """A longer run of `none` ends the conversation."""
    stale_rule: StaleRule | None = None
    """Turns without an action that count for `max_stale`: all (`package`, the default of published
    scenarios), or those of seats that may act (`own`, the default of generated ones).
    """
    seat: Literal[0, 1] = 0
    """Seat of the agent in published scenarios; a generated task has its own."""
    families: FamiliesOption = ""

    partner: PartnerKind | None = None
    """By default: `openai` with `partner_model`, `replay` with `replay`, and otherwise `rule`. `policy`: a
    policy served at `partner_url`; `human`: somebody in a session of the other seat.
    """
    partner_model: EndpointTable | None = Field(default=None, json_schema_extra=PRIVATE)
    """Name of the partner's model, or all fields of its endpoint as a JSON object."""
    partner_url: str | None = Field(default=None, json_schema_extra=PRIVATE)
    """Base address of the partner's endpoint, for example `http://127.0.0.1:8000/v1`."""
    partner_temperature: float = Field(default=0.7, ge=0)
    """Sampling temperature of the partner's model."""
    partner_key_env: str = Field(default="OPENAI_API_KEY", json_schema_extra=PRIVATE)
    """Environment variable with the key of the partner's endpoint."""
    partner_cache: bool = False
    """Whether equal requests have one answer."""
    partner_format: Literal["plain", "react", "modes"] = "plain"
    """Format of the messages of a partner `policy`."""
    replay: str | None = Field(default=None, json_schema_extra=PRIVATE)
    """File of recorded episodes, whose actions the partner repeats."""

    judge: JudgeKind | None = None
    """By default: `openai` with `judge_model`, `replay` with `judge_replay`, and otherwise `verify`."""
    judge_model: EndpointTable | None = Field(default=None, json_schema_extra=PRIVATE)
    """Name of the judge's model, or all fields of its endpoint as a JSON object."""
    judge_url: str | None = Field(default=None, json_schema_extra=PRIVATE)
    """Base address of the judge's endpoint."""
    judge_temperature: float = Field(default=0.0, ge=0)
    """Sampling temperature of the judge, which is always sent."""
    judge_key_env: str = Field(default="OPENAI_API_KEY", json_schema_extra=PRIVATE)
    """Environment variable with the key of the judge's endpoint."""
    judge_samples: int = Field(default=1, ge=1, le=32)
    """Judgements of each conversation."""
    judge_aggregate: Literal["mean", "median"] = "mean"
    """Combination of several judgements."""
    judge_cache: bool | None = None
    """Whether equal requests to the judge have one answer; by default at temperature 0."""
    judge_replay: str | None = Field(default=None, json_schema_extra=PRIVATE)
    """File of recorded episodes, whose scores the judge repeats."""
    dimensions: str = "sotopia"
    """`sotopia`: all seven; or names separated by commas."""

    timeout_s: float = Field(default=60.0, gt=0)
    """Limit of one request to an endpoint."""
    episode_timeout_s: float | None = Field(default=None, gt=0)
    """Limit of an episode by the clock, after which no model is waited for."""
    retries: int = Field(default=2, ge=0, le=10)
    """Further attempts after a failed or useless answer."""
    concurrency: int = Field(default=64, ge=1, le=4096)
    """Requests at once to each endpoint."""
    budget: str | None = None
    """Budget of one process for the endpoints of partner and judge together: `2.50usd`, `100000tokens`."""

    reward: RewardMix | None = None
    """Scores of which the reward is made; by default `product` for generated tasks, `goal` for published
    scenarios.
    """
    unjudged: str | None = Field(default=None, json_schema_extra=PRIVATE)
    """File to which conversations are appended that a fault leaves without scores; by default
    `sotopia/unjudged.jsonl` in the data home, or in the folder of temporary files if that is read-only.
    """

    @staticmethod
    def of(given: Mapping[str, Any]) -> "Options":
        """The options of keyword arguments. Raises `ValueError`, in one line that names the option."""
        if unknown := sorted(given.keys() - Options.model_fields.keys()):
            known = ", ".join(Options.model_fields)
            raise ValueError(f"sotopia has no option {unknown[0]!r}; there are: {known}")
        return _validated(_Given(repr(sorted(given.items())), given))

    @property
    def partner_kind(self) -> PartnerKind:
        """The partner that plays beside one agent."""
        if self.partner is not None:
            return self.partner
        return "openai" if self.partner_model is not None else "replay" if self.replay else "rule"

    @property
    def judge_kind(self) -> JudgeKind:
        """Kind of judge of an episode."""
        if self.judge is not None:
            return self.judge
        return "openai" if self.judge_model is not None else "replay" if self.judge_replay else "verify"

    @property
    def partner_waits(self) -> bool:
        """Whether the partner is behind an endpoint."""
        return self.partner_kind in ("openai", "policy")

    @property
    def judge_waits(self) -> bool:
        """Whether the judge is behind an endpoint."""
        return self.judge_kind == "openai"

    @property
    def partner_endpoint(self) -> PartnerModel:
        """Endpoint of the partner `openai` or `policy`."""
        more = {"temperature": self.partner_temperature, "api_key_env": self.partner_key_env}
        return PartnerModel.of(self._fields("partner", more))

    @property
    def judge_endpoint(self) -> JudgeModel:
        """Endpoint of the judge `openai`."""
        more = {
            "temperature": self.judge_temperature,
            "api_key_env": self.judge_key_env,
            "samples": self.judge_samples,
            "aggregate": self.judge_aggregate,
        }
        return JudgeModel.of(self._fields("judge", more))

    @property
    def endpoint_budget(self) -> Budget | None:
        """Budget of this process for the endpoints of partner and judge; None without a limit."""
        if self.budget is None:
            return None
        partner = [self.partner_endpoint] if self.partner_waits else []
        return shared_budget(self.budget, [*partner, *([self.judge_endpoint] if self.judge_waits else [])])

    @property
    def scored(self) -> tuple[Dimension, ...]:
        """Dimensions that the judge scores, in their order."""
        names = _names(self.dimensions)
        return SOTOPIA if names == ["sotopia"] else tuple(one for one in SOTOPIA if one.name in names)

    @model_validator(mode="after")
    def _fit(self) -> Self:
        self._check_roles()
        self._check_limits()
        known = [one.name for one in SOTOPIA]
        names = _names(self.dimensions)
        if names != ["sotopia"] and (wrong := [name for name in names or [""] if name not in known]):
            raise ValueError(f"dimensions: no {wrong[0]!r}; there are: sotopia, {', '.join(known)}")
        if self.observation == "prompt" and self.actions != "json":
            raise ValueError("observation=prompt asks for actions=json")
        self._check_reward(names)
        return self

    def _check_roles(self) -> None:
        """Check that partner and judge have what they need, and nothing that they do not use."""
        for role, option in (("partner", "replay"), ("judge", "judge_replay")):
            kind, file = getattr(self, f"{role}_kind"), getattr(self, option)
            if kind == "replay" and not file:
                raise ValueError(f"{role}=replay needs {option}=FILE of recorded episodes")
            if kind != "replay" and file:
                raise ValueError(f"{option} goes with {role}=replay, not with {role}={kind}")
        for role, kind in (("partner", self.partner_kind), ("judge", self.judge_kind)):
            model, url = getattr(self, f"{role}_model"), getattr(self, f"{role}_url")
            if kind == "openai" and model is None:
                raise ValueError(f"{role}=openai needs {role}_model=NAME and {role}_url=URL")
            if kind == "policy" and url is None and not isinstance(model, dict):
                raise ValueError(
                    f"{role}=policy needs {role}_url=URL of a policy that `agentevol serve` serves"
                )
            if kind not in ("openai", "policy") and (model is not None or url is not None):
                raise ValueError(f"{role}_model and {role}_url go with {role}=openai, not with {role}={kind}")
        _ = self.partner_waits and self.partner_endpoint
        _ = self.judge_waits and self.judge_endpoint

    def _check_limits(self) -> None:
        """Check what limits the endpoints; without one, there would be nothing to limit."""
        for option in ("budget", "episode_timeout_s"):
            if getattr(self, option) is not None and not (self.partner_waits or self.judge_waits):
                raise ValueError(f"{option} is of models: give partner_model and partner_url, or the judge's")
        _ = self.endpoint_budget

    def _check_reward(self, names: list[str]) -> None:
        is_judged = self.judge_kind in ("openai", "replay")
        if self.reward == "overall" and not (is_judged and names == ["sotopia"]):
            raise ValueError("reward=overall needs all seven dimensions: judge=openai, dimensions=sotopia")
        if is_judged and not any(one.name == "goal" for one in self.scored):
            raise ValueError(f"dimensions={self.dimensions!r} has no goal, from which the reward is computed")

    def _fields(self, role: str, more: Mapping[str, Any]) -> dict[str, Any]:
        """The fields of an endpoint: those of its table, and the options for what the table leaves out."""
        model, url = getattr(self, f"{role}_model"), getattr(self, f"{role}_url")
        if model is None:
            model = POLICY
        shared = {"timeout_s": self.timeout_s, "retries": self.retries, "concurrency": self.concurrency}
        if isinstance(model, str) and not model.lstrip().startswith("{"):
            if url is None:
                raise ValueError(f"{role}_model={model!r} needs {role}_url, such as http://127.0.0.1:8000/v1")
            return {**shared, **more, "model": model, "base_url": url}
        table = _parsed(role, model)
        return {**shared, **more, **({} if url is None else {"base_url": url}), **table}


def _parsed(role: str, model: Any) -> dict[str, Any]:
    """The table of an endpoint, given as one or as JSON."""
    try:
        found = json.loads(model) if isinstance(model, str) else model
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise ValueError(f"{role}_model is neither a name nor a JSON object")
    return cast("dict[str, Any]", found)


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


@dataclass(frozen=True)
class _Given:
    """Keyword arguments, which are equal if they are written alike."""

    written: str
    fields: Mapping[str, Any] = field(compare=False)


@lru_cache(maxsize=64)
def _validated(given: _Given) -> Options:
    """The options; a server makes an environment for each episode, and all have the same."""
    try:
        return Options.model_validate(dict(given.fields))
    except ValidationError as cause:
        error = cause.errors()[0]
        place = f"{error['loc'][0]}={repr(error['input'])[:80]}: " if error["loc"] else ""
        raise ValueError(f"sotopia: {place}{error['msg'].removeprefix('Value error, ')}") from None
