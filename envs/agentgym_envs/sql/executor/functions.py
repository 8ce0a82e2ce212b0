"""SQL functions: the allow-list, and our own versions of those whose work grows faster than their input."""

import re
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from agentgym_envs.sql.executor import patterns
from agentgym_envs.sql.executor.limits import MAX_HEX_BYTES, MAX_LENGTH, MAX_LIKE_PATTERN
from agentgym_envs.sql.executor.meter import CALLING, Meter
from agentgym_envs.sql.executor.patterns import Matcher
from agentgym_envs.sql.executor.results import Value, text_of_bytes

_AGGREGATES = "avg count group_concat max min sum total json_group_array json_group_object"
_STRINGS = """
    char glob hex instr length like lower ltrim printf format quote replace rtrim soundex substr substring
    trim typeof unicode upper
"""
_NUMBERS = """
    abs acos acosh asin asinh atan atan2 atanh ceil ceiling cos cosh degrees exp floor ln log log10 log2 mod
    pi pow power radians round sign sin sinh sqrt tan tanh trunc
"""
_CHOICES = "coalesce ifnull iif likelihood likely nullif unlikely"
DATES = ("date", "time", "datetime", "julianday", "unixepoch", "strftime")
_WINDOWS = """
    row_number rank dense_rank percent_rank cume_dist ntile lag lead first_value last_value nth_value
"""
_JSON = "json json_array json_array_length json_extract json_object json_quote json_type json_valid -> ->>"
"""Without json_patch, whose work is quadratic, and json_set and the like, which nobody needs to read."""

ALLOWED = frozenset(
    " ".join([_AGGREGATES, _STRINGS, _NUMBERS, _CHOICES, *DATES, _WINDOWS, _JSON]).split(),
)
"""Names of the functions that a statement may use, in lower case."""

COMPILING = 1500
"""Steps for which the first use of a pattern counts: about 0.1 ms."""
CONVERSION = re.compile(r"%[-+ #!0,]*([1-9]\d*|\*)?(?:\.(\*|\d*))?l{0,2}(.)", re.DOTALL)
"""Width, precision and letter of a conversion of printf; a star stands for an argument."""
WITHOUT_ARGUMENT = "%n"
"""Letters of conversions that take none."""
MAX_DIGITS = 18
"""Digits of a width that are read: so many are too many."""
TODAY = "the functions of dates need a date: 'now' and the local time zone differ between two executions"


class Refused(Exception):
    """Arguments that a function does not take; `args[0]` says why, `args[1]` is the status."""


class Functions:
    """Our versions of functions on one connection, which charge its meter."""

    def __init__(self, meter: Meter) -> None:
        self.meter = meter
        self.start()
        self._plain = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        self._plain.text_factory = text_of_bytes
        self._plain.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_LENGTH)

    def start(self) -> None:
        """Begin a statement."""
        self.refused: Refused | None = None
        self._matchers: dict[tuple[str, str | None], Matcher] = {}

    def install(self, connection: sqlite3.Connection) -> None:
        """Replace the built-in functions."""
        versions: list[tuple[str, int, Callable[..., Value]]] = [
            ("like", 2, self._like),
            ("like", 3, self._like),
            ("glob", 2, self._glob),
            ("instr", 2, self._instr),
            ("replace", 3, self._replace),
            ("trim", 2, partial(self._trim, str.strip)),
            ("ltrim", 2, partial(self._trim, str.lstrip)),
            ("rtrim", 2, partial(self._trim, str.rstrip)),
            ("hex", 1, self._hex),
            ("printf", -1, self._printf),
            ("format", -1, self._printf),
            *((name, -1, partial(self._date, name)) for name in DATES),
        ]
        for name, arguments, function in versions:
            connection.create_function(name, arguments, function, deterministic=True)

    def _like(self, pattern: Value, value: Value, escape: Value = "") -> Value:
        if isinstance(pattern, bytes) or isinstance(value, bytes):  # as builds of SQLite that skip blobs
            return 0
        if pattern is None or value is None or escape is None:
            return None
        escape_character = self._text(escape)
        if len(escape_character) > 1:
            self._refuse("an ESCAPE is a single character", "error")
        return self._matches((self._text(pattern), escape_character), value)

    def _glob(self, pattern: Value, value: Value) -> Value:
        if isinstance(pattern, bytes) or isinstance(value, bytes):
            return 0
        if pattern is None or value is None:
            return None
        return self._matches((self._text(pattern), None), value)

    def _matches(self, key: tuple[str, str | None], value: int | float | str) -> int:
        """1 if a value matches a pattern: of LIKE, with its escape character or '', or of GLOB, with None.

        A pattern is compiled at its first use in each statement, so that the charge does not depend on
        earlier statements.
        """
        pattern, escape = key
        matcher = self._matchers.get(key)
        if matcher is None:
            if len(pattern.encode()) > MAX_LIKE_PATTERN:
                self._refuse("LIKE or GLOB pattern too complex", "error")
            self.meter.charge_steps(COMPILING)
            matcher = patterns.glob(pattern) if escape is None else patterns.like(pattern, escape)
            self._matchers[key] = matcher
        text = self._text(value)
        self.meter.charge(len(pattern) * len(text))
        return int(matcher(text))

    def _instr(self, text: Value, part: Value) -> Value:
        if text is None or part is None:
            return None
        if isinstance(text, bytes) and isinstance(part, bytes):
            self.meter.charge(len(text) + len(part))
            return text.find(part) + 1
        whole, wanted = self._text(text), self._text(part)
        self.meter.charge(len(whole) + len(wanted))
        return whole.find(wanted) + 1

    def _replace(self, text: Value, old: Value, new: Value) -> Value:
        if text is None or old is None:
            return None
        if old in ("", b""):  # before `new` is looked at
            return self._text(text) if isinstance(text, bytes) else text
        if new is None:
            return None
        whole, before, after = self._text(text), self._text(old), self._text(new)
        self.meter.charge(len(whole) + len(before) + len(after))
        if len(whole) + whole.count(before) * (len(after) - len(before)) > MAX_LENGTH:
            self._refuse("string or blob too big", "resource_limit")
        return whole.replace(before, after)

    def _trim(self, strip: Callable[[str, str], str], text: Value, characters: Value) -> Value:
        if text is None or characters is None:
            return None
        whole, removed = self._text(text), self._text(characters)
        self.meter.charge(len(whole) * len(removed))
        return strip(whole, removed) if removed else whole

    def _hex(self, value: Value) -> Value:
        blob = value if isinstance(value, bytes) else self._text(value).encode() if value is not None else b""
        if len(blob) > MAX_HEX_BYTES:
            self._refuse(f"hex() takes at most {MAX_HEX_BYTES:,} bytes", "denied")
        return blob.hex().upper()

    def _date(self, name: str, *arguments: Value) -> Value:
        """The built-in function, by another connection, unless the result would depend on the clock."""
        texts = [_word(argument) for argument in arguments if isinstance(argument, str | bytes)]
        if len(arguments) <= (name == "strftime") or not {"now", "localtime", "utc"}.isdisjoint(texts):
            self._refuse(TODAY, "denied")
        self.meter.charge(sum(map(len, texts)))
        return self._built_in(name, arguments)

    def _printf(self, *arguments: Value) -> Value:
        """The built-in function, unless a width is so large that it would loop for seconds."""
        widths = list(self._widths(arguments))
        if max(widths, default=0) >= MAX_LENGTH:
            self._refuse("string or blob too big", "resource_limit")
        texts = sum(len(value) for value in arguments if isinstance(value, str | bytes))
        self.meter.charge(sum(widths) + texts)
        return self._built_in("printf", arguments)

    def _widths(self, arguments: Sequence[Value]) -> Iterator[int]:
        """Widths and precisions of all conversions: those in the template, and those that are arguments."""
        template = self._text(arguments[0]) if arguments else ""
        left = iter(arguments[1:])
        for conversion in CONVERSION.finditer(template.partition("\0")[0]):
            *sizes, letter = conversion.groups()
            for size in filter(None, sizes):
                yield abs(self._integer(next(left, None))) if size == "*" else int(size[:MAX_DIGITS])
            if letter not in WITHOUT_ARGUMENT:
                next(left, None)

    def _integer(self, value: Value) -> int:
        """A value as SQLite takes it where it needs an integer."""
        if isinstance(value, int):
            return value
        if value is None:
            return 0
        self.meter.charge_steps(2 * CALLING)
        return self._plain.execute("SELECT CAST(? AS INTEGER)", (value,)).fetchone()[0]

    def _built_in(self, name: str, arguments: Sequence[Value]) -> Value:
        """Result of SQLite's own version of a function."""
        self.meter.charge_steps(2 * CALLING)
        marks = ", ".join("?" * len(arguments))
        return self._plain.execute(f"SELECT {name}({marks})", arguments).fetchone()[0]

    def _text(self, value: Value) -> str:
        """A value as SQLite writes it as text."""
        if isinstance(value, str):
            return value
        if isinstance(value, float):
            self.meter.charge_steps(2 * CALLING)
            return self._plain.execute("SELECT CAST(? AS TEXT)", (value,)).fetchone()[0]
        if isinstance(value, bytes):
            return text_of_bytes(value)
        return "" if value is None else str(value)

    def _refuse(self, message: str, status: str) -> None:
        self.refused = Refused(message, status)
        raise self.refused

    def close(self) -> None:
        """Close the connection for SQLite's own versions."""
        self._plain.close()


def _word(value: str | bytes) -> str:
    """The text that SQLite's date functions read in an argument: blobs are texts too, and NUL ends them."""
    text = value.decode("utf-8", "replace") if isinstance(value, bytes) else value
    return text.partition("\0")[0].strip().lower()
