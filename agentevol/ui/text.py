"""Text of models and environments for a page, and numbers as text.

Jinja escapes what is markup. `visible` shows what is not to be seen: control characters, ANSI sequences,
changes of the writing direction and lone surrogates, which could hide or rearrange what stands beside them.
"""

import math
from datetime import datetime

TEXT_LIMIT = 20_000
"""Characters of one text on a page; the rest has a page of its own."""
LINE_LIMIT = 160
"""Characters of a text in one line of a list."""
NONE = "–"
"""Sign of a missing value."""


def visible(text: str) -> str:
    """Text with invisible and control characters as escapes: `\\x1b[31m`, `\\u202e`."""
    if text.isprintable():
        return text
    return "".join(
        char if char in "\n\t" or char.isprintable() else char.encode("unicode_escape").decode()
        for char in text
    )


def one_line(text: str, limit: int = LINE_LIMIT) -> str:
    """The beginning of a text in one line."""
    line = " ".join(text[: 4 * limit].split())
    return line if len(line) <= limit and len(text) <= 4 * limit else f"{line[: limit - 1]}…"


def number(value: float | None, digits: int = 3) -> str:
    """`0.5`, `12,000`; a dash for None."""
    if value is None:
        return NONE
    if not math.isfinite(value):
        return str(value)
    if float(value).is_integer() and abs(value) < 1e15:
        return f"{int(value):,}"
    return f"{value:,.{digits}f}" if abs(value) >= 0.001 else f"{value:.{digits}g}"


def percent(share: float | None) -> str:
    """`41.2 %`; a dash for None."""
    return NONE if share is None else f"{100 * share:.1f} %"


def duration(seconds: float | None) -> str:
    """`4 s`, `3 min 20 s`, `2 h 5 min`; a dash for None."""
    if seconds is None or not math.isfinite(seconds):
        return NONE
    whole = max(0, round(seconds))
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours < 48 else f"{hours // 24} days"


def moment(text: str) -> str:
    """`2026-01-01 00:00:00` of a time in RFC 3339; another text unchanged."""
    try:
        return f"{datetime.fromisoformat(text):%Y-%m-%d %H:%M:%S}"
    except ValueError:
        return text
