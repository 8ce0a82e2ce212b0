"""Reading of files of profiles: `read_profiles`.

environments.json          scenarios: an object by key, a list, or JSON lines (.jsonl)
agents.json                characters
combos.json                combinations; the position in the list is the id of the task
hard_combo_indices.json    optional: positions of the hard combinations
relationships.jsonl        optional: how pairs of characters know each other

`STEMS` has the other names of these files. Constraints stay the text that they are, and are never evaluated.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar, cast

from pydantic import BaseModel, ValidationError

from agentgym_envs.import_folders import bounded_text
from agentgym_envs.sotopia.data.profile_set import (
    RESERVED,
    Combo,
    ProfileSet,
    RelationshipProfile,
    SotopiaDataError,
)
from agentgym_envs.sotopia.protocol.profiles import AgentProfile, EnvironmentProfile, Profile

Part = Literal["environments", "agents", "combos", "hard", "relationships"]
STEMS: dict[Part, tuple[str, ...]] = {
    "environments": ("environments", "environment_profiles"),
    "agents": ("agents", "agent_profiles"),
    "combos": ("combos", "env_agent_combo_storages"),
    "hard": ("hard_combo_indices",),
    "relationships": ("relationships", "relationship_profiles"),
}
"""Names of the file of each part without `.json` or `.jsonl`: those of AMPO, and of sotopia-space."""
OTHER_KEYS: dict[Part, dict[str, str]] = {
    "environments": {"env_id": "pk"},
    "agents": {"agent_id": "pk"},
    "combos": {"combo_id": "pk"},
    "relationships": {"agent_1_id": "agent1_id", "agent_2_id": "agent2_id"},
}
"""Other names of fields to those of the records."""
MAX_BYTES = 64 << 20
"""Bytes of a file: those of the source are far smaller."""

RecordT = TypeVar("RecordT", bound=BaseModel)
ProfileT = TypeVar("ProfileT", bound=Profile)


@dataclass(frozen=True)
class Row:
    """A record of a file, not validated yet."""

    place: str
    """File and number, for messages."""
    fields: dict[str, Any]
    key: str | None = None
    """Its key in an object of records."""


def read_profiles(source: Path, progress: Callable[[int], None] | None = None) -> ProfileSet:
    """The profiles of a folder; `progress` is called with the number of records read so far.

    Raises `SotopiaDataError` for the first record that is not valid, or whose references lead nowhere;
    `OSError` if a file cannot be read.
    """
    if not source.is_dir():
        raise SotopiaDataError(f"{source} is no folder")
    tell: Callable[[int], None] = progress or (lambda _: None)
    environments = _keyed(source, "environments", EnvironmentProfile)
    agents = _keyed(source, "agents", AgentProfile)
    tell(len(environments) + len(agents))
    combos = _keyed(source, "combos", Combo)
    _check_combos(combos.values(), environments, agents)
    relationships = [one for _, one in _records(source, "relationships", RelationshipProfile)]
    hard = _hard(source, len(combos))
    tell(len(environments) + len(agents) + len(combos) + len(relationships))
    return ProfileSet(
        environments={pk: one for pk, (_, one) in environments.items()},
        agents={pk: one for pk, (_, one) in agents.items()},
        combos=tuple(one for _, one in combos.values()),
        hard=hard,
        relationships=tuple(relationships),
    )


def find_file(source: Path, part: Part) -> Path | None:
    """The file of a part; raises `SotopiaDataError` if there are several."""
    names = [f"{stem}{end}" for stem in STEMS[part] for end in (".json", ".jsonl")]
    found = [name for name in names if (source / name).is_file()]
    if len(found) > 1:
        raise SotopiaDataError(f"{source} has both {found[0]} and {found[1]}")
    return source / found[0] if found else None


def parse_file(path: Path, sole: tuple[str, ...] = ()) -> Iterator[Row]:
    """The records of a file: JSON lines, a list, or an object by key; an object with one of the keys
    `sole` is itself a record.

    Raises `SotopiaDataError` for what is none of these.
    """
    for number, (key, value) in enumerate(_values(path, sole), start=1):
        place = f"{path.name}: record {number}"
        if not isinstance(value, dict):
            raise SotopiaDataError(f"{place} is no object")
        yield Row(place, cast("dict[str, Any]", value), key)


def first_problem(problem: ValidationError) -> str:
    """The first error of a validation on one line."""
    error = problem.errors()[0]
    return " ".join(f"{'.'.join(map(str, error['loc']))}: {error['msg']}".split())


def _values(path: Path, sole: tuple[str, ...]) -> Iterable[tuple[str | None, object]]:
    text = bounded_text(path, MAX_BYTES, SotopiaDataError, "utf-8-sig")
    if path.suffix == ".jsonl":
        lines = enumerate(text.split("\n"), start=1)
        return [
            (None, _parsed(line, f"{path.name}: line {number}")) for number, line in lines if line.strip()
        ]
    found = _parsed(text, path.name)
    if isinstance(found, list):
        return [(None, value) for value in cast("list[object]", found)]
    if isinstance(found, dict):
        by_key = cast("dict[str, object]", found)
        return [(None, by_key)] if any(name in by_key for name in sole) else list(by_key.items())
    raise SotopiaDataError(f"{path.name} has neither a list nor an object of records")


def _parsed(text: str, place: str) -> object:
    try:
        # A bare NaN, as some publishers write a missing constraint, stays text.
        return json.loads(text, parse_constant=str)
    except (ValueError, RecursionError) as error:
        reason = str(error) if isinstance(error, ValueError) else "it is nested too deeply"
        raise SotopiaDataError(f"{place} is not JSON: {reason}") from None


def _keyed(source: Path, part: Part, record: type[ProfileT]) -> dict[str, tuple[str, ProfileT]]:
    """Place and record by key; the file must be there, and no key twice."""
    if find_file(source, part) is None:
        names = " nor ".join(f"{stem}.json or .jsonl" for stem in STEMS[part])
        raise SotopiaDataError(f"{source} has no {names}")
    found: dict[str, tuple[str, ProfileT]] = {}
    for place, one in _records(source, part, record):
        if one.pk in found:
            raise SotopiaDataError(f"{place}: the key {one.pk[:80]!r} occurs twice")
        found[one.pk] = place, one
    if not found:
        raise SotopiaDataError(f"{source} has no record of {part}")
    return found


def _records(source: Path, part: Part, record: type[RecordT]) -> Iterator[tuple[str, RecordT]]:
    path = find_file(source, part)
    for row in parse_file(path) if path else ():
        fields = _renamed(row, part)
        name = f" ({str(fields['pk'])[:80]})" if "pk" in fields else ""
        try:
            one = record.model_validate({**fields, **_relationship(fields)})
            one.model_dump_json()  # text with half a surrogate pair cannot be written
        except ValidationError as problem:
            raise SotopiaDataError(f"{row.place}{name}: {first_problem(problem)}") from None
        except ValueError as problem:
            raise SotopiaDataError(f"{row.place}{name}: {problem}") from None
        if isinstance(one, EnvironmentProfile) and one.source in RESERVED:
            raise SotopiaDataError(f"{row.place}{name}: source: {one.source!r} is the name of another split")
        yield f"{row.place}{name}", one


def _renamed(row: Row, part: Part) -> dict[str, Any]:
    fields = dict(row.fields)
    for other, name in OTHER_KEYS[part].items():
        if name not in fields and other in fields:
            fields[name] = fields.pop(other)
    if row.key is not None and fields.setdefault("pk", row.key) != row.key:
        raise SotopiaDataError(f"{row.place}: its key is {row.key[:80]!r}, its pk {str(fields['pk'])[:80]!r}")
    return fields


def _relationship(fields: Mapping[str, Any]) -> dict[str, int]:
    """The relationship as a number, if it is one or a digit; raises `ValueError` otherwise."""
    if "relationship" not in fields:
        return {}
    value = fields["relationship"]
    if isinstance(value, str) and len(value) == 1 and value.isascii() and value.isdigit():
        return {"relationship": int(value)}
    if isinstance(value, int) and not isinstance(value, bool):
        return {"relationship": value}
    raise ValueError(f"relationship: {str(value)[:40]!r} is no number from 0 to 5")


def _hard(source: Path, combos: int) -> tuple[int, ...]:
    path = find_file(source, "hard")
    if path is None:
        return ()
    found = _parsed(bounded_text(path, MAX_BYTES, SotopiaDataError, "utf-8-sig"), path.name)
    if not isinstance(found, list):
        raise SotopiaDataError(f"{path.name} has no list of positions")
    positions: set[int] = set()
    for number, position in enumerate(cast("list[object]", found), start=1):
        if not isinstance(position, int) or isinstance(position, bool) or not 0 <= position < combos:
            where = f"{path.name}: record {number}"
            raise SotopiaDataError(f"{where}: {str(position)[:40]} is no position of a combination")
        positions.add(position)
    return tuple(sorted(positions))


def _check_combos(
    combos: Iterable[tuple[str, Combo]], environments: Mapping[str, Any], agents: Mapping[str, Any]
) -> None:
    for place, combo in combos:
        if combo.env_id not in environments:
            raise SotopiaDataError(f"{place}: there is no environment {combo.env_id[:80]!r}")
        for agent in combo.agent_ids:
            if agent not in agents:
                raise SotopiaDataError(f"{place}: there is no agent {agent[:80]!r}")
        if combo.agent_ids[0] == combo.agent_ids[1]:
            raise SotopiaDataError(f"{place}: both seats have the agent {combo.agent_ids[0][:80]!r}")
