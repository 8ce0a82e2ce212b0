"""Records of a file: JSON Lines, a JSON array or object, rows of Parquet, or the text of any other file.

Files are read piece by piece; an array of gigabytes does not need as much memory.
"""

import codecs
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from agentgym_store.arrow import pa, parquet
from agentgym_store.errors import StoreError, one_line
from agentgym_store.jsonl import LINE_LIMIT

PIECE = 1 << 20
"""Bytes that are read at a time."""
MAGIC = b"PAR1"
"""First bytes of a Parquet file."""
BOM = b"\xef\xbb\xbf"
"""Byte order mark that some editors write before UTF-8."""
TEXT_LIMIT = 64 * 2**20
"""Maximum size in bytes of a file that is neither JSON nor Parquet."""


class Refusal(ValueError):
    """A record that is not imported. `reason` is the same for all records that have this error."""

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(f"{reason} ({detail})" if detail else reason)
        self.reason = reason
        self.detail = detail


def _no_number(text: str) -> float:
    raise ValueError(f"{text} is no number of JSON")


DECODER = json.JSONDecoder(parse_constant=_no_number)


def records(path: Path) -> Iterator[tuple[str, Any]]:
    """Records with their places, or a `Refusal` in place of a line that is not JSON. Raises `StoreError`."""
    try:
        with path.open("rb") as file:
            kind = _kind(file)
            if kind == "parquet":
                yield from _parquet_rows(path)
            elif kind == "lines":
                yield from _lines(file, path)
            elif kind == "document":
                yield from _document(file, path)
            elif text := _text(file, path):
                yield path.name, text
    except (OSError, pa.ArrowException) as cause:
        raise StoreError(f"cannot read {path}: {one_line(cause)}") from cause


def first_record(path: Path) -> Any:
    """The first record that can be read; None for a file without any. Raises `StoreError`."""
    return next((record for _, record in records(path) if not isinstance(record, Refusal)), None)


def _kind(file: BinaryIO) -> str:
    head = file.read(PIECE)
    file.seek(0)
    if head.startswith(MAGIC):
        return "parquet"
    text = head.removeprefix(BOM).lstrip()
    if text[:1] == b"[":
        return "document"
    if text[:1] != b"{":
        return "text"
    line, _, rest = text.partition(b"\n")
    following = rest.lstrip().partition(b"\n")[0]
    return "lines" if _is_json(line) or _is_json(following) or not following else "document"


def _is_json(text: bytes) -> bool:
    try:
        DECODER.decode(text.decode())
    except (ValueError, RecursionError):
        return False
    return True


def _lines(file: BinaryIO, path: Path) -> Iterator[tuple[str, Any]]:
    number = 0
    while line := file.readline(LINE_LIMIT + 1):
        number += 1
        place = f"{path.name}, line {number}"
        if len(line) > LINE_LIMIT:
            raise StoreError(f"{path}, line {number}: longer than {LINE_LIMIT} bytes")
        if number == 1:
            line = line.removeprefix(BOM)
        if line.strip():
            yield place, _parsed(line)


def _parsed(line: bytes) -> Any:
    try:
        return DECODER.decode(line.decode())
    except (ValueError, RecursionError) as cause:
        return Refusal("not JSON", one_line(cause))


def _document(file: BinaryIO, path: Path) -> Iterator[tuple[str, Any]]:
    """Members of a JSON array, or one object that is written over several lines."""
    buffer = _Buffer(file, path)
    in_array = buffer.starts_with("[")
    if in_array:
        buffer.drop(1)
    number = 0
    while not buffer.at_end() and not (in_array and buffer.starts_with("]")):
        number += 1
        place = f"{path.name}, record {number}"
        yield place, buffer.value(place)
        if in_array and buffer.starts_with(","):
            buffer.drop(1)


class _Buffer:
    """The unread beginning of a file's text."""

    PIECE = PIECE

    def __init__(self, file: BinaryIO, path: Path) -> None:
        self._file, self._path = file, path
        self._decode = codecs.getincrementaldecoder("utf-8-sig")().decode
        self._text = ""
        self._ended = False

    def _more(self) -> bool:
        """Read a piece; False at the end of the file."""
        if self._ended:
            return False
        piece = self._file.read(max(self.PIECE, len(self._text)))
        self._ended = not piece
        try:
            self._text += self._decode(piece, final=self._ended)
        except UnicodeDecodeError as cause:
            raise StoreError(f"{self._path} is not UTF-8") from cause
        return True

    def _skip_space(self) -> None:
        self._text = self._text.lstrip()
        while not self._text and self._more():
            self._text = self._text.lstrip()

    def at_end(self) -> bool:
        """True if nothing but white space is left."""
        self._skip_space()
        return not self._text

    def starts_with(self, mark: str) -> bool:
        """True if this mark is next."""
        self._skip_space()
        return self._text.startswith(mark)

    def drop(self, count: int) -> None:
        """Leave out some characters."""
        self._text = self._text[count:]

    def value(self, place: str) -> Any:
        """The next JSON value. Raises `StoreError`: what follows a broken value cannot be told from it."""
        while True:
            self._skip_space()
            try:
                value, end = DECODER.raw_decode(self._text)
            except (ValueError, RecursionError) as cause:
                if len(self._text) <= LINE_LIMIT and self._more():
                    continue
                raise StoreError(f"{self._path}: {place} is not JSON: {one_line(cause)}") from cause
            self._text = self._text[end:]
            return value


def _parquet_rows(path: Path) -> Iterator[tuple[str, Any]]:
    number = 0
    for batch in parquet.ParquetFile(path).iter_batches(batch_size=256):
        for row in batch.to_pylist():
            number += 1
            yield f"{path.name}, row {number}", row


def _text(file: BinaryIO, path: Path) -> str:
    data = file.read(TEXT_LIMIT + 1)
    if len(data) > TEXT_LIMIT:
        raise StoreError(f"{path} is neither JSON nor Parquet, and longer than {TEXT_LIMIT} bytes")
    try:
        return data.removeprefix(BOM).decode().strip()
    except UnicodeDecodeError as cause:
        raise StoreError(f"{path} is neither JSON nor Parquet nor a text in UTF-8") from cause
