"""LIKE and GLOB patterns as compiled matchers without backtracking.

A pattern is a sequence of pieces between its wildcards. The first occurrence of each piece after the previous
one is the right one, so that a match takes at most length of text times length of pattern operations.
"""

import re
from collections.abc import Callable, Iterator

Matcher = Callable[[str], bool]
Item = str | None
"""Expression of one character; None for the wildcard of any text."""


def like(pattern: str, escape: str = "") -> Matcher:
    """Matcher of a LIKE pattern: ASCII letters match in either case."""
    return _matcher(list(_like_items(pattern, escape)), re.ASCII | re.IGNORECASE | re.DOTALL)


def glob(pattern: str) -> Matcher:
    """Matcher of a GLOB pattern: `*`, `?`, `[...]`; case is significant."""
    return _matcher(list(_glob_items(pattern)), re.DOTALL)


def _like_items(pattern: str, escape: str) -> Iterator[Item]:
    characters = iter(pattern)
    for one in characters:
        if one == escape:
            following = next(characters, None)
            yield re.escape(following) if following is not None else "(?!)"
        else:
            yield None if one == "%" else "." if one == "_" else re.escape(one)


def _glob_items(pattern: str) -> Iterator[Item]:
    place = 0
    while place < len(pattern):
        one = pattern[place]
        if one == "[":
            item, place = _set(pattern, place + 1)
            yield item
            continue
        yield None if one == "*" else "." if one == "?" else re.escape(one)
        place += 1


def _set(pattern: str, start: int) -> tuple[str, int]:
    """The expression of a set of characters, and the place after it; one without an end matches nothing."""
    inverted = pattern[start : start + 1] == "^"
    start += inverted
    end = pattern.find("]", start + 1)  # a first ] is a member
    if end < 0:
        return "(?!)", len(pattern)
    members, place = list[str](), start
    while place < end:
        first = pattern[place]
        members.append(re.escape(first))  # of a range too, whose end may come before it
        if pattern[place + 1 : place + 2] == "-" and place + 2 < end and first != "]":
            last = pattern[place + 2]
            members += [f"{re.escape(first)}-{re.escape(last)}"] if first <= last else []
            place += 2
        place += 1
    return f"[{'^' if inverted else ''}{''.join(members)}]", end + 1


def _matcher(items: list[Item], flags: int) -> Matcher:
    pieces, current = list[str](), ""
    for item in items:
        if item is None:
            pieces.append(current)
        current = "" if item is None else current + item
    if not pieces:
        whole = re.compile(current, flags)
        return lambda text: whole.fullmatch(text) is not None
    return _pieces_matcher(
        re.compile(pieces[0], flags),
        [re.compile(piece, flags) for piece in pieces[1:] if piece],
        re.compile(current, flags),
        sum(item is not None for item in items[len(items) - items[::-1].index(None) :]),
    )


def _pieces_matcher(
    first: re.Pattern[str], middle: list[re.Pattern[str]], last: re.Pattern[str], last_length: int
) -> Matcher:
    """Match `first` at the start, `last` at the end, and the others in between, in their order."""

    def match(text: str) -> bool:
        found = first.match(text)
        for piece in middle:
            if found is None:
                return False
            found = piece.search(text, found.end())
        if found is None or len(text) - last_length < found.end():
            return False
        return last.fullmatch(text, len(text) - last_length) is not None

    return match
