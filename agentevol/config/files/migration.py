"""Migration of a run's `config.toml` that an earlier version wrote, in which a section had the settings of
all its alternatives, or other names for its keys.

    > migrated({"rollout": {"mode": "synchronous", "max_staleness": 2}}, RunConfig)
    ({'rollout': {'mode': 'synchronous'}},
     ["rollout.max_staleness: left out, no setting of rollout 'synchronous'"])

A setting that the chosen alternative lacks had no effect: it is dropped where it stands at the default of
that time. Another value is refused, since somebody gave it and expected an effect.
"""

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

from agentevol.config.sections.alternatives import RENAMED, chosen
from agentevol.core.errors import ConfigError

_DEFAULTS: Mapping[str, Mapping[str, tuple[Any, ...]]] = {
    "engine": {
        "tensor_parallel": (1,),
        "colocated": (False,),
        "episodes": (None,),
        "cache_gib": (None,),
        "transfer": ("disk",),
        "lora": (False,),
        "url": (None,),
        "api_key_env": (None,),
    },
    "rollout": {"max_staleness": (2,), "in_flight": ("continue",)},
    "reward": {
        "function": (None,),
        "model": (None,),
        "refresh": (False,),
        "learning_rate": (3e-4,),
        "epochs": (1,),
        "options": ({},),
        "alpha": (0.0,),
        "beta": (1.0,),
        "caution": ({"combination": "lcb", "kappa": 1.0, "penalty": 0.1, "weights": {}},),
        "patience": (2, None),  # with reward.refresh it had to be null
    },
    "process": {
        "continuations": (0,),
        "pooled": (False,),
        "model": (None,),
        "heads": ({"outcome": 1.0},),
        "rules": ({},),
        "share": (0.25,),
        "states": (2,),
        "alpha": (1.0,),
        "beta": (0.5,),
        "discount": (1.0,),
        "learning_rate": (3e-4,),
        "epochs": (2,),
        "options": ({},),
    },
}
"""Values of settings that an alternative of a section may lack: the defaults of earlier versions."""

_ABSENT: Mapping[str, Mapping[str, Any]] = {
    "retained": {"data": None, "episodes": 1000, "sampling": "stratified"},
    "probe": {"data": None, "sequences": 200},
    "horizon": {"rounds": [], "every": 1, "success": None},
}
"""Sections that are absent now unless given, by their earlier defaults; the first setting is the one that
gave them an effect.
"""


def migrated(values: Mapping[str, Any], kind: type[BaseModel]) -> tuple[dict[str, Any], list[str]]:
    """Values of an earlier version's file in the form of the configuration `kind`, and a line for every
    section with dropped settings; the same values, and no line, for a file of this version.

    Raises `ConfigError` naming the settings that had no effect and are not at their defaults.
    """
    found, lines, refused = _renamed(values), list[str](), list[str]()
    for section, defaults in _DEFAULTS.items():
        given = found.get(section)
        if not isinstance(given, dict):
            continue
        tag, member = chosen(kind.model_fields[section], given)
        others = [key for key in given if key in defaults and key not in member.model_fields]
        refused += [f"{section}.{key} = {given[key]!r}" for key in others if given[key] not in defaults[key]]
        found[section] = {key: value for key, value in given.items() if key not in others}
        if others:
            named = ", ".join(f"{section}.{key}" for key in others)
            lines.append(f"{named}: left out, no setting of {section} {tag!r}")
    for section, defaults in _ABSENT.items():
        given = found.get(section)
        if not isinstance(given, dict) or not _is_off(given, defaults):
            continue
        refused += [f"{section}.{key} = {given[key]!r}" for key in given if given[key] != defaults.get(key)]
        found[section] = None
        lines.append(f"{section}.*: left out, {section}.{next(iter(defaults))} was not given")
    if refused:
        raise ConfigError(f"settings that had no effect in an earlier version: {', '.join(refused)}")
    return found, lines


def _renamed(values: Mapping[str, Any]) -> dict[str, Any]:
    """The same values under the present names of their keys."""
    found = dict(values)
    for old, new in RENAMED.items():
        section, key = old.split(".")
        given = found.get(section)
        if isinstance(given, dict) and key in given:
            found[section] = {
                (new.split(".")[1] if name == key else name): value for name, value in given.items()
            }
    return found


def _is_off(given: Mapping[str, Any], defaults: Mapping[str, Any]) -> bool:
    key = next(iter(defaults))
    return key in given and given[key] == defaults[key]
