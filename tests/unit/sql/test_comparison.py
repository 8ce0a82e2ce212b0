"""Comparison of results: golden values, each with what it must tell apart."""

import random
import sqlite3
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentgym_envs.sql.comparison.expectation import UnusableGold, expected
from agentgym_envs.sql.comparison.matching import matches
from agentgym_envs.sql.comparison.values import same_rows, same_value
from agentgym_envs.sql.executor.database import Source

SCRIPT = """
CREATE TABLE p (id INTEGER PRIMARY KEY, name TEXT COLLATE NOCASE, age INTEGER, height REAL);
INSERT INTO p VALUES (1, 'Ann', 30, 1.5), (2, 'Bob', 20, 1.6), (3, 'Cid', 30, 1.7), (4, 'Dan', 40, NULL),
                     (5, 'ann', 20, 1.8), (6, 'Eve', 50, 1.9);
"""


def image() -> bytes:
    connection = sqlite3.connect(":memory:")
    connection.executescript(SCRIPT)
    return connection.serialize()


DATABASE = Source(None, image()).opened()


def judged(gold: str, prediction: str) -> bool:
    return matches(DATABASE.run(prediction), expected(DATABASE, gold))


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (1, 1.0, True),
        (1, True, True),
        (1_000_000, 1_000_001, False),  # integers are exact
        (1_000_000.0, 1_000_000.9, True),  # 0.9e-6 of the larger one
        (1_000_000.0, 1_000_002.0, False),
        (0.0, 9e-10, True),
        (0.0, 2e-9, False),
        (None, None, True),
        (None, 0, False),
        (None, "", False),
        ("a", "A", False),
        ("e\u0301", "\u00e9", True),  # NFC
        ("1", 1, False),
        (b"a", b"a", True),
        (b"a", "a", False),
        (float("inf"), float("inf"), True),
        (float("inf"), 1e308, False),
    ],
)
def test_values(one: Any, other: Any, same: bool) -> None:
    assert same_value(one, other) is same
    assert same_value(other, one) is same


@pytest.mark.parametrize(
    ("gold", "prediction", "right"),
    [
        # a multiset: order does not count, numbers of rows do
        ("SELECT age FROM p", "SELECT age FROM p ORDER BY age", True),
        ("SELECT age FROM p", "SELECT DISTINCT age FROM p", False),
        ("SELECT DISTINCT age FROM p", "SELECT age FROM p GROUP BY age", True),
        ("SELECT DISTINCT age FROM p", "SELECT age FROM p", False),
        # names do not count, the order of columns does
        ("SELECT name, age FROM p", "SELECT name AS x, age + 0.0 FROM p", True),
        ("SELECT name, age FROM p", "SELECT age, name FROM p", False),
        ("SELECT name FROM p", "SELECT name, age FROM p", False),
        # a sequence; 1 and 3 tie, 2 and 5 too
        ("SELECT id FROM p ORDER BY age", "SELECT id FROM p ORDER BY age, id DESC", True),
        ("SELECT id FROM p ORDER BY age", "VALUES (5), (2), (3), (1), (4), (6)", True),
        ("SELECT id FROM p ORDER BY age", "VALUES (5), (3), (2), (1), (4), (6)", False),
        ("SELECT id FROM p ORDER BY age", "SELECT id FROM p ORDER BY age DESC", False),
        ("SELECT id FROM p ORDER BY age", "SELECT id FROM p", False),
        ("SELECT id FROM p ORDER BY age, id", "SELECT id FROM p ORDER BY age, id DESC", False),
        # the column's collation decides about ties: Ann and ann do
        ("SELECT id FROM p ORDER BY name", "VALUES (5), (1), (2), (3), (4), (6)", True),
        (
            "SELECT name FROM p ORDER BY name",
            "VALUES ('ann'), ('Ann'), ('Bob'), ('Cid'), ('Dan'), ('Eve')",
            True,
        ),
        (
            "SELECT name FROM p ORDER BY name",
            "VALUES ('ann'), ('ann'), ('Bob'), ('Cid'), ('Dan'), ('Eve')",
            False,
        ),
        # a LIMIT that cuts a tie: any of its rows
        ("SELECT id FROM p ORDER BY age LIMIT 1", "VALUES (5)", True),
        ("SELECT id FROM p ORDER BY age LIMIT 1", "VALUES (2)", True),
        ("SELECT id FROM p ORDER BY age LIMIT 1", "VALUES (1)", False),
        ("SELECT id FROM p ORDER BY age LIMIT 1", "VALUES (2), (5)", False),
        ("SELECT id FROM p ORDER BY age LIMIT 3", "VALUES (5), (2), (3)", True),
        ("SELECT id FROM p ORDER BY age LIMIT 3", "VALUES (5), (2), (4)", False),
        ("SELECT id FROM p ORDER BY age LIMIT 3", "VALUES (5), (5), (3)", False),
        ("SELECT id FROM p ORDER BY age LIMIT 2 OFFSET 1", "VALUES (2), (3)", True),
        ("SELECT id FROM p ORDER BY age LIMIT 2 OFFSET 1", "VALUES (3), (2)", False),
        ("SELECT id FROM p LIMIT 2", "VALUES (6), (3)", True),
        ("SELECT id FROM p LIMIT 2", "VALUES (6), (6)", False),
        # groups, aliases, numbers, DISTINCT and compounds in ORDER BY
        ("SELECT age FROM p GROUP BY age ORDER BY count(*) DESC LIMIT 1", "VALUES (20)", True),
        ("SELECT age FROM p GROUP BY age ORDER BY count(*) DESC LIMIT 1", "VALUES (30)", True),
        ("SELECT age FROM p GROUP BY age ORDER BY count(*) DESC LIMIT 1", "VALUES (40)", False),
        ("SELECT age AS x, id FROM p ORDER BY x LIMIT 1", "VALUES (20, 5)", True),
        ("SELECT id, age FROM p ORDER BY 2 DESC LIMIT 1", "VALUES (6, 50)", True),
        ("SELECT id, age FROM p ORDER BY 2 LIMIT 1", "VALUES (5, 20)", True),
        ("SELECT DISTINCT age FROM p ORDER BY age DESC", "VALUES (50), (40), (30), (20)", True),
        ("SELECT DISTINCT age FROM p ORDER BY age DESC", "VALUES (40), (50), (30), (20)", False),
        ("SELECT id FROM p UNION SELECT age FROM p ORDER BY id LIMIT 1", "VALUES (1)", True),
        # NULL, errors, numbers
        ("SELECT height FROM p WHERE id > 3", "VALUES (NULL), (1.8), (1.9)", True),
        ("SELECT height FROM p WHERE id > 3", "VALUES (0), (1.8), (1.9)", False),
        ("SELECT id FROM p WHERE id > 9", "SELECT x", False),
        ("SELECT avg(age) FROM p", "SELECT sum(age) / 6.0 FROM p", True),
        ("SELECT avg(age) FROM p", "SELECT sum(age) / 6 FROM p", False),
    ],
)
def test_predictions(gold: str, prediction: str, right: bool) -> None:
    assert judged(gold, gold), "a gold matches itself"
    assert judged(gold, prediction) is right


@pytest.mark.parametrize(
    ("gold", "reason"),
    [
        ("SELECT x FROM p", "it ends with error: no such column: x"),
        ("SELECT a.id FROM p a, p b, p c, p d", "it ends with too_many_rows: more than 1000 rows"),
        (
            "SELECT DISTINCT name FROM p ORDER BY height LIMIT 2",
            "the rows that tie at its LIMIT are not known",
        ),
        ("SELECT id FROM p LIMIT 1 + 1", "LIMIT 1 [+] 1 is not a number"),
    ],
)
def test_a_gold_that_cannot_judge_is_refused(gold: str, reason: str) -> None:
    with pytest.raises(UnusableGold, match=f"^{reason}$"):
        expected(DATABASE, gold)


def test_numbers_within_the_tolerance_are_assigned_to_each_other() -> None:
    """Sorted pairs would not do: each row has one partner, in the other order."""
    one = [(1.0, "b"), (1.0000005, "a")]
    assert same_rows(one, [(1.0000005, "b"), (1.0, "a")])
    assert not same_rows(one, [(1.0, "b"), (1.0000005, "b")])
    crossed = [(1.0, 2.0), (1.0000005, 1.0)]
    assert same_rows(crossed, [(1.0, 1.0), (1.0000005, 2.0)])
    assert not same_rows(crossed, [(1.0, 1.0), (1.0000005, 1.0)])


def test_many_rows_within_the_tolerance_are_no_deep_recursion() -> None:
    rows = [(1 + number * 1e-9, -number * 1e-12) for number in range(300)]
    assert same_rows(rows, rows[::-1])


ROWS = st.lists(st.tuples(st.sampled_from([0, 1, 1.0, None, "a", "A"]), st.integers(0, 2)), max_size=6)


@given(rows=ROWS, draw=st.randoms(use_true_random=False))
def test_a_multiset_equals_its_permutations_and_contains_its_parts(
    rows: list[Any], draw: random.Random
) -> None:
    shuffled = draw.sample(rows, len(rows))
    assert same_rows(shuffled, rows)
    assert same_rows(shuffled[1:], rows)
    assert not same_rows([*rows, ("another", 0)], [*rows, ("row", 0)])
