"""Structure of golds: tokens, clauses, conditions, mutants."""

import pytest

from agentgym_envs.sql.queries.clauses import Unreadable, read
from agentgym_envs.sql.queries.conditions import Binding, Join, bindings, joins
from agentgym_envs.sql.queries.extremes import least
from agentgym_envs.sql.queries.tokens import joined, tokens
from agentgym_envs.sql.variants.mutants import mutants
from agentgym_envs.sql.variants.schema import Column, Reference, Table

PARENT = Table("owner", (Column("id", False), Column("city", True)), ((0,),), ())
CHILD = Table(
    "pet", (Column("id", False), Column("owner_id", False)), ((0,),), (Reference((1,), "owner", (0,)),)
)


def test_tokens_keep_strings_and_drop_comments() -> None:
    sql = "SELECT 'it''s -- a', `a b`.[c], \"x\" /* no */ FROM t -- all\n WHERE a<>1.5e3;"
    assert [token.text for token in tokens(sql)] == [
        *(
            "SELECT",
            "'it''s -- a'",
            ",",
            "`a b`",
            ".",
            "[c]",
            ",",
            '"x"',
            "FROM",
            "t",
            "WHERE",
            "a",
            "<>",
            "1.5e3",
        ),
    ]
    assert joined(tokens("SELECT count( * ) , a . b FROM t")) == "SELECT count(*), a.b FROM t"
    assert joined(tokens("SELECT ' . ( x ) , '")) == "SELECT ' . ( x ) , '"


def test_clauses_of_the_outermost_level() -> None:
    query = read(
        "SELECT DISTINCT a AS x, max(b, c) FROM t WHERE d IN (SELECT e FROM u ORDER BY f LIMIT 9) "
        "GROUP BY a ORDER BY x DESC, 2 LIMIT 3 OFFSET 1"
    )
    assert query.distinct
    assert [joined(item) for item in query.items] == ["a AS x", "max(b, c)"]
    assert (joined(query.order), query.limit, query.offset) == ("x DESC, 2", 3, 1)
    assert not query.compound
    assert (
        read("SELECT a FROM t LIMIT 1, 3")[3:6] if False else read("SELECT a FROM t LIMIT 1, 3").offset == 1
    )
    assert read("SELECT a FROM t UNION SELECT b FROM u ORDER BY a").compound
    with pytest.raises(Unreadable):
        read("VALUES (1)")


def test_conditions_are_read_with_their_tables() -> None:
    sql = (
        "SELECT p.a FROM pet AS p JOIN owner o ON p.owner_id = o.id WHERE p.age >= 3 AND o.city LIKE '%x%' "
        "AND kind IN ('cat', 'dog') AND p.id NOT IN (SELECT id FROM gone WHERE why = 'sold') "
        "AND p.w BETWEEN 1.5 AND 2"
    )
    assert bindings(tokens(sql)) == [
        Binding("pet", "age", ">=", 3),
        Binding("owner", "city", "LIKE", "%x%"),
        Binding(None, "kind", "IN", "cat"),
        Binding(None, "kind", "IN", "dog"),
        Binding(None, "why", "=", "sold"),
        Binding("pet", "w", "BETWEEN", 1.5),
        Binding("pet", "w", "BETWEEN", 2),
    ]
    assert joins(tokens(sql)) == [Join("pet", "owner_id", "owner", "id")]


@pytest.mark.parametrize(
    ("gold", "expected"),
    [
        ("SELECT DISTINCT a FROM t", ["distinct: SELECT a FROM t"]),
        ("SELECT a FROM t WHERE b = 1", ["conjunct: SELECT a FROM t"]),
        (
            "SELECT a FROM t WHERE b BETWEEN 1 AND 2 AND c < 3",
            [
                "conjunct: SELECT a FROM t WHERE c < 3",
                "conjunct: SELECT a FROM t WHERE b BETWEEN 1 AND 2",
                "boundary: SELECT a FROM t WHERE b BETWEEN 1 AND 2 AND c <= 3",
            ],
        ),
        ("SELECT a FROM t WHERE b = 1 OR c = 2", ["conjunct: SELECT a FROM t"]),
        ("SELECT min(a) FROM t", ["extreme: SELECT max(a) FROM t"]),
        (
            "SELECT a FROM t ORDER BY b LIMIT 1",
            [
                "direction: SELECT a FROM t ORDER BY b DESC LIMIT 1",
                "limit: SELECT a FROM t ORDER BY b LIMIT 2",
            ],
        ),
        ("SELECT a FROM t ORDER BY b DESC", ["direction: SELECT a FROM t ORDER BY b ASC"]),
        ("SELECT count(a) FROM t", ["count: SELECT count(DISTINCT a) FROM t"]),
        (
            "SELECT a, count(*) FROM t GROUP BY a",
            ["count: SELECT a, count(DISTINCT a) FROM t GROUP BY a"],
        ),
        # an outer join is a mistake where rows without a partner exist, and change the result
        (
            "SELECT o.id FROM owner AS o JOIN pet AS p ON p.owner_id = o.id",
            ["join: SELECT o.id FROM owner AS o LEFT JOIN pet AS p ON p.owner_id = o.id"],
        ),
        ("SELECT o.id FROM pet AS p JOIN owner AS o ON p.owner_id = o.id", []),  # never NULL
        (
            "SELECT o.id FROM owner AS o JOIN pet AS p ON p.owner_id = o.id WHERE p.id > 3",
            [
                "conjunct: SELECT o.id FROM owner AS o JOIN pet AS p ON p.owner_id = o.id",
                "boundary: SELECT o.id FROM owner AS o JOIN pet AS p ON p.owner_id = o.id WHERE p.id >= 3",
            ],
        ),
    ],
)
def test_mutants(gold: str, expected: list[str]) -> None:
    assert [f"{mutant.kind}: {mutant.sql}" for mutant in mutants(gold, [PARENT, CHILD])] == expected


@pytest.mark.parametrize(
    ("gold", "expected"),
    [
        ("SELECT a FROM t ORDER BY b LIMIT 1", [("t", "b")]),
        ("SELECT a FROM t ORDER BY b ASC, c DESC, `d` LIMIT 1", [("t", "b"), ("t", "d")]),
        ("SELECT a FROM t ORDER BY b DESC LIMIT 1", []),  # NULL comes last, as max() leaves it out
        ("SELECT a FROM t ORDER BY b", []),  # all rows are in the result
        ("SELECT a FROM t WHERE b IS NOT NULL ORDER BY b LIMIT 1", []),
        ("SELECT min(b), max(c) FROM t", [("t", "b")]),
        ("SELECT x.a FROM t AS x JOIN u AS y ON x.i = y.j ORDER BY y.B LIMIT 3", [("u", "b")]),
        ("SELECT a FROM t JOIN u ON i = j ORDER BY b LIMIT 1", [(None, "b")]),
        ("SELECT a FROM t GROUP BY a ORDER BY count(*) LIMIT 1", []),
        ("SELECT a FROM t GROUP BY a ORDER BY sum(b) LIMIT 1", [("t", "b")]),
        ("SELECT a FROM t WHERE b = (SELECT c FROM t ORDER BY c LIMIT 1) LIMIT 2", [("t", "c")]),
        ("SELECT a FROM t WHERE b IN (SELECT c FROM t ORDER BY c) LIMIT 2", []),
    ],
)
def test_columns_of_which_the_least_value_is_wanted(
    gold: str, expected: list[tuple[str | None, str]]
) -> None:
    assert [tuple(name) for name in least(tokens(gold))] == expected
