"""Mutants of a gold: typical mistakes, each one change of its tokens.

An outer join that provably means the same as the inner one is no mutant.

> [mutant.kind for mutant in mutants("SELECT DISTINCT name FROM pets WHERE age < 3 ORDER BY age LIMIT 1")]
['distinct', 'conjunct', 'boundary', 'direction', 'limit']
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from agentgym_envs.sql.queries.clauses import COMPOUNDS
from agentgym_envs.sql.queries.tokens import Token, joined, tokens
from agentgym_envs.sql.variants.outer_joins import means_the_same
from agentgym_envs.sql.variants.schema import Table

BOUNDARIES = {"<": "<=", "<=": "<", ">": ">=", ">=": ">"}
EXTREMES = {"MIN": "max", "MAX": "min"}
_ENDS = frozenset({"GROUP", "ORDER", "LIMIT", "HAVING", *COMPOUNDS})


class Mutant(NamedTuple):
    """A changed gold."""

    kind: str
    sql: str


def mutants(gold: str, schema: Sequence[Table] = ()) -> list[Mutant]:
    """All mutants of a gold, without repetitions."""
    parts = tokens(gold)
    own = joined(parts)
    found = {mutant.sql: mutant for mutant in _mutants(parts, schema) if mutant.sql != own}
    return list(found.values())


def _mutants(parts: Sequence[Token], schema: Sequence[Table]) -> Iterator[Mutant]:
    for place, token in enumerate(parts):
        change = CHANGES.get(token.word or token.text)
        if change is not None:
            yield from change(parts, place)
        elif token.word == "JOIN" and not means_the_same(parts, place, schema):
            yield from _left_join(parts, place)


def _without_distinct(parts: Sequence[Token], place: int) -> Iterator[Mutant]:
    yield _replaced("distinct", parts, place, place + 1)


def _other_boundary(parts: Sequence[Token], place: int) -> Iterator[Mutant]:
    yield _replaced("boundary", parts, place, place + 1, BOUNDARIES[parts[place].text])


def _other_extreme(parts: Sequence[Token], place: int) -> Iterator[Mutant]:
    if _follows(parts, place, "("):
        yield _replaced("extreme", parts, place, place + 1, EXTREMES[parts[place].word])


def _higher_limit(parts: Sequence[Token], place: int) -> Iterator[Mutant]:
    if place + 1 < len(parts) and parts[place + 1].text.isdigit():
        yield _replaced("limit", parts, place + 1, place + 2, str(int(parts[place + 1].text) + 1))


def _replaced(kind: str, parts: Sequence[Token], start: int, end: int, *texts: str) -> Mutant:
    new = [Token("symbol", text, parts[start].depth) for text in texts]
    return Mutant(kind, joined([*parts[:start], *new, *parts[end:]]))


def _follows(parts: Sequence[Token], place: int, text: str) -> bool:
    return place + 1 < len(parts) and parts[place + 1].text == text


def _without_conjunct(parts: Sequence[Token], start: int) -> Iterator[Mutant]:
    """Drop each condition of a WHERE or HAVING; the only one with its keyword."""
    depth = parts[start].depth
    end = _end(parts, start)
    places = _conjunctions(parts[:end], start, depth)
    edges = [start, *places, end]
    if len(edges) == 2:
        yield _replaced("conjunct", parts, start, end)
        return
    for first, last in pairwise(edges):
        if first == start:  # with the AND that follows
            yield _replaced("conjunct", parts, first + 1, last + 1)
        else:
            yield _replaced("conjunct", parts, first, last)


def _end(parts: Sequence[Token], start: int) -> int:
    """Position of the end of the clause that begins at `start`."""
    depth = parts[start].depth
    for place in range(start + 1, len(parts)):
        token = parts[place]
        if token.depth < depth or (token.depth == depth and token.word in _ENDS):
            return place
    return len(parts)


def _conjunctions(parts: Sequence[Token], start: int, depth: int) -> list[int]:
    """Places of AND between conditions, of which those of BETWEEN are none."""
    found, between = list[int](), False
    for place in range(start + 1, len(parts)):
        word = parts[place].word if parts[place].depth == depth else ""
        if word == "OR":
            return []
        if word == "AND" and not between:
            found.append(place)
        between = word == "BETWEEN" or (between and word != "AND")
    return found


def _other_direction(parts: Sequence[Token], start: int) -> Iterator[Mutant]:
    """Turn the direction of the first term of an ORDER BY."""
    depth = parts[start].depth
    for place in range(start + 2, len(parts) + 1):
        token = parts[place] if place < len(parts) else None
        if token is not None and token.depth == depth and token.word in ("ASC", "DESC"):
            other = "ASC" if token.word == "DESC" else "DESC"
            yield _replaced("direction", parts, place, place + 1, other)
            return
        if token is None or token.depth < depth or token.text == "," or token.word in _ENDS:
            yield Mutant(
                "direction", joined([*parts[:place], Token("symbol", "DESC", depth), *parts[place:]])
            )
            return


def _left_join(parts: Sequence[Token], place: int) -> Iterator[Mutant]:
    """Turn an inner join into an outer one."""
    if parts[place - 1].word not in ("LEFT", "OUTER", "CROSS", "NATURAL"):
        inner = parts[place - 1].word == "INNER"
        yield _replaced("join", parts, place - inner, place + 1, "LEFT JOIN")


def _distinct_count(parts: Sequence[Token], place: int) -> Iterator[Mutant]:
    """Count distinct values: of the counted column, or of another column of the query for count(*)."""
    if not _follows(parts, place, "(") or parts[place + 2].word == "DISTINCT":
        return
    inside = parts[place + 2]
    if inside.text != "*":
        yield _replaced("count", parts, place + 2, place + 2, "DISTINCT")
        return
    for column in _columns(parts, place):
        yield _replaced("count", parts, place + 2, place + 3, "DISTINCT", column)


def _columns(parts: Sequence[Token], place: int) -> Iterator[str]:
    """A column near a count: the first of the result or of a condition."""
    depth = parts[place].depth
    for start in range(len(parts)):
        before = parts[start - 1].word if start else ""
        if (
            parts[start].depth == depth
            and before in ("SELECT", "BY", "WHERE")
            and parts[start].kind == "word"
        ):
            if _follows(parts, start, "("):
                continue
            qualified = _follows(parts, start, ".")
            yield "".join(token.text for token in parts[start : start + (3 if qualified else 1)])
            return


CHANGES: dict[str, Callable[[Sequence[Token], int], Iterator[Mutant]]] = {
    "DISTINCT": _without_distinct,
    "WHERE": _without_conjunct,
    "HAVING": _without_conjunct,
    **dict.fromkeys(BOUNDARIES, _other_boundary),
    **dict.fromkeys(EXTREMES, _other_extreme),
    "ORDER": _other_direction,
    "LIMIT": _higher_limit,
    "COUNT": _distinct_count,
}
"""Token to the function that makes the mutants at its place."""
