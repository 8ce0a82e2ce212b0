"""Command lines that lead on from a run."""

import json
import shlex
from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

from agentevol.config.files.merging import merged

NONE = (None, "null", "")
"""None in a run's configuration; a file has `null`."""


def evaluation_commands(
    settings: Mapping[str, Any], model: str, records: str, split: str = "test"
) -> list[str]:
    """`agentevol eval` of a model on the tasks that a run with these settings holds out: a command for each
    of its environments, with the environment in the name of its records where there are several.

    > evaluation_commands({"environment": {"name": "guess"}}, "better", "after.jsonl")
    ["agentevol eval --model better --env guess --records after.jsonl"]
    """
    mixture: Mapping[str, Any] = settings.get("mixture") or {}
    if not mixture:
        return [evaluation_command(settings, model, records, split)]
    found = list[str]()
    for (name, own), file in zip(mixture.items(), records_files(settings, records), strict=True):
        alone = merged(
            {section: settings.get(section, {}) for section in ("environment", "evaluate")},
            {section: _given(own.get(section, {})) for section in ("environment", "evaluate")},
            {"environment": {"name": name}},
        )
        own_split = alone["evaluate"].get("split") or "test"
        found.append(evaluation_command(alone, model, file, own_split))
    return found


def records_files(settings: Mapping[str, Any], records: str) -> list[str]:
    """Files of records of `evaluation_commands`."""
    place, names = PurePath(records), settings.get("mixture")
    if not names:
        return [records]
    return [str(place.with_name(f"{place.stem}-{name}{place.suffix}")) for name in names]


def evaluation_command(settings: Mapping[str, Any], model: str, records: str, split: str = "test") -> str:
    """`agentevol eval` of a model on the tasks that a run in one environment with these settings holds out.

    > evaluation_command({"environment": {"name": "guess"}}, "better", "after.jsonl")
    "agentevol eval --model better --env guess --records after.jsonl"
    """
    environment, evaluate = settings.get("environment", {}), settings.get("evaluate", {})
    options = {
        "model": model,
        "env": environment.get("name", "alfworld"),
        "split": "" if split == "test" else split,
        "difficulty": evaluate.get("difficulty"),
        "episodes": evaluate.get("episodes"),
        "max-turns": environment.get("max_turns"),
        "temperature": evaluate.get("temperature") or "",
        "format": "" if environment.get("format") == "plain" else environment.get("format"),
        "partner": _partner(environment),
        "records": records,
    }
    given = [word for name, value in options.items() if value not in NONE for word in (f"--{name}", value)]
    given += [
        f"environment.options.{name}={_plain(one)}" for name, one in environment.get("options", {}).items()
    ]
    return command("eval", *given)


def _given(section: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in section.items() if value not in NONE}


def command(*words: object) -> str:
    """A command line of `agentevol`, quoted for a shell."""
    return shlex.join(["agentevol", *map(str, words)])


def _partner(environment: Mapping[str, Any]) -> str:
    """Player of the other seats, as `agentevol eval` names it; empty for self-play."""
    partner = environment.get("partner", "policy")
    if partner == "policy":
        return "environment" if environment.get("seats") == 1 else ""
    return f"starter:{environment.get('name')}" if partner == "starter" else partner


def _plain(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)
