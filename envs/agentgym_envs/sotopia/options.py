"""Options of the environment `sotopia`: `Options`, and the endpoints that they name."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Literal, Self, cast

from pydantic import Field, ValidationError, model_validator

from agentgym_envs.core import Record
from agentgym_envs.sotopia.models.judge import JudgeModel
from agentgym_envs.sotopia.models.partner import PartnerModel
from agentgym_envs.sotopia.protocol.conversation import Order, StaleRule
from agentgym_envs.sotopia.protocol.dimensions import SOTOPIA, Dimension
from agentgym_envs.sotopia.protocol.views import View

PartnerKind = Literal["rule", "openai", "replay"]
JudgeKind = Literal["verify", "openai", "none"]
RewardMix = Literal["goal", "overall", "product"]
EndpointTable = str | dict[str, Any]
"""Name of a model, or all fields of its endpoint: a table, or a JSON object as text."""


class Options(Record):
    """Options, checked together. Raises `ValueError`, in one line: see `of`."""

    view: View = "relationship"
    """What the agent reads of its partner's character."""
    actions: Literal["json", "text"] = "json"
    """`json`: `{"action_type", "argument"}`; `text`: words, `[action] ...`, `left the conversation`."""
    observation: Literal["turns", "prompt"] = "turns"
    """`turns`: what is new to the seat; `prompt`: the whole message for a model, as the package writes it."""
    order: Order = "round-robin"
    max_turns: int = Field(default=20, ge=1, le=1000)
    """Steps of a conversation: in `round-robin`, utterances of both together."""
    max_stale: int = Field(default=2, ge=0, le=1000)
    """A longer run of `none` ends the conversation."""
    stale_rule: StaleRule | None = None
    """None: `package` for published scenarios, `own` for generated ones."""
    seat: Literal[0, 1] = 0
    """Seat of the agent in published scenarios; a generated task has its own."""
    families: str = ""
    """Families of generated tasks, separated by commas; all by default."""

    partner: PartnerKind | None = None
    """None: `openai` with `partner_model`, `replay` with `replay`, and otherwise `rule`."""
    partner_model: EndpointTable | None = None
    partner_url: str | None = None
    """Base address, for example `http://127.0.0.1:8000/v1`; `judge_url` too."""
    partner_temperature: float = Field(default=0.7, ge=0)
    partner_key_env: str = "OPENAI_API_KEY"
    """Environment variable with the key; `judge_key_env` too."""
    partner_cache: bool = False
    """Whether equal requests have one answer."""
    replay: str | None = None
    """File of recorded episodes, whose actions the partner repeats."""

    judge: JudgeKind | None = None
    """None: `openai` with `judge_model`, and otherwise `verify`."""
    judge_model: EndpointTable | None = None
    judge_url: str | None = None
    judge_temperature: float = Field(default=0.0, ge=0)
    judge_key_env: str = "OPENAI_API_KEY"
    judge_samples: int = Field(default=1, ge=1, le=32)
    judge_aggregate: Literal["mean", "median"] = "mean"
    judge_cache: bool | None = None
    """None: at temperature 0."""
    dimensions: str = "sotopia"
    """`sotopia`: all seven; or names separated by commas."""

    timeout_s: float = Field(default=60.0, gt=0)
    """Limit of one request to an endpoint."""
    retries: int = Field(default=2, ge=0, le=10)
    """Further attempts after a failed or useless answer."""
    concurrency: int = Field(default=64, ge=1, le=4096)
    """Requests at once to each endpoint."""

    reward: RewardMix | None = None
    """None: `product` for generated tasks, `goal` for published scenarios."""
    unjudged: str | None = None
    """File to which conversations are appended that a fault leaves without scores; None:
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
        return self.judge or ("openai" if self.judge_model is not None else "verify")

    @property
    def partner_endpoint(self) -> PartnerModel:
        """Endpoint of the partner `openai`."""
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
    def scored(self) -> tuple[Dimension, ...]:
        """Dimensions that the judge `openai` scores, in their order."""
        names = _names(self.dimensions)
        return SOTOPIA if names == ["sotopia"] else tuple(one for one in SOTOPIA if one.name in names)

    @model_validator(mode="after")
    def _fit(self) -> Self:
        self._check_roles()
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
        if self.partner_kind == "replay" and not self.replay:
            raise ValueError("partner=replay needs replay=FILE of recorded episodes")
        for role, kind in (("partner", self.partner_kind), ("judge", self.judge_kind)):
            model, url = getattr(self, f"{role}_model"), getattr(self, f"{role}_url")
            if kind == "openai" and model is None:
                raise ValueError(f"{role}=openai needs {role}_model=NAME and {role}_url=URL")
            if kind != "openai" and (model is not None or url is not None):
                raise ValueError(f"{role}_model and {role}_url go with {role}=openai, not with {role}={kind}")
        if self.partner_kind == "openai":
            _ = self.partner_endpoint
        if self.judge_kind == "openai":
            _ = self.judge_endpoint

    def _check_reward(self, names: list[str]) -> None:
        if self.reward == "overall" and (self.judge_kind != "openai" or names != ["sotopia"]):
            raise ValueError("reward=overall needs all seven dimensions: judge=openai, dimensions=sotopia")
        if self.judge_kind == "openai" and not any(one.name == "goal" for one in self.scored):
            raise ValueError(f"dimensions={self.dimensions!r} has no goal, from which the reward is computed")

    def _fields(self, role: str, more: Mapping[str, Any]) -> dict[str, Any]:
        """The fields of an endpoint: those of its table, and the options for what the table leaves out."""
        model, url = getattr(self, f"{role}_model"), getattr(self, f"{role}_url")
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
