"""Form of an environment's options, and the setup that a person fills in."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from agentevol.config.run import load
from agentevol.config.sections.environment import EnvironmentConfig
from agentevol.core.errors import AgentEvolError
from agentevol.ui.errors import BadQuery
from agentevol.ui.forms import Form
from agentevol.ui.playground.setups import Setup
from agentgym_envs.options import EnvironmentOption, OptionValue, options_of, shown
from agentgym_envs.registry import EnvironmentUnavailable, UnknownEnvironment, environment_class

PREFIX = "option."
"""Beginning of the names of fields."""
MOST_CHARACTERS = 8_192
"""Characters of one value: it is an argument of the server's command line."""


@dataclass(frozen=True)
class OptionField:
    """A field of the form."""

    option: EnvironmentOption
    value: str = ""
    """Text that was typed; empty for the default, and for a private one."""
    error: str = ""
    is_given: bool = False
    """True for a private one that is set, which is not shown."""
    usual: str = ""
    """Value that runs have by default, if it is another one."""

    @property
    def name(self) -> str:
        """Name of the field."""
        return PREFIX + self.option.name

    @property
    def default(self) -> str:
        """The default as a text; empty if there is none."""
        return "" if self.option.default is None else shown(self.option.default)

    @property
    def choices(self) -> tuple[str, ...]:
        """Texts that can be chosen; none where any can be typed."""
        return ("true", "false") if self.option.kind == "switch" else tuple(map(shown, self.option.choices))


class BadOptions(Exception):
    """Options that an environment cannot have; `errors` has a line for each, by name."""

    def __init__(self, errors: Mapping[str, str]) -> None:
        super().__init__("; ".join(f"{name}: {told}" for name, told in errors.items()))
        self.errors = errors


def read_setup(env: str, form: Form, *, private: bool) -> Setup:
    """The setup that a form asks for; empty fields and defaults are left out.

    Private options only where `private`. Raises `BadOptions`, and `BadQuery` for an option that was not
    offered.
    """
    offered = _offered(env, private=private)
    values: dict[str, OptionValue] = {}
    errors: dict[str, str] = {}
    for field, text in form.items():
        if not field.startswith(PREFIX):
            continue
        name = field.removeprefix(PREFIX)
        if name not in offered:
            raise BadQuery(
                f"{env} has no option {name[:80]!r} that can be set here.", "Go back, and mend it."
            )
        try:
            values[name] = _read(offered[name], text)
        except ValueError as cause:
            errors[name] = _told(offered[name], text, cause)
    if errors:
        raise BadOptions(errors)
    given = {name: value for name, value in sorted(values.items()) if value != offered[name].default}
    hidden = frozenset(name for name in given if offered[name].is_private)
    return Setup(env, tuple(given.items()), hidden)


def fields_of_setup(setup: Setup, *, private: bool) -> list[OptionField]:
    """Fields that have the options of a setup."""
    given = {name: shown(value) for name, value in setup.options}
    return _fields(setup.env, given, {}, private=private)


def fields_of_form(env: str, form: Form, errors: Mapping[str, str], *, private: bool) -> list[OptionField]:
    """Fields that have what was typed, and what is wrong with it."""
    given = {name.removeprefix(PREFIX): text for name, text in form.items() if name.startswith(PREFIX)}
    return _fields(env, given, errors, private=private)


@lru_cache
def usual(env: str) -> EnvironmentConfig:
    """The environment as runs have it by default: some set options, or a limit of turns."""
    try:
        return load(None, [f"env={env}"]).environment
    except AgentEvolError:
        return EnvironmentConfig(name=env)


def _fields(
    env: str, given: Mapping[str, str], errors: Mapping[str, str], *, private: bool
) -> list[OptionField]:
    of_runs = usual(env).options
    return [
        OptionField(
            one,
            "" if one.is_private else given.get(name, ""),
            errors.get(name, ""),
            one.is_private and name in given,
            shown(of_runs[name]) if name in of_runs and of_runs[name] != one.default else "",
        )
        for name, one in _offered(env, private=private).items()
    ]


def _offered(env: str, *, private: bool) -> dict[str, EnvironmentOption]:
    try:
        found = options_of(environment_class(env))
    except (UnknownEnvironment, EnvironmentUnavailable):
        return {}  # its page says why
    return {name: one for name, one in found.items() if private or not one.is_private}


def _read(option: EnvironmentOption, text: str) -> OptionValue:
    if len(text) > MOST_CHARACTERS:
        raise ValueError(f"it has {len(text):,} characters, of at most {MOST_CHARACTERS:,}")
    text = text.strip()
    if not text.isprintable():
        raise ValueError("it has a line break, or another character that cannot be printed")
    return option.read(text)


def _told(option: EnvironmentOption, text: str, cause: ValueError) -> str:
    """One line about a wrong value, without it where it is private."""
    line = " ".join(str(cause).split())[:300].rstrip(".")
    line = line[:1].upper() + line[1:]
    return (
        Setup("", ((option.name, text),), frozenset({option.name})).masked(line)
        if option.is_private
        else line
    ) + "."
