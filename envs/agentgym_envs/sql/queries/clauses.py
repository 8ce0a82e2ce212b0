"""Clauses of a query: `read`.

> query = read("SELECT name FROM pets ORDER BY age DESC LIMIT 1")
> joined(query.order), query.limit
('age DESC', 1)
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from agentgym_envs.sql.queries.tokens import Token, tokens

CLAUSES = ("SELECT", "FROM", "WHERE", "GROUP", "HAVING", "ORDER", "LIMIT")
COMPOUNDS = frozenset({"UNION", "INTERSECT", "EXCEPT"})
Tokens = tuple[Token, ...]


@dataclass(frozen=True)
class Select:
    """The outermost SELECT of a statement, divided at its own level."""

    distinct: bool
    items: tuple[Tokens, ...]
    """Expressions of the result, with their aliases."""
    body: Tokens
    """From FROM to HAVING."""
    order: Tokens
    """The terms of ORDER BY; () without one."""
    limit: int | None
    offset: int
    compound: bool
    """True for UNION and the like, whose `items` and `body` are those of the first part."""
    core: Tokens
    """The whole statement without ORDER BY and LIMIT."""
    head: Tokens = field(default=())
    """WITH and what belongs to it."""


class Unreadable(ValueError):
    """A statement whose structure is not understood."""


@lru_cache(maxsize=2048)
def read(sql: str) -> Select:
    """The clauses of a query; raises `Unreadable` for one of another form."""
    found = tokens(sql)
    starts = {name: place for place, name in _clause_starts(found)}
    if "SELECT" not in starts or any(token.depth < 0 for token in found):
        raise Unreadable("it has no SELECT at its outermost level")
    compound = any(token.depth == 0 and token.word in COMPOUNDS for token in found)
    order_at = starts.get("ORDER", starts.get("LIMIT", len(found)))
    limit_at = starts.get("LIMIT", len(found))
    first = _until_compound(found[starts["SELECT"] : order_at])
    items, body = _halves(first)
    distinct = items[0].word == "DISTINCT" if items else False
    limit, offset = _limits(found[limit_at + 1 :]) if "LIMIT" in starts else (None, 0)
    return Select(
        distinct=distinct,
        items=tuple(split(items[distinct:], ",", 0)),
        body=tuple(body),
        order=tuple(found[order_at + 2 : limit_at]) if "ORDER" in starts else (),
        limit=limit,
        offset=offset,
        compound=compound,
        core=tuple(found[starts["SELECT"] : order_at]),
        head=tuple(found[: starts["SELECT"]]),
    )


def split(parts: Sequence[Token], separator: str, depth: int) -> list[Tokens]:
    """Tokens between separators of one depth; a word as a separator is in upper case."""
    found, start = list[Tokens](), 0
    for place, token in enumerate(parts):
        if token.depth == depth and (token.text == separator or token.word == separator):
            found.append(tuple(parts[start:place]))
            start = place + 1
    found.append(tuple(parts[start:]))
    return found


def _clause_starts(found: Sequence[Token]) -> list[tuple[int, str]]:
    """First places of the clauses at the outermost level; ORDER and LIMIT are at the end of the statement."""
    starts = dict[str, int]()
    for place, token in enumerate(found):
        if token.depth == 0 and token.word in CLAUSES:
            starts.setdefault(token.word, place)
    return [(place, name) for name, place in starts.items()]


def _until_compound(parts: Sequence[Token]) -> Sequence[Token]:
    ends = [place for place, token in enumerate(parts) if token.depth == 0 and token.word in COMPOUNDS]
    return parts[: ends[0]] if ends else parts


def _halves(parts: Sequence[Token]) -> tuple[Sequence[Token], Sequence[Token]]:
    """Between SELECT and FROM, and from FROM on."""
    for place, token in enumerate(parts):
        if token.depth == 0 and token.word == "FROM":
            return parts[1:place], parts[place:]
    return parts[1:], ()


def _limits(parts: Sequence[Token]) -> tuple[int, int]:
    texts = [token.text for token in parts]
    match [text.upper() for text in texts]:
        case [limit] if limit.isdigit():
            return int(limit), 0
        case [limit, "OFFSET", offset] if limit.isdigit() and offset.isdigit():
            return int(limit), int(offset)
        case [offset, ",", limit] if limit.isdigit() and offset.isdigit():
            return int(limit), int(offset)
        case _:
            raise Unreadable(f"LIMIT {' '.join(texts)[:40]} is not a number")
