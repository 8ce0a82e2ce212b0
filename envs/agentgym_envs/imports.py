"""Report of an import of a benchmark's own data, for every environment: `ImportReport`.

An environment whose data can be imported has a module with three functions:

    import_official(source, home, progress) -> ImportReport    all or nothing
    counts(home) -> dict[str, int] | None                      tasks by split; None where nothing was imported
    verify(home) -> list[str]                                  what is wrong with the imported files
"""

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

FileName = Annotated[str, Field(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.-]*$")]
"""A name that cannot lead out of its folder."""


@dataclass(frozen=True)
class Refused:
    """A part of the source that was not imported."""

    name: str
    reason: str


@dataclass(frozen=True)
class ImportReport:
    """What an import did."""

    counts: dict[str, int]
    """Tasks by split."""
    refused: tuple[Refused, ...]
    warnings: tuple[str, ...] = ()
    """What a user should know of what was imported, a line each."""
    notes: tuple[str, ...] = ()
    """What holds of every import of these data, a line each."""
