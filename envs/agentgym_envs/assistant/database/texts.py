"""Texts of a table, searched for a part without a query."""

from bisect import bisect_right
from collections.abc import Iterable
from typing import Any

MOST_FOUND = 16
"""Rows beyond which a query had better read the table."""
END = b"\0"
"""Stands between texts. SQLite's LIKE reads a pattern no further than that."""


class Texts:
    """Texts of all rows, one after the other in UTF-8, with the letters of ASCII in lower case: others have a
    case of their own for SQLite's LIKE too.
    """

    def __init__(self, rows: Iterable[tuple[Any, ...]]) -> None:
        """`rows`: the key and the texts of each."""
        self._keys = list[int]()
        self._starts = [0]
        joined = bytearray()
        for key, *texts in rows:
            for text in texts:
                joined += (text or "").encode().lower() + END
            self._keys.append(key)
            self._starts.append(len(joined))
        self._joined = bytes(joined)

    def rows_with(self, part: str) -> list[int] | None:
        """Keys of the rows of which a text has this part; None if there are many, or if it is not known."""
        sought = part.encode().lower()
        if not sought or END in sought:
            return None
        found, place = list[int](), self._joined.find(sought)
        while place >= 0:
            if len(found) == MOST_FOUND:
                return None
            row = bisect_right(self._starts, place) - 1
            found.append(self._keys[row])
            place = self._joined.find(sought, self._starts[row + 1])
        return found
