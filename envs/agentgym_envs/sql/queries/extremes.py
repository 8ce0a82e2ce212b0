"""Columns of which a query wants the least value: `least`.

> least(tokens("SELECT name FROM pets ORDER BY age LIMIT 1"))
[Name('pets', 'age')]

Such a query and others for the same question, `age = (SELECT min(age) FROM pets)`, differ where the column is
NULL: SQLite sorts NULL before all values, and min() leaves it out.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from agentgym_envs.sql.queries.clauses import split
from agentgym_envs.sql.queries.conditions import aliases
from agentgym_envs.sql.queries.tokens import Token


class Name(NamedTuple):
    """Name of a column, in lower case."""

    table: str | None
    """None where the query does not say."""
    column: str


def least(parts: Sequence[Token]) -> list[Name]:
    """Columns in min() and in ascending terms of an ORDER BY with a LIMIT, at any depth.

    Not those of which the query leaves out NULL itself. Aliases may be among the names.
    """
    known, told = aliases(parts), set(_not_null(parts))
    found = dict.fromkeys(name for term in _terms(parts) for name in _names(term, known))
    return [name for name in found if name.column not in told]


def _not_null(parts: Sequence[Token]) -> Iterator[str]:
    """Columns before IS NOT NULL."""
    for place in range(1, len(parts) - 2):
        if [token.word for token in parts[place : place + 3]] == ["IS", "NOT", "NULL"]:
            yield parts[place - 1].value.lower()


def _terms(parts: Sequence[Token]) -> Iterator[Sequence[Token]]:
    for place, token in enumerate(parts):
        after = parts[place + 1 :]
        if token.word == "MIN" and after and after[0].text == "(":
            yield _level(after[1:], token.depth + 1)
        elif token.word == "ORDER":
            clause = _level(after[1:], token.depth)
            limit = next((n for n, one in enumerate(clause) if _is_limit(one, token.depth)), None)
            terms = split(clause[:limit], ",", token.depth) if limit is not None else []
            yield from (term[: -1 if term[-1].word == "ASC" else None] for term in terms if _ascends(term))


def _ascends(term: Sequence[Token]) -> bool:
    return bool(term) and term[-1].word != "DESC"


def _level(parts: Sequence[Token], depth: int) -> Sequence[Token]:
    """The tokens up to the end of the parentheses that are `depth` deep."""
    end = next((place for place, token in enumerate(parts) if token.depth < depth), len(parts))
    return parts[:end]


def _is_limit(token: Token, depth: int) -> bool:
    return token.word == "LIMIT" and token.depth == depth


def _names(term: Sequence[Token], known: dict[str, str]) -> Iterator[Name]:
    tables = set(known.values())
    only = next(iter(tables)) if len(tables) == 1 else None
    for place, token in enumerate(term):
        follows = term[place + 1].text if place + 1 < len(term) else ""
        if token.kind not in ("word", "name") or follows in ("(", "."):
            continue
        qualified = place > 1 and term[place - 1].text == "."
        table = known.get(term[place - 2].value.lower()) if qualified else only
        yield Name(table, token.value.lower())
