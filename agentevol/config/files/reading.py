"""Reading of configurations: TOML files, and overrides `key.path=value`."""

import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from agentevol.core.errors import ConfigError

SHORT = {"engine": "engine.name", "env": "environment.name", "feedback": "feedback.sources"}
"""Short keys of overrides, by the full key."""

NULL = "null"
"""Notation of None in files and overrides."""


def read_toml(path: Path) -> dict[str, Any]:
    """Nested values of a file. Raises `ConfigError` with one line that names it."""
    try:
        return _text_as_nulls(tomllib.loads(path.read_text(encoding="utf-8")))
    except OSError as cause:
        raise ConfigError(f"cannot read the configuration {path}: {cause.strerror}") from cause
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as cause:
        raise ConfigError(f"{path} is not valid TOML: {cause}") from cause


def section_of(overrides: Sequence[str], section: str) -> tuple[dict[str, Any], list[str]]:
    """The values that overrides `section.KEY=VALUE` give, by key, and the other overrides."""
    values, others = dict[str, Any](), list[str]()
    for override in overrides:
        if override.strip().startswith(f"{section}."):
            apply_override(values, override.strip().removeprefix(f"{section}."))
        else:
            others.append(override)
    return values, others


def apply_override(values: dict[str, Any], override: str) -> None:
    """Set the value of `key.path=value` in nested values. Raises `ConfigError`."""
    key, equals, text = override.partition("=")
    if not equals or not key.strip():
        raise ConfigError(f"an override has the form key.path=value, not {override!r}")
    *sections, last = SHORT.get(key.strip(), key.strip()).split(".")
    for section in sections:
        values = values.setdefault(section, {})
        if not isinstance(values, dict):
            raise ConfigError(f"{key}: {section} is not a section")
    values[last] = _literal(text)


def _literal(text: str) -> Any:
    """A TOML value where the text is one (numbers, true, quoted strings, lists), `null`, or else the bare
    text.
    """
    if text.strip() == NULL:
        return None
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def nulls_as_text(value: Any) -> Any:
    """Nested values with None as `NULL`, since TOML has no null."""
    if isinstance(value, dict):
        return {key: nulls_as_text(item) for key, item in value.items()}
    return NULL if value is None else value


def _text_as_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _text_as_nulls(item) for key, item in value.items()}
    return None if value == NULL else value
