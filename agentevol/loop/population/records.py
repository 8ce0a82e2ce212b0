"""Record of a population: `population.json` in its folder, and the table of members in its report."""

from collections.abc import Iterator
from pathlib import Path

from pydantic import ValidationError

from agentevol.core.errors import ConfigError, one_line
from agentevol.core.files import write_atomically
from agentevol.loop.population.ranking import Standing
from agentgym_envs.core import Record

FILE = "population.json"


class MemberRecord(Record):
    """A member in one span."""

    run: str
    """Name of its run, the folder below `members/`."""
    seed: int
    learning_rate: float
    selection: str
    standing: Standing
    goes_on: bool
    """Whether its weights are trained further, or are part of the result."""
    copies: str | None = None
    """Run whose weights it copies next."""


class SpanRecord(Record):
    """Members at the end of a span, best first."""

    until: int
    """Iterations that each of them has played."""
    members: tuple[MemberRecord, ...]


class PopulationRecord(Record):
    """All choices of a population so far: a function of its members' runs."""

    spans: tuple[SpanRecord, ...] = ()
    merged: tuple[str, ...] = ()
    """Runs whose last weights are the result, or their mean; empty before the end."""
    trials: tuple[float, ...] = ()
    """Validation of the best member, and of each mean that was tried."""


def write_record(folder: Path, record: PopulationRecord) -> None:
    """Write the record of the population in `folder`, replacing an earlier one."""
    write_atomically(folder / FILE, record.model_dump_json(indent=1))


def read_record(folder: Path) -> PopulationRecord | None:
    """Record of the population in `folder`; None for a run without one. Raises `ConfigError`."""
    file = folder / FILE
    if not file.is_file():
        return None
    try:
        return PopulationRecord.model_validate_json(file.read_bytes())
    except ValidationError as cause:
        raise ConfigError(f"{file} is corrupt: {one_line(cause)}; resume the run to have it again") from cause


HEADER = ["run", "iterations", "learning rate", "selection", "validation", "behind the best", "then"]
TITLE = "Members of the population"
NOTE = (
    "Success, or the return, on the validation tasks that all members scored: the paired difference to the"
    " best, ± its standard error. The result is judged again, on other validation tasks: “validation” in the"
    " table above."
)


def members_table(record: PopulationRecord) -> list[list[str]]:
    """A row for each member of each span, best first, with the columns of `HEADER`."""
    return [row for number, span in enumerate(record.spans) for row in _rows(record, number, span)]


def _rows(record: PopulationRecord, number: int, span: SpanRecord) -> Iterator[list[str]]:
    last = number == len(record.spans) - 1
    for one in span.members:
        found = one.standing
        error = "" if found.error is None else f" ± {found.error:.3f}"
        then = "goes on" if one.goes_on else "ends"
        if last and one.run in record.merged:
            then = "the result" if len(record.merged) == 1 else "merged"
        elif last and record.merged:
            then = "–"
        if one.copies is not None:
            then = f"copies {one.copies}"
        gap = "–" if one is span.members[0] else f"{found.behind:.3f}{error}"
        score = f"{found.mean:.3f} of {found.tasks}"
        yield [one.run, str(span.until), f"{one.learning_rate:.3g}", one.selection, score, gap, then]
