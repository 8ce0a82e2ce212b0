"""Configuration of the environment and of the players of its seats: `EnvironmentConfig`."""

import re
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, field_validator, model_validator

from agentevol.config.sections.section import Section
from agentevol.core.action_formats.registry import ACTION_FORMATS
from agentgym_envs.registry import UnknownEnvironment, with_argument

Options = dict[str, str | int | float | bool]
"""Options of an environment by name."""
SELF_PLAY = "policy"
"""Partner in episodes with several seats: the policy itself."""
SCRIPTED_PARTNERS = ("random", "idle", "spray")
"""Partners without weights (`agentevol.engines.scripted`)."""

_SEVERAL = re.compile(r"[a-z][\w-]*(?::[^,]*)?(?:\s*,\s*[a-z][\w-]*(?::[^,]*)?)+", re.IGNORECASE)
"""Names, each perhaps with an argument, between commas; a comma in the argument of one name is none."""


def names_in(name: str) -> tuple[str, ...]:
    """Names of environments in `environment.name`, with their arguments.

    > names_in("alfworld, questions:my.jsonl")
    ("alfworld", "questions:my.jsonl")
    """
    if not _SEVERAL.fullmatch(name.strip()):
        return (name,)
    return tuple(one.strip() for one in name.split(","))


class EnvironmentConfig(Section):
    """Environment of the run."""

    name: str = "alfworld"
    """Several names with commas are a mixed run (`mixture.*`)."""
    data: Literal["generated", "official"] = "generated"
    """Source of the tasks: the environment's own generator, or `agentevol data import`."""
    url: str | None = None
    """A running server; None starts one for this run."""
    workers: int = Field(default=0, ge=0)
    """Worker processes of the started server; 0 steps cheap environments on its event loop."""
    max_turns: int | None = Field(default=None, ge=1, le=10_000)
    """Maximum actions of an episode; None is the environment's own limit."""
    format: str = "plain"
    """Action format of the policy's messages: `plain` is the action alone, `react` is
    `Thought: ... Action: ...`; one of another distribution, or `module:attribute`
    (`agentgym_envs.formats.ActionFormat`).
    """
    options: Options = Field(default_factory=dict[str, str | int | float | bool])
    """The environment's own options, for example `dialect`."""
    seats: int | None = Field(default=None, ge=1, le=64)
    """Seats of an episode that are played: all that the environment has (None), or 1, one agent with the
    environment's own partners.
    """
    partner: str = SELF_PLAY
    """Player of the seats beside the policy's, whose seat varies by task: `policy` (self-play: the policy in
    every seat), `random`, `idle`, `spray`, or a model as `base` names one (embedded engine only).
    """

    @model_validator(mode="before")
    @classmethod
    def _with_argument(cls, given: Any) -> Any:
        """`NAME:ARGUMENT` as the name and an option; of a file that is there, its absolute path."""
        if not isinstance(given, dict) or ":" not in str(given.get("name", "")):
            return given
        if len(names_in(str(given["name"]))) > 1:
            return given
        try:
            name, options = with_argument(str(given["name"]))
        except UnknownEnvironment as cause:
            raise ValueError(f"name: {cause}") from None
        for option, argument in options.items():
            if option in (given.get("options") or {}):
                raise ValueError(f"options.{option} is given twice: name = {given['name']!r} is one")
            options[option] = str(Path(argument).absolute()) if Path(argument).exists() else argument
        return {**given, "name": name, "options": {**(given.get("options") or {}), **options}}

    @property
    def names(self) -> tuple[str, ...]:
        """Name of every environment of the run."""
        return names_in(self.name)

    @property
    def partner_model(self) -> str:
        """Name of the partner's model: `starter` is that of this environment."""
        return f"starter:{self.name}" if self.partner == "starter" else self.partner

    @field_validator("format")
    @classmethod
    def _is_an_action_format(cls, value: str) -> str:
        return ACTION_FORMATS.checked(value)
