"""Reading of AMPO's files: JSON, JSON lines and Parquet, whatever their names; a record says what it is."""

import json
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, cast

from agentgym_envs.ampo.records import (
    AmpoDataError,
    ClonedTurn,
    State,
    cloned_turn,
    kind_of,
    state,
)
from agentgym_envs.import_report import Refused

SUFFIXES = (".json", ".jsonl", ".parquet")
MOST_BYTES = 1 << 30
"""Bytes of a file: those of the authors are far smaller."""


class Found:
    """Records of a folder."""

    def __init__(self) -> None:
        self.turns: list[ClonedTurn] = []
        self.states: list[State] = []
        self.refused: list[Refused] = []


def read(source: Path, progress: Callable[[int], None] | None = None) -> Found:
    """All records of a folder, or of one file; those that are not valid are refused, each with its reason.

    `progress` is called with the number of records read so far. Raises `AmpoDataError` for a file that cannot
    be parsed, and where there is no record at all; `OSError` if a file cannot be read.
    """
    found, number = Found(), 0
    for file in _files(source):
        for place, raw in enumerate(_records(file), 1):
            _take(found, f"{file.name}, record {place}", raw)
            number += 1
            if progress is not None:
                progress(number)
    if not found.turns and not found.states:
        reason = f": {found.refused[0].name}: {found.refused[0].reason}" if found.refused else ""
        raise AmpoDataError(f"{source} has no record of AMPO's data sets{reason}")
    return found


def _take(found: Found, place: str, raw: object) -> None:
    try:
        if not isinstance(raw, Mapping):
            raise AmpoDataError(f"a {type(raw).__name__}, not an object")
        record = cast("Mapping[str, Any]", raw)
        if kind_of(record) == "cloning":
            found.turns.append(cloned_turn(record))
        else:
            found.states.append(state(record))
    except AmpoDataError as cause:
        found.refused.append(Refused(place, str(cause)))


def _files(source: Path) -> list[Path]:
    if source.is_file():
        return [source]
    files = sorted(file for file in source.rglob("*") if file.suffix in SUFFIXES and file.is_file())
    if not files:
        raise AmpoDataError(f"{source} has no file that ends in {', '.join(SUFFIXES)}")
    return files


def _records(file: Path) -> Iterator[object]:
    if file.stat().st_size > MOST_BYTES:
        raise AmpoDataError(f"{file.name} has more than {MOST_BYTES:,} bytes")
    if file.suffix == ".parquet":
        return iter(_rows(file))
    return _parsed(file)


def _parsed(file: Path) -> Iterator[object]:
    """Records of a JSON array, an object of records, or JSON lines."""
    try:
        text = file.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as cause:
        raise AmpoDataError(f"{file.name} is no text in UTF-8") from cause
    if file.suffix == ".jsonl":
        for number, line in enumerate(text.splitlines(), 1):
            if line.strip():
                yield _json(line, f"{file.name}, line {number}")
        return
    whole = _json(text, file.name)
    records = list(cast("dict[str, object]", whole).values()) if isinstance(whole, dict) else whole
    if not isinstance(records, list):
        raise AmpoDataError(f"{file.name} is neither a list nor an object of records")
    yield from cast("list[object]", records)


def _json(text: str, place: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as cause:
        reason = cause.msg if isinstance(cause, json.JSONDecodeError) else "nested too deeply"
        raise AmpoDataError(f"{place}: no JSON ({reason})") from cause


def _rows(file: Path) -> list[object]:
    """Rows of a Parquet file, which verl trains on."""
    try:
        parquet: Any = import_module("pyarrow.parquet")
    except ImportError as cause:
        raise AmpoDataError(f"{file.name}: Parquet needs pyarrow: pip install pyarrow") from cause
    try:
        return parquet.read_table(file).to_pylist()
    except Exception as cause:  # pyarrow's errors have no common class
        raise AmpoDataError(f"{file.name} is no Parquet file: {str(cause)[:200]}") from cause
