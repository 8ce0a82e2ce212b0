"""Configuration of an evaluation suite: several models on several environments, in one TOML file.

name = "small"
models = ["expert", "random"]
episodes = 20
trials = 2

[[environments]]
env = "alfworld"
split = "valid"
options = {admissible = true}
"""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import tomli_w
from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    JsonValue,
    ValidationError,
    field_validator,
    model_validator,
)

from agentevol.config.files.reading import apply_override, read_toml
from agentevol.config.files.settings import flattened
from agentevol.config.sections.alternatives import complaint
from agentevol.config.sections.section import Level, Section
from agentevol.core.action_formats.registry import ACTION_FORMATS
from agentevol.core.errors import ConfigError

MOST_NAME = 200


def _is_name(text: str) -> str:
    if not 0 < len(text) <= MOST_NAME or not text.isprintable() or text != text.strip():
        raise ValueError(f"a name has 1 to {MOST_NAME} printable characters, without spaces at its ends")
    return text


Name = Annotated[str, AfterValidator(_is_name)]
"""Name in a report."""


def _named_by(key: str) -> BeforeValidator:
    """Reads a text as the value of `key`, which is the name by default, too."""

    def read(given: Any) -> Any:
        values = {key: given} if isinstance(given, str) else given
        return {"name": values[key], **values} if isinstance(values, dict) and key in values else values

    return BeforeValidator(read)


class SuiteModel(Section):
    """A model that is evaluated."""

    name: Name
    """Name in the report; by default that of the model."""
    model: str
    """As `agentevol eval --model` takes it."""
    format: str = "plain"
    """Action format of its messages."""
    temperature: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    """None is the suite's."""
    max_new_tokens: int | None = Field(default=None, ge=1)
    engine: dict[str, JsonValue] = Field(default_factory=dict[str, JsonValue])
    """Settings of its engine, as `engine.*` of a run."""

    @field_validator("format")
    @classmethod
    def _is_an_action_format(cls, value: str) -> str:
        return ACTION_FORMATS.checked(value)

    @property
    def overrides(self) -> list[str]:
        """Settings of the engine as `engine.KEY=VALUE`."""
        return [f"engine.{key}={value}" for key, value in flattened(self.engine)]


class SuiteEnvironment(Section):
    """An environment in which all models are evaluated, with its tasks."""

    name: Name
    """Name in the report; by default that of the environment."""
    env: str
    split: str = "test"
    difficulty: Level | None = None
    """Only tasks of this level."""
    episodes: int | None = Field(default=None, ge=1)
    """Number of tasks; None is the suite's."""
    max_turns: int | None = Field(default=None, ge=1, le=10_000)
    options: dict[str, str | int | float | bool] = Field(default_factory=dict[str, str | int | float | bool])
    """The environment's own options."""
    url: str | None = None
    """A running server, which has options of its own; None starts one."""
    partner: str | None = None
    """Player of the other seats, where there are several: `self`, or `environment` for its own partner."""

    @field_validator("partner")
    @classmethod
    def _is_no_model(cls, value: str | None) -> str | None:
        if value not in (None, "self", "environment", "rule"):
            raise ValueError(
                "a partner in a suite is self or environment; for a model: agentevol eval --partner"
            )
        return value

    @model_validator(mode="after")
    def _options_have_an_effect(self) -> "SuiteEnvironment":
        if self.url is not None and self.options:
            raise ValueError("options have no effect with url: the server has its own")
        return self


class SuiteConfig(Section):
    """An evaluation suite: each model plays the same tasks with the same seeds."""

    name: Name = "suite"
    """Name of the suite; by default that of its file."""
    models: tuple[Annotated[SuiteModel, _named_by("model")], ...] = Field(min_length=1)
    environments: tuple[Annotated[SuiteEnvironment, _named_by("env")], ...] = Field(min_length=1)
    episodes: int | None = Field(default=None, ge=1)
    """Number of tasks of each environment, evenly spread over the split; None is all."""
    trials: int = Field(default=1, ge=1)
    """Episodes of each task, with other seeds."""
    seed: int = Field(default=0, ge=0, lt=2**31)
    temperature: float = Field(default=0.0, ge=0, allow_inf_nan=False)
    """Sampling temperature; 0 is greedy."""
    sample: int = Field(default=0, ge=0)
    """Number of episodes that people shall rate."""

    @field_validator("models", "environments")
    @classmethod
    def _have_different_names(
        cls, value: tuple[SuiteModel, ...] | tuple[SuiteEnvironment, ...]
    ) -> tuple[SuiteModel, ...] | tuple[SuiteEnvironment, ...]:
        counts = Counter(one.name for one in value)
        doubled = [name for name, count in counts.items() if count > 1]
        if doubled:
            raise ValueError(f"{doubled[0]!r} is there twice: give each a name of its own")
        return value

    def to_toml(self) -> str:
        """The whole configuration; what is None is left out."""
        return tomli_w.dumps(self.model_dump(mode="json", exclude_none=True))


def load_suite(path: Path, overrides: Sequence[str] = ()) -> SuiteConfig:
    """The suite in a file, with overrides `key=value`. Raises `ConfigError` with one line that names the key
    at fault.
    """
    values = {"name": path.stem, **read_toml(path)}
    for override in overrides:
        apply_override(values, override)
    try:
        return SuiteConfig.model_validate(values)
    except ValidationError as cause:
        told = "; ".join(complaint(SuiteConfig, error) for error in cause.errors())
        raise ConfigError(f"{path}: {told}") from cause
