"""Judgements of a file of items, one a line; what a killed process had judged is not judged again.

A line is appended when its item is judged; in the end the lines are in the order of the items.
"""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

from pydantic import TypeAdapter, ValidationError

from agentevol.core.errors import ConfigError
from agentevol.data.judgements.files import Entry
from agentevol.data.judgements.outcomes import Failed, Judgement, Ok
from agentevol.data.judgements.panel import Asked, Panel
from agentgym_store.files import write_lines

JUDGEMENT: Final[TypeAdapter[Judgement]] = TypeAdapter(Judgement)


def judge_entries(
    entries: Sequence[Entry],
    panel: Panel,
    asked: Asked,
    out: Path,
    *,
    resume: bool = False,
    concurrency: int = 64,
    tell: Callable[[Ok | Failed], object] = lambda _: None,
) -> list[Ok | Failed]:
    """Judgements in the order of the entries, written to `out`; `tell` is called with each.

    With `resume`, what is ok in `out` is taken from there. Raises `ConfigError` if `out` has judgements of
    other items or judges, `OSError` and `StoreError` if it cannot be written.
    """
    if out.exists() and not resume:
        raise FileExistsError(17, "the file exists; --resume continues it", str(out))
    found = _kept(entries, panel, asked, out) if out.exists() else dict[str, Ok | Failed]()
    for one in found.values():
        tell(one)
    out.parent.mkdir(parents=True, exist_ok=True)
    write_lines((one.model_dump_json() for one in found.values()), out)
    left = [one for one in entries if one.item.id not in found]
    asyncio.run(_judged(left, panel, asked, out, concurrency, found, tell))
    ordered = [found[one.item.id] for one in entries]
    write_lines((one.model_dump_json() for one in ordered), out)
    return ordered


def read_judgements(file: Path) -> Iterator[Ok | Failed]:
    """Judgements of a file; a last line that was cut off is left out. Raises `ConfigError`, `OSError`."""
    lines = file.read_bytes().split(b"\n")
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            yield JUDGEMENT.validate_json(line)
        except ValidationError as cause:
            if number == len(lines):  # no newline: the process was killed while it wrote
                return
            raise ConfigError(f"{file}, line {number} is no judgement: {cause.errors()[0]['msg']}") from None


def _kept(entries: Sequence[Entry], panel: Panel, asked: Asked, out: Path) -> dict[str, Ok | Failed]:
    """Judgements of a file that are ok. Raises `ConfigError` for those of others, which would be lost."""
    keys = {one.item.id: panel.key(one.item, asked) for one in entries}
    found = dict[str, Ok | Failed]()
    for one in read_judgements(out):
        if not isinstance(one, Ok):
            continue
        if keys.get(one.id) != one.key:
            why = "is of other judges, settings or content" if one.id in keys else "is of an item not given"
            raise ConfigError(f"{out}: the judgement of {one.id[:80]!r} {why}; choose another --out")
        found[one.id] = one
    return found


async def _judged(
    entries: Sequence[Entry],
    panel: Panel,
    asked: Asked,
    out: Path,
    concurrency: int,
    found: dict[str, Ok | Failed],
    tell: Callable[[Ok | Failed], object],
) -> None:
    """Judge the entries, a bounded number at a time, and append each to the file."""
    waiting = iter(entries)
    with out.open("ab") as file:

        async def work() -> None:
            for entry in waiting:
                one = await panel.judge(entry.item, asked)
                file.write(one.model_dump_json().encode() + b"\n")
                file.flush()
                found[entry.item.id] = one
                tell(one)

        async with asyncio.TaskGroup() as workers:
            for _ in range(min(concurrency, len(entries))):
                workers.create_task(work())
