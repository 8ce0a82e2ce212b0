"""Folder of one domain of tau-bench or tau2-bench: its tables, policy texts and tasks.

    db.json | db.toml | db/TABLE.json          base state
    user_db.json | user_db.toml                the customer's phone (telecom) or inbox (mock)
    policy.md + policy_solo.md | main_policy*.md + tech_support_*.md
    tasks.json + split_tasks.json (tau2) | tasks_SPLIT.json (tau1)

The folder may be below its benchmark's root: `tau2/telecom`, `data/tau2/domains/telecom`, `tau1/retail`.
"""

import json
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from agentgym_envs.tau.reading import TauDataError
from agentgym_envs.tau.tasks import Version
from agentgym_envs.tooluse.tables import Row

MAX_BYTES = 64 << 20
"""Largest file that is read."""
TAU1_SPLITS = ("test", "train", "dev")
POLICIES = {
    "policy": "policy.md",
    "policy_solo": "policy_solo.md",
    "main": "main_policy.md",
    "main_solo": "main_policy_solo.md",
    "manual": "tech_support_manual.md",
    "workflow": "tech_support_workflow.md",
    "workflow_solo": "tech_support_workflow_solo.md",
}
"""Name of a policy text to its file; each may be missing."""
KEYS = {
    "customers": "customer_id",
    "lines": "line_id",
    "bills": "bill_id",
    "devices": "device_id",
    "plans": "plan_id",
}
"""Table that is a list to the column with its key."""

_LOADERS: dict[str, Callable[[str], Any]] = {".json": json.loads, ".toml": tomllib.loads}


@dataclass(frozen=True)
class DomainFolder:
    """Files of a domain, parsed and not judged yet."""

    version: Version
    tables: dict[str, dict[str, Row]]
    phone: dict[str, Any]
    policies: dict[str, str]
    tasks: dict[str, list[Mapping[str, Any]]]
    """Raw tasks by file: tau1's splits, and `base` and `small` of tau2."""
    split_ids: dict[str, list[str]]
    """Ids by split (tau2)."""


def find_folders(source: Path, domain: str) -> dict[Version, Path]:
    """The folders of a domain below `source`; raises `TauDataError` if there is none."""
    places: dict[Version, tuple[Path, ...]] = {
        "tau2": (source, source / domain, source / "tau2" / domain, source / "data/tau2/domains" / domain),
        "tau1": (source, source / domain, source / "tau1" / domain),
    }
    checks: dict[Version, Callable[[Path], bool]] = {"tau2": _is_tau2, "tau1": _is_tau1}
    found: dict[Version, Path] = {}
    for version, candidates in places.items():
        folder = next((one for one in candidates if checks[version](one)), None)
        if folder is not None:
            found[version] = folder
    if not found:
        raise TauDataError(
            f"{source} has no folder of the domain {domain!r}: looked for db.json or db.toml with tasks.json"
            f" (tau2-bench), and for db/ with tasks_test.json (tau-bench), there and in tau2/{domain} and"
            f" tau1/{domain}"
        )
    return found


def read_folder(folder: Path, version: Version) -> DomainFolder:
    """All files of a domain; raises `TauDataError` for one that is malformed, `OSError`."""
    split_ids: dict[str, list[str]] = {}
    if version == "tau1":
        tables = {path.stem: _rows(path, read(path)) for path in sorted((folder / "db").glob("*.json"))}
        tasks = {split: read(path) for split, path in _tau1_tasks(folder)}
    else:
        stored = _first(folder, "db.json", "db.toml")
        tables = {name: _keyed(name, rows) for name, rows in read(stored).items()}
        tasks = {"base": read(folder / "tasks.json")}
        if (folder / "tasks_small.json").is_file():
            tasks["small"] = read(folder / "tasks_small.json")
        if (folder / "split_tasks.json").is_file():
            split_ids = read(folder / "split_tasks.json")
    phone = _first(folder, "user_db.json", "user_db.toml", optional=True)
    return DomainFolder(
        version, tables, read(phone) if phone.is_file() else {}, _policies(folder), tasks, split_ids
    )


def read(path: Path) -> Any:
    """The value of a JSON or TOML file."""
    if path.stat().st_size > MAX_BYTES:
        raise TauDataError(f"{path} has more than {MAX_BYTES >> 20} MiB")
    try:
        return _LOADERS[path.suffix](path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as cause:
        raise TauDataError(f"{path} cannot be read: {cause}") from None


def _is_tau2(folder: Path) -> bool:
    has_state = (folder / "db.json").is_file() or (folder / "db.toml").is_file()
    return has_state and (folder / "tasks.json").is_file()


def _is_tau1(folder: Path) -> bool:
    return (folder / "db").is_dir() and (folder / "tasks_test.json").is_file()


def _tau1_tasks(folder: Path) -> Iterator[tuple[str, Path]]:
    for split in TAU1_SPLITS:
        if (path := folder / f"tasks_{split}.json").is_file():
            yield split, path


def _first(folder: Path, *names: str, optional: bool = False) -> Path:
    found = next((folder / name for name in names if (folder / name).is_file()), None)
    if found is None and not optional:
        raise TauDataError(f"{folder} has none of {', '.join(names)}")
    return found or folder / names[0]


def _keyed(name: str, rows: object) -> dict[str, Row]:
    """Rows by key, of a table that is an object already or a list."""
    if not isinstance(rows, list):
        return _rows(Path(name), rows)
    key = KEYS.get(name)
    if key is None:
        raise TauDataError(f"the table {name!r} is a list, and its key is not known")
    try:
        return {str(row[key]): row for row in cast("list[Row]", rows)}
    except (KeyError, TypeError):
        raise TauDataError(f"the table {name!r} has a row without {key!r}") from None


def _rows(path: Path, value: object) -> dict[str, Row]:
    if not isinstance(value, dict):
        raise TauDataError(f"{path} is not an object of rows by key")
    rows = cast("dict[str, object]", value)
    if not all(isinstance(row, dict) for row in rows.values()):
        raise TauDataError(f"{path} has a row that is not an object")
    return cast("dict[str, Row]", rows)


def _policies(folder: Path) -> dict[str, str]:
    paths = {name: folder / file for name, file in POLICIES.items()}
    return {name: path.read_text(encoding="utf-8") for name, path in paths.items() if path.is_file()}
