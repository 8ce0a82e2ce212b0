"""Reports as documents: tables with notes, as a self-contained HTML page, as Markdown, or as JSON.

Text of models and environments is hostile data. In HTML every text is escaped, control characters are shown
as escapes, long texts are cut, and the page forbids scripts and all external resources. In Markdown every
text is escaped, so that it is neither markup nor HTML.
"""

import json
import re
from base64 import b64encode
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import Environment, StrictUndefined

from agentevol.core.errors import ConfigError
from agentgym_store.files import whole_file

TEXT_LIMIT = 4000
"""Maximum characters shown of one text."""
SUFFIXES = (".md", ".html", ".json")
"""Names of report files end in one of them."""

Rows = Sequence[Sequence[object]]


@dataclass(frozen=True)
class Table:
    """A table under a heading."""

    title: str
    note: str
    header: Sequence[str]
    rows: Rows
    text_columns: int = 1
    """Number of first columns with texts, which are aligned to the left; the others have numbers."""


@dataclass(frozen=True)
class Document:
    """Content of a report. Tables without rows are left out."""

    title: str
    subject: str
    """Subject of the report, beside the title."""
    headline: str
    """Result in a sentence."""
    tables: Sequence[Table] = ()
    notes: Sequence[str] = ()
    """Single lines after the headline."""
    picture: bytes | None = None
    """PNG, in HTML only."""
    examples: Sequence[dict[str, Any]] = ()
    """Example episodes, in HTML only (`agentevol.loop.report.page`)."""
    configuration: Rows = field(default_factory=list[list[str]])
    """Settings and values."""


def as_html(document: Document) -> str:
    """The page as text."""
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["visible"] = visible
    source = files("agentevol.loop.report").joinpath("report.html.jinja").read_text(encoding="utf-8")
    picture = "" if document.picture is None else b64encode(document.picture).decode()
    return environment.from_string(source).render(document=document, tables=_shown(document), picture=picture)


def as_markdown(document: Document) -> str:
    """The document in GitHub's Markdown, without picture and examples."""
    return "\n\n".join(_blocks(document)) + "\n"


def check_files(paths: Sequence[Path]) -> None:
    """Raise `ConfigError` for a report whose name has no known ending, and `OSError` for one that exists or
    has no folder.
    """
    for path in paths:
        if path.suffix not in SUFFIXES:
            raise ConfigError(f"report {path}: its name ends in {', '.join(SUFFIXES)}")
        if path.exists():
            raise FileExistsError(17, "the file exists", str(path))
        if not path.absolute().parent.is_dir():
            raise FileNotFoundError(2, "there is no such folder", str(path.absolute().parent))


def write_document(path: Path, document: Document, values: object) -> None:
    """Write a report in the format that the ending of its name tells; `values` is its JSON. Raises
    `StoreError` where the disk refuses.
    """
    with whole_file(path) as file:
        file.write(_text(path.suffix, document, values).encode())


def visible(value: object) -> str:
    """Text with invisible and control characters as escapes; its end is cut beyond `TEXT_LIMIT`."""
    text = str(value)
    shown = "".join(
        char if char == "\n" or char.isprintable() else char.encode("unicode_escape").decode()
        for char in text[:TEXT_LIMIT]
    )
    hidden = len(text) - TEXT_LIMIT
    return f"{shown}\n… {hidden:,} more characters" if hidden > 0 else shown


def escaped(value: object) -> str:
    """A line of Markdown that shows this text."""
    line = visible(value).replace("\n", " ")
    line = re.sub(r"([\\`*\[\]<>|~$&])|(?<!\w)_|_(?!\w)", lambda found: f"\\{found[0]}", line)
    line = re.sub(r"^(\s*)(\d*)([-+#=.)])(?=\s|$)", r"\1\2\\\3", line)  # neither a list nor a heading
    return re.sub(r"(?<=[A-Za-z]):(?=//)|(?<=www)\.", r"\\\g<0>", line)  # not a link


def _text(suffix: str, document: Document, values: object) -> str:
    if suffix == ".html":
        return as_html(document)
    if suffix == ".md":
        return as_markdown(document)
    return json.dumps(values, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _blocks(document: Document) -> Iterator[str]:
    yield f"# {escaped(document.title)} – {escaped(document.subject)}"
    yield escaped(document.headline)
    if document.notes:
        yield "\n".join(f"- {escaped(note)}" for note in document.notes)
    for table in _shown(document):
        yield f"## {escaped(table.title)}"
        if table.note:
            yield escaped(table.note)
        yield _table(table.header, table.rows, table.text_columns)
    if document.configuration:
        yield "## Configuration"
        yield _table(("setting", "value"), document.configuration)


def _table(header: Sequence[str], rows: Rows, text_columns: int = 1) -> str:
    lines = [header, [":--" if place < text_columns else "--:" for place in range(len(header))], *rows]
    cells = ([str(one) if number == 1 else escaped(one) for one in line] for number, line in enumerate(lines))
    return "\n".join(f"| {' | '.join(line)} |" for line in cells)


def _shown(document: Document) -> list[Table]:
    return [table for table in document.tables if table.rows]
