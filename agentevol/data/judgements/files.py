"""Files of items: the forms that are read, by their first record.

| record | items |
|---|---|
| an object with `messages` or `raw_messages` | recorded conversations, with their scores if there are any |
| an object with `ending` and `initial_observation` | episodes that `agentevol trajectories export` wrote |
| an object with the `format` of a record of `sotopia` | conversations that the environment has kept |
| another object | items of `agentevol.data.judgements.items` |

A folder or a URL is a run, or its table of episodes.
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError

from agentevol.core.errors import ConfigError
from agentevol.data.judgements.items import (
    EPISODE_LOG,
    ITEM,
    RECORDED,
    Episode,
    Item,
    Transcript,
    conversation_of,
)
from agentevol.data.judgements.judges.replay import recorded_scores
from agentevol.data.judgements.outcomes import Scores
from agentgym_envs.sotopia.data.episodes import read_episodes
from agentgym_store.records import Trajectory
from agentgym_store.urls import is_url

MAX_BYTES: Final = 1 << 30
"""Bytes of a file of items."""
_EXPORT: Final = {"ending", "initial_observation"}


@dataclass(frozen=True)
class Entry:
    """Item to be judged; its id is unique in the file."""

    item: Item
    recorded: Scores | None = None
    """Scores that it was recorded with."""


def read_entries(place: str) -> list[Entry]:
    """Items of a file, a run or a table.

    Raises `ConfigError`, `SotopiaDataError`, `StoreError` for what cannot be judged, and `OSError`.
    """
    path = Path(place)
    if is_url(place) or path.is_dir():
        entries = list(_stored(place if is_url(place) else path))
    elif not path.is_file():
        raise FileNotFoundError(2, "no such file or folder", place)
    else:
        entries = list(_of_file(path))
    if not entries:
        raise ConfigError(f"{place} has nothing to judge")
    return _numbered(entries, place)


def _of_file(path: Path) -> Iterator[Entry]:
    if path.stat().st_size > MAX_BYTES:
        raise ConfigError(f"{path} has more than {MAX_BYTES >> 20} MiB: split it")
    records = _records(path)
    first: Any = records[0][1] if records else {}
    fields = set(first) if isinstance(first, dict) else set[str]()
    if "type" not in fields and not fields.isdisjoint(EPISODE_LOG):
        for episode in read_episodes(path):
            yield Entry(Episode(id=episode.pk, episode=episode), recorded_scores(episode))
    elif isinstance(first, dict) and first.get("format") == RECORDED:
        for place, record in records:
            yield Entry(_item({"type": "record", "record": record}, place))
    elif fields >= _EXPORT:
        yield from _transcripts(_exported(path))
    else:
        for place, record in records:
            yield Entry(_item(record, place))


def _records(path: Path) -> list[tuple[str, object]]:
    """Place and value of each record: those of a list, or lines."""
    text = path.read_text(encoding="utf-8-sig")
    try:
        if text.lstrip()[:1] == "[":
            return [(f"{path}, record {number}", one) for number, one in enumerate(json.loads(text), start=1)]
        lines = enumerate(text.split("\n"), start=1)
        return [
            (f"{path}, line {number}", _line(line, path, number)) for number, line in lines if line.strip()
        ]
    except (ValueError, RecursionError) as cause:
        if isinstance(cause, ConfigError):
            raise
        raise ConfigError(f"{path}: no JSON: {cause}") from None


def _line(line: str, path: Path, number: int) -> object:
    try:
        return json.loads(line)
    except (ValueError, RecursionError) as cause:
        raise ConfigError(f"{path}, line {number}: no JSON: {cause}") from None


def _item(record: object, place: str) -> Item:
    try:
        return ITEM.validate_python(record)
    except ValidationError as cause:
        first = cause.errors()[0]
        # The first part is the type that the item was validated as.
        field = ".".join(map(str, first["loc"][1:])) or "item"
        raise ConfigError(f"{place}: {field}: {first['msg']}") from None


def _exported(path: Path) -> Iterable[Trajectory]:
    from agentgym_store.jsonl import import_jsonl

    return import_jsonl(path)


def _stored(place: Path | str) -> Iterator[Entry]:
    from agentevol.data.stored_episodes import open_table
    from agentgym_store.store import Where

    return _transcripts(open_table(place).trajectories(Where()))


def _transcripts(episodes: Iterable[Trajectory]) -> Iterator[Entry]:
    """Items of the episodes that have a return: others were cut off by a failure.

    An episode of `sotopia` is the conversation that it was recorded with, once for both seats.
    """
    from agentevol.data.judges.judging import as_text

    told = set[str]()
    for episode in episodes:
        if episode.total_reward is None or episode.episode in told:
            continue
        record = conversation_of(episode)
        if record is not None:
            told.add(episode.episode)
            fields = {"type": "record", "id": episode.episode, "record": record}
            yield Entry(_item(fields, f"episode {episode.id}"))
        else:
            yield Entry(Transcript.of(as_text(episode), episode.id))


def _numbered(entries: list[Entry], place: str) -> list[Entry]:
    """Entries with unique ids: their numbers where they have none. Raises `ConfigError` for equal ids."""
    named = [
        one if one.item.id else Entry(one.item.model_copy(update={"id": str(number)}), one.recorded)
        for number, one in enumerate(entries, start=1)
    ]
    seen = dict[str, int]()
    for number, one in enumerate(named, start=1):
        earlier = seen.setdefault(one.item.id, number)
        if earlier != number:
            raise ConfigError(f"{place}: records {earlier} and {number} have the same id {one.item.id!r}")
    return named
