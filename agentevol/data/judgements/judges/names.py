"""Judges by name: `rule`, `rule:moves`, `openai:NAME`, `openai:NAME@URL`, `replay:FILE`.

A file of prices has US dollars of a million tokens by model: {"NAME": {"prompt": 2.5, "completion": 10}}.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import Field, TypeAdapter, ValidationError

from agentevol.config.urls import KEY_VARIABLE, openai_url
from agentevol.core.errors import ConfigError
from agentevol.data.judgements.conversations import Conversations
from agentevol.data.judgements.judges.endpoint import EndpointJudge
from agentevol.data.judgements.judges.interface import ItemJudge
from agentevol.data.judgements.judges.replay import ReplayJudge
from agentevol.data.judgements.judges.rules import RuleJudge
from agentgym_envs.core import Record
from agentgym_envs.endpoints.budget import Budget
from agentgym_envs.endpoints.cache import AnswerCache, StoredCache
from agentgym_envs.sotopia.models.judge import JudgeModel

FORMS = "rule, rule:moves, openai:NAME, openai:NAME@URL or replay:FILE"


class Price(Record):
    """Price of a model in US dollars of a million tokens."""

    prompt: float = Field(ge=0, allow_inf_nan=False)
    completion: float = Field(ge=0, allow_inf_nan=False)


_PRICES: TypeAdapter[dict[str, Price]] = TypeAdapter(dict[str, Price])


@dataclass(frozen=True)
class ModelSettings:
    """Settings of all judges that are models."""

    url: str = ""
    """Address of the endpoint; "" is that of the environment variable, or OpenAI's."""
    api_key_env: str = KEY_VARIABLE
    temperature: float = 0.0
    max_tokens: int = 2048
    timeout_s: float = 60.0
    retries: int = 2
    concurrency: int = 64
    structured: bool = False
    prices: Mapping[str, Price] = field(default_factory=dict[str, Price])
    cache: Path | None = None
    """Folder of answers; None keeps those of a temperature of 0 in memory."""

    def model(self, name: str, url: str = "") -> JudgeModel:
        """The model of this name. Raises `ConfigError` for an address that is none."""
        price = self.prices.get(name)
        return JudgeModel(
            base_url=openai_url(url or self.url),
            model=name,
            temperature=self.temperature,
            max_tokens=self.max_tokens,
            timeout_s=self.timeout_s,
            retries=self.retries,
            concurrency=self.concurrency,
            structured=self.structured,
            prompt_price=None if price is None else price.prompt,
            completion_price=None if price is None else price.completion,
            api_key_env=self.api_key_env,
        )

    def answers(self) -> AnswerCache | None:
        """Cache of answers; None where equal requests are to have answers of their own."""
        if self.cache is not None:
            return StoredCache(self.cache)
        return AnswerCache() if self.temperature == 0 else None


def judges_named(
    names: list[str], conversations: Conversations, settings: ModelSettings, budget: Budget | None = None
) -> list[ItemJudge]:
    """Judges of these names. Raises `ConfigError`; for files of a replay `SotopiaDataError`, `OSError`."""
    cache = settings.answers()
    found = [_named(name, conversations, settings, budget, cache) for name in names]
    told = [one.name for one in found]
    if doubled := [name for name in told if told.count(name) > 1]:
        raise ConfigError(f"two judges are named {doubled[0]!r}")
    return found


def _named(
    text: str,
    conversations: Conversations,
    settings: ModelSettings,
    budget: Budget | None,
    cache: AnswerCache | None,
) -> ItemJudge:
    kind, _, rest = text.partition(":")
    if text == "rule" or text == "rule:moves":
        return RuleJudge(conversations, "moves" if rest else "words")
    if kind == "openai" and rest:
        name, at, address = rest.rpartition("@http")
        model = settings.model(name, f"http{address}") if at else settings.model(rest)
        return EndpointJudge(model, conversations, cache=cache, budget=budget)
    if kind == "replay" and rest:
        return ReplayJudge(Path(rest))
    raise ConfigError(f"no judge {text!r}: give {FORMS}")


def read_prices(file: Path) -> dict[str, Price]:
    """Prices of a file by model. Raises `ConfigError`, `OSError`."""
    try:
        return _PRICES.validate_python(json.loads(file.read_text(encoding="utf-8")))
    except ValidationError as cause:
        first = cause.errors()[0]
        raise ConfigError(f"{file}: {'.'.join(map(str, first['loc']))}: {first['msg']}") from None
    except ValueError:
        raise ConfigError(f"{file} is no JSON") from None
