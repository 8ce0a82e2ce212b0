"""Report of a benchmark data import, for every environment: `ImportReport`.

An environment with importable data has a module with three functions:

    import_official(source, home, progress) -> ImportReport    all or nothing
    counts(home) -> dict[str, int] | None                      tasks by split; None if nothing was imported
    verify(home) -> list[str]                                  errors of the imported files
"""

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

FileName = Annotated[str, Field(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.-]*$")]
"""File name without path separators."""


@dataclass(frozen=True)
class Refused:
    """A part of the source that was not imported."""

    name: str
    reason: str


@dataclass(frozen=True)
class ImportReport:
    """Result of an import."""

    counts: dict[str, int]
    """Tasks by split."""
    refused: tuple[Refused, ...]
    warnings: tuple[str, ...] = ()
    """Warnings about this import, a line each."""
    notes: tuple[str, ...] = ()
    """Notes about every import of these data, a line each."""
