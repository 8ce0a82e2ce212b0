"""Streaming JSON parser: `items` of a list, `members` of an object.

> list(items(Path("products.json")))        # [{"asin": "B0"}, {"asin": "B1"}]
[{'asin': 'B0'}, {'asin': 'B1'}]

Only one item and one chunk are in memory: the benchmark's list of products has five gigabytes.
"""

import re
from collections.abc import Iterator
from io import TextIOBase
from json import JSONDecodeError, JSONDecoder
from pathlib import Path
from typing import Any

from agentgym_envs.webshop.catalogues.stored import CatalogueError

CHUNK = 1 << 20
"""Characters per read."""
LONGEST = 1 << 24
"""Maximum length of an item or a member in characters: products have some thousands."""
_SPACE = re.compile(r"[ \t\n\r]*")
_DECODER = JSONDecoder()


def items(path: Path, chunk: int = CHUNK) -> Iterator[Any]:
    """Items of a file with a list, in order. Raises `OSError`, and `CatalogueError` with the position of
    invalid JSON when it is reached.
    """
    with path.open(encoding="utf-8-sig", newline="") as file:
        text = _Text(path, file, chunk)
        text.begin("[", "list")
        while text.goes_on("]"):
            yield text.value(",]")
        text.end()


def members(path: Path, chunk: int = CHUNK) -> Iterator[tuple[str, Any]]:
    """Names with values of a file with an object, as `items`; all of equal names."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        text = _Text(path, file, chunk)
        text.begin("{", "object")
        while text.goes_on("}"):
            name = text.value(":")
            if not isinstance(name, str):
                raise text.wrong("a name is no text")
            text.take()
            yield name, text.value(",}")
        text.end()


class _Text:
    """Text of a file: the buffered part, and methods to consume it."""

    def __init__(self, path: Path, file: TextIOBase, chunk: int) -> None:
        self._path = path
        self._file = file
        self._chunk = chunk
        self._text = ""
        self._at = 0
        self._before = 0
        """Number of characters before those of `_text`."""
        self._first = True

    def begin(self, opening: str, kind: str) -> None:
        """Consume the opening sign of a list or an object."""
        found = self.take()
        if found != opening:
            begins = f"it begins with {found!r}" if found else "it is empty"
            raise CatalogueError(f"{self._path} is no JSON {kind}: {begins}")

    def goes_on(self, closing: str) -> bool:
        """True if another item follows; consumes the comma before it, or the closing sign."""
        first, self._first = self._first, False
        if first and self._next() != closing:
            return True
        return self.take() == ","

    def take(self) -> str:
        """The next character that is not white space; '' at the end."""
        found = self._next()
        self._at += len(found)
        return found

    def value(self, followers: str) -> Any:
        """The next value, which one of `followers` must follow: otherwise `1` could continue as `12`."""
        self._next()
        while True:
            found, problem, at = self._decoded(followers)
            if not problem:
                self._at = at
                return found
            wrong = self.wrong(problem, at)
            if len(self._text) - self._at > LONGEST:
                raise CatalogueError(f"{wrong}, or a piece has more than {LONGEST:,} characters")
            if not self._more():
                raise wrong

    def end(self) -> None:
        """Require that only white space follows."""
        if self._next():
            raise self.wrong("there is more after its end")

    def wrong(self, what: str, at: int | None = None) -> CatalogueError:
        """An error with its position: counted from 1, as in editors."""
        place = self._before + (self._at if at is None else at) + 1
        return CatalogueError(f"{self._path} is not valid JSON: {what} at character {place:,}")

    def _decoded(self, followers: str) -> tuple[Any, str, int]:
        """The value, an error or '', and the end or the error's position."""
        try:
            found, end = _DECODER.raw_decode(self._text, self._at)
        except JSONDecodeError as error:
            return None, error.msg, error.pos
        except RecursionError:
            raise self.wrong("it is nested too deeply") from None
        except ValueError as error:  # an integer of thousands of digits
            return None, str(error), self._at
        end = _end_of_space(self._text, end)
        if self._text[end : end + 1] in tuple(followers):
            return found, "", end
        return None, f"expecting one of {followers}", end

    def _next(self) -> str:
        while True:
            self._at = _end_of_space(self._text, self._at)
            if self._at < len(self._text) or not self._more():
                return self._text[self._at : self._at + 1]

    def _more(self) -> bool:
        """Read at least as much as is buffered, so that a long item is not decoded again for each chunk."""
        rest = self._text[self._at :]
        try:
            read = self._file.read(max(self._chunk, len(rest)))
        except UnicodeDecodeError as error:
            raise CatalogueError(f"{self._path} is not UTF-8: {error.reason}") from None
        self._before, self._text, self._at = self._before + self._at, rest + read, 0
        return bool(read)


def _end_of_space(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at
