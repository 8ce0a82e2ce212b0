"""Conditions of golds on columns: `bindings` with literals, `joins` with other columns.

> bindings(tokens("SELECT name FROM pets AS p WHERE p.age > 3 AND kind = 'cat'"))
[Binding('pets', 'age', '>', 3), Binding(None, 'kind', '=', 'cat')]

Names of tables and columns are in lower case.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from agentgym_envs.sql.queries.tokens import Token

COMPARISONS = frozenset({"=", "==", "<", ">", "<=", ">=", "!=", "<>"})
_AFTER_TABLE = frozenset(
    {
        *("WHERE", "GROUP", "ORDER", "LIMIT", "HAVING", "ON", "USING", "SET", "UNION", "INTERSECT", "EXCEPT"),
        *("JOIN", "LEFT", "INNER", "CROSS", "NATURAL", "OUTER"),
    }
)


class Binding(NamedTuple):
    """Comparison of a column with a literal."""

    table: str | None
    """None where the query does not say."""
    column: str
    operator: str
    """A comparison, LIKE, IN or BETWEEN."""
    literal: str | int | float


class Join(NamedTuple):
    """Equality of two columns."""

    table: str
    column: str
    other_table: str
    other_column: str

    def reverse(self) -> "Join":
        """The same equality, from the other side."""
        return Join(self.other_table, self.other_column, self.table, self.column)


def aliases(parts: Sequence[Token]) -> dict[str, str]:
    """Table by alias, and by its own name."""
    found = dict[str, str]()
    for place, token in enumerate(parts[:-1]):
        if token.word not in ("FROM", "JOIN") or parts[place + 1].kind not in ("word", "name"):
            continue
        table = parts[place + 1].value.lower()
        found[table] = table
        alias = _alias(parts[place + 2 : place + 4])
        if alias:
            found[alias] = table
    return found


def bindings(parts: Sequence[Token]) -> list[Binding]:
    """Comparisons of columns with literals, at any depth."""
    return list(_bindings(parts, aliases(parts)))


def joins(parts: Sequence[Token]) -> list[Join]:
    """Equalities of qualified columns of different tables."""
    known, found = aliases(parts), list[Join]()
    for place in range(3, len(parts)):
        left, right = parts[place - 3 : place], parts[place + 1 : place + 4]
        if len(right) < 3 or parts[place].text != "=" or left[1].text != "." or right[1].text != ".":
            continue
        tables = [known.get(side[0].value.lower()) for side in (left, right)]
        if tables[0] and tables[1] and tables[0] != tables[1]:
            found.append(Join(tables[0], left[2].value.lower(), tables[1], right[2].value.lower()))
    return found


def literal(token: Token) -> str | int | float | None:
    """The value of a literal; None for other tokens."""
    if token.kind == "string":
        quote = token.text[0]
        return token.value.replace(quote * 2, quote)
    if token.kind != "number":
        return None
    return int(token.text) if token.text.isdigit() else float(token.text)


def _bindings(parts: Sequence[Token], known: dict[str, str]) -> Iterator[Binding]:
    for place, token in enumerate(parts):
        operator = token.word or token.text
        if operator not in COMPARISONS and operator not in ("LIKE", "IN", "BETWEEN"):
            continue
        column = _column(parts[:place], known)
        if column is None:
            continue
        for value in _literals(parts[place + 1 :], operator):
            yield Binding(*column, operator, value)


def _literals(after: Sequence[Token], operator: str) -> Iterator[str | int | float]:
    """Literals to the right of an operator."""
    if operator == "BETWEEN":
        chosen = [after[0], after[2]] if len(after) > 2 else []
    elif operator == "IN" and len(after) > 1 and after[1].word == "SELECT":
        chosen = []
    elif operator == "IN":
        end = next((n for n, token in enumerate(after) if token.text == ")"), 0)
        chosen = list(after[1:end])
    else:
        chosen = list(after[:1])
    for token in chosen:
        value = literal(token)
        if value is not None:
            yield value


def _column(before: Sequence[Token], known: dict[str, str]) -> tuple[str | None, str] | None:
    """Table and name of the column at the end of these tokens."""
    if before and before[-1].word == "NOT":
        before = before[:-1]
    if not before or before[-1].kind not in ("word", "name"):
        return None
    column = before[-1].value.lower()
    if len(before) > 2 and before[-2].text == ".":
        return known.get(before[-3].value.lower()), column
    tables = set(known.values())
    return (tables.pop() if len(tables) == 1 else None), column


def _alias(after: Sequence[Token]) -> str | None:
    if len(after) > 1 and after[0].word == "AS":
        return after[1].value.lower()
    if after and after[0].kind in ("word", "name") and after[0].word not in _AFTER_TABLE:
        return after[0].value.lower()
    return None
