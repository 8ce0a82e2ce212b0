"""Inner joins that mean the same as outer ones.

They do if a later condition drops the rows that only the outer join has, or if there are no such rows: each
row refers to one of the joined table by a foreign key that is not NULL.
"""

from collections.abc import Sequence

from agentgym_envs.sql.queries.clauses import COMPOUNDS
from agentgym_envs.sql.queries.conditions import COMPARISONS, aliases, joins
from agentgym_envs.sql.queries.tokens import Token
from agentgym_envs.sql.variants.schema import Table, always_refers

_FILTERS = frozenset({"WHERE", "JOIN"})
_AFTER = frozenset({"GROUP", "ORDER", "LIMIT", "HAVING", *COMPOUNDS})


def means_the_same(parts: Sequence[Token], place: int, schema: Sequence[Table]) -> bool:
    """True if LEFT JOIN at a place, which has JOIN, provably means the same."""
    scope = _scope(parts, place)
    end = next(
        (n for n, one in enumerate(scope[1:], 1) if one.depth == 0 and one.word in _FILTERS), len(scope)
    )
    own, later = scope[:end], scope[end:]
    known = aliases(parts)
    name = _name(own)
    return _drops_nulls(later, name, known.get(name, name), schema) or _always_matches(
        parts, place, end, schema
    )


def _scope(parts: Sequence[Token], place: int) -> list[Token]:
    """From a JOIN to the end of its FROM and WHERE, with depths counted from its own."""
    depth, found = parts[place].depth, list[Token]()
    for token in parts[place:]:
        if token.depth < depth or (token.depth == depth and token.word in _AFTER):
            break
        found.append(Token(token.kind, token.text, token.depth - depth))
    return found


def _name(own: Sequence[Token]) -> str:
    """The name by which a joined table is qualified."""
    has_alias = len(own) > 3 and own[2].word == "AS"
    place = 3 if has_alias else 2 if len(own) > 2 and own[2].word not in ("ON", "USING") else 1
    return own[place].value.lower()


def _drops_nulls(later: Sequence[Token], name: str, table: str, schema: Sequence[Table]) -> bool:
    """True if later conditions compare a column of the joined table, which NULL does not survive."""
    if any(token.depth == 0 and token.word in ("OR", "IS") for token in later):
        return False
    only = _only_columns(table, schema)
    for place in range(1, len(later)):
        before, token = later[place - 1], later[place]
        if token.depth or before.kind not in ("word", "name"):
            continue
        compared = _operator(later[place]) or (place > 3 and _operator(later[place - 4]))
        qualifier = later[place - 3].value.lower() if place > 2 and later[place - 2].text == "." else ""
        if compared and (qualifier == name or (not qualifier and before.value.lower() in only)):
            return True
    return False


def _operator(token: Token) -> bool:
    return token.text in COMPARISONS or token.word in ("LIKE", "BETWEEN", "IN")


def _only_columns(table: str, schema: Sequence[Table]) -> set[str]:
    """Columns that no other table has, which are known without a qualifier."""
    own = {column.name.lower() for one in schema if one.id == table for column in one.columns}
    return own - {column.name.lower() for one in schema if one.id != table for column in one.columns}


def _always_matches(parts: Sequence[Token], place: int, end: int, schema: Sequence[Table]) -> bool:
    """True if the condition of a join follows a reference that is never NULL to the joined table."""
    known = aliases(parts)
    joined_table = known.get(parts[place + 1].value.lower(), "")
    found = joins(parts[: place + end])
    own = [join for join in found if joined_table in (join.table, join.other_table)][-1:]
    return any(
        always_refers(schema, join if join.other_table == joined_table else join.reverse()) for join in own
    )
