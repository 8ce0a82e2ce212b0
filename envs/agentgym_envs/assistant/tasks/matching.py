"""Equality of net changes, up to the wording of texts that a task leaves to the agent."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, cast

from agentgym_envs.assistant.database import NetChange
from agentgym_envs.assistant.database.changes import Row
from agentgym_envs.assistant.database.schema import tables
from agentgym_envs.assistant.tasks.drafts import Matcher

Matchers = Mapping[tuple[str, str], Matcher]
"""Table and column to the rule for its texts in new rows."""
NUMBER = re.compile(r"(?<![\w:./-])(?!\d{1,2}[.)] )\d{1,9}(?![\w:/-]|\.\d)")
"""A whole number that is no part of a date, a time or a word, and does not number an item of a list."""
Inserted = Counter[tuple[str, Row]]


def same_change(gold: NetChange, given: NetChange, matchers: Matchers) -> bool:
    """True if the same rows changed, and the new ones are the same up to the matchers."""
    if given.changed != gold.changed:
        return False
    if not matchers:
        return given.inserted == gold.inserted
    texts = all(_fits(name, row, matchers) for name, row in given.inserted)
    return texts and _without(gold.inserted, matchers) == _without(given.inserted, matchers)


def _without(rows: Inserted, matchers: Matchers) -> Inserted:
    """The rows without the texts that have a matcher."""
    return Counter((name, _blank(name, row, matchers)) for name, row in rows.elements())


def _blank(name: str, row: Row, matchers: Matchers) -> Row:
    return tuple(
        None
        if (name, column) in matchers
        else _blank(inner, cast("Row", value), matchers)
        if inner is not None and isinstance(value, tuple)
        else value
        for column, inner, value in _columns(name, row)
    )


def _fits(name: str, row: Row, matchers: Matchers) -> bool:
    """True if each text contains the words of its matcher."""
    for column, _, value in _columns(name, row):
        matcher = matchers.get((name, column))
        if matcher is not None and matcher.kind == "contains_all" and not _holds(str(value), matcher):
            return False
    return True


def _holds(value: str, matcher: Matcher) -> bool:
    text = value.casefold()
    if not all(word.casefold() in text for word in matcher.words):
        return False
    for word in sorted(matcher.words, key=len, reverse=True):
        text = text.replace(word.casefold(), " ")  # a title may be a part of another one
    if any(word.casefold() in text for word in matcher.absent):
        return False
    return matcher.number is None or {int(found) for found in NUMBER.findall(text)} == {matcher.number}


def _columns(name: str, row: Row) -> Iterator[tuple[str, str | None, Any]]:
    """Column, the table that it refers to, and the value in the content of a new row."""
    table = tables()[name]
    first = int(table.surrogate)
    for position, value in enumerate(row, first):
        yield table.columns[position], table.references.get(position), value
