"""Rows of a gold grouped by its ordering, without its LIMIT: `ranked`.

SQLite itself says which rows tie, by `dense_rank()` over the gold's own terms, so that collations count.
"""

from itertools import groupby

from agentgym_envs.sql.executor.database import Database
from agentgym_envs.sql.executor.limits import Extent
from agentgym_envs.sql.executor.results import Row
from agentgym_envs.sql.queries.clauses import Select, Tokens, split
from agentgym_envs.sql.queries.tokens import joined

RANKED = Extent(rows=20_000, characters=5_000_000)
DIRECTIONS = ("ASC", "DESC")
NAMED = "agentgym_result"


def ranked(database: Database, query: Select) -> list[list[Row]] | None:
    """Groups of rows that tie, in the gold's order; None if they cannot be found out."""
    if not query.order:
        result = database.run(joined([*query.head, *query.core]), RANKED)
        return [list(result.rows)] if result.status == "ok" else None
    sql = _over_columns(query) if query.compound or query.distinct else _with_rank(query)
    if sql is None:
        return None
    result = database.run(sql, RANKED)
    if result.status != "ok":
        return None
    return [[row[:-1] for row in rows] for _, rows in groupby(result.rows, key=lambda row: row[-1])]


def _with_rank(query: Select) -> str | None:
    """The query with the rank as a last column, in the order of the rank."""
    terms = [_resolved(query, term) for term in split(query.order, ",", 0)]
    if None in terms:
        return None
    items = ", ".join(joined(item) for item in query.items)
    order = ", ".join(term for term in terms if term)
    return (
        f"{joined(query.head)} SELECT {items}, dense_rank() OVER (ORDER BY {order}) AS agentgym_rank "
        f"{joined(query.body)} ORDER BY agentgym_rank"
    )


def _over_columns(query: Select) -> str | None:
    """A query of the result: what DISTINCT or a compound orders by are columns of it."""
    names = [f"c{number}" for number in range(len(query.items))]
    places = [_place(query, term) for term in split(query.order, ",", 0)]
    if any(_is_star(item) for item in query.items) or None in places:
        return None
    order = ", ".join(
        f"{names[place]} {_direction(term)}"
        for place, term in zip(places, split(query.order, ",", 0), strict=True)
        if place is not None
    )
    return (
        f"WITH {NAMED}({', '.join(names)}) AS ({joined(query.head)} {joined(query.core)}) SELECT *, "
        f"dense_rank() OVER (ORDER BY {order}) AS agentgym_rank FROM {NAMED} ORDER BY agentgym_rank"
    )


def _resolved(query: Select, term: Tokens) -> str | None:
    """A term as an expression: numbers and aliases stand for columns of the result."""
    place = _place(query, term, aliases_only=True)
    if place is None:
        return None if _bare(term)[0].kind == "number" else joined(term)
    return f"{joined(_expression(query.items[place]))} {_direction(term)}"


def _place(query: Select, term: Tokens, *, aliases_only: bool = False) -> int | None:
    """The column of the result for which a term stands."""
    bare = _bare(term)
    if len(bare) == 1 and bare[0].kind == "number" and bare[0].text.isdigit():
        place = int(bare[0].text) - 1
        in_range = 0 <= place < len(query.items) and not any(_is_star(item) for item in query.items)
        return place if in_range else None
    wanted = joined(bare).lower()
    for place, item in enumerate(query.items):
        alias = _alias(item)
        if len(bare) == 1 and alias is not None and alias.lower() == bare[0].value.lower():
            return place
        if not aliases_only and joined(_expression(item)).lower() == wanted:
            return place
    return None


def _bare(term: Tokens) -> Tokens:
    """A term without its direction."""
    return term[:-1] if term and term[-1].word in DIRECTIONS else term


def _direction(term: Tokens) -> str:
    return term[-1].word if term and term[-1].word in DIRECTIONS else "ASC"


def _expression(item: Tokens) -> Tokens:
    """An item without its alias."""
    if len(item) > 2 and item[-2].word == "AS":
        return item[:-2]
    return item


def _alias(item: Tokens) -> str | None:
    return item[-1].value if len(item) > 2 and item[-2].word == "AS" else None


def _is_star(item: Tokens) -> bool:
    return bool(item) and item[-1].text == "*"
