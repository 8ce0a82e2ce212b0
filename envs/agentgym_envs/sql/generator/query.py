"""Abstract syntax of generated golds."""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Query:
    """A SELECT. Expressions are texts of the templates, in which only names and literals are filled in."""

    select: tuple[str, ...]
    source: str
    """Table, or `table AS alias`."""
    joins: tuple[tuple[str, str], ...] = ()
    """Joined table and condition."""
    where: tuple[str, ...] = ()
    """Conditions that all hold."""
    group: str = ""
    having: str = ""
    order: tuple[str, ...] = ()
    limit: int | None = None
    distinct: bool = False
    combined: tuple[str, "Query"] | None = field(default=None)
    """INTERSECT, EXCEPT or UNION with another query."""

    @property
    def sql(self) -> str:
        """The query as SQL."""
        parts = [f"SELECT {'DISTINCT ' if self.distinct else ''}{', '.join(self.select)} FROM {self.source}"]
        parts += [f"JOIN {table} ON {condition}" for table, condition in self.joins]
        clauses = {
            "WHERE": " AND ".join(self.where),
            "GROUP BY": self.group,
            "HAVING": self.having,
            "ORDER BY": ", ".join(self.order),
            "LIMIT": "" if self.limit is None else str(self.limit),
        }
        parts += [f"{keyword} {text}" for keyword, text in clauses.items() if text]
        if self.combined is not None:
            parts.append(f"{self.combined[0]} {self.combined[1].sql}")
        return " ".join(parts)


@dataclass(frozen=True)
class Write:
    """An INSERT, UPDATE or DELETE."""

    verb: str
    """`UPDATE t SET a = 1`, `DELETE FROM t`, or a whole INSERT."""
    where: tuple[str, ...] = ()

    @property
    def sql(self) -> str:
        """The statement as SQL."""
        return f"{self.verb} WHERE {' AND '.join(self.where)}" if self.where else self.verb


def literal(value: str | int | float) -> str:
    """A value as a SQL literal."""
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return str(value)
