"""Our versions of SQL functions against SQLite's own."""

import sqlite3

from hypothesis import example, given, settings
from hypothesis import strategies as st

from agentgym_envs.sql.executor.database import Source

PLAIN = sqlite3.connect(":memory:")
PARTS = st.text(alphabet="abAB%_*?[]^-é\\. \n", max_size=12)
VALUES = st.one_of(
    st.none(), st.integers(-(2**63), 2**63 - 1), st.floats(allow_nan=False), PARTS, PARTS.map(str.encode)
)


def image() -> bytes:
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE t (x)")
    connection.commit()
    return connection.serialize()


DATABASE = Source(None, image()).opened()
PLAIN.text_factory = lambda raw: raw.decode("utf-8", "replace")


def literal(value: object) -> str:
    if value in {float("inf"), float("-inf")}:
        return "9e999" if value == float("inf") else "-9e999"
    return PLAIN.execute("SELECT quote(?)", (value,)).fetchone()[0]


@settings(max_examples=300, deadline=None)
@given(pattern=PARTS, text=PARTS)
@example(pattern="[[-?]", text="[")  # the end of the range comes before its beginning, which is a member
@example(pattern="[]-a]", text="_")  # a first ] begins no range
@example(pattern="[]-a]", text="-")
@example(pattern="[a-b-c]", text="-")
def test_like_and_glob_match_as_those_of_sqlite(pattern: str, text: str) -> None:
    for operator in ("LIKE", "GLOB"):
        sql = f"SELECT {literal(text)} {operator} {literal(pattern)}"
        assert DATABASE.run(sql).rows == (PLAIN.execute(sql).fetchone(),), sql
    sql = f"SELECT {literal(text)} LIKE {literal(pattern)} ESCAPE '\\'"
    assert DATABASE.run(sql).rows == (PLAIN.execute(sql).fetchone(),), sql


@settings(max_examples=300, deadline=None)
@given(one=VALUES, two=VALUES, three=VALUES)
def test_string_functions_give_what_those_of_sqlite_give(one: object, two: object, three: object) -> None:
    a, b, c = map(literal, (one, two, three))
    for sql in (
        f"SELECT {a} LIKE {b}, {a} GLOB {b}",
        f"SELECT instr({a}, {b}), replace({a}, {b}, {c})",
        f"SELECT trim({a}, {b}), ltrim({a}, {b}), rtrim({a}, {b})",
        f"SELECT hex({a}), printf('%5s|%.3f|%d %% of 1000000', {a}, {b}, {c})",
    ):
        assert DATABASE.run(sql).rows == (PLAIN.execute(sql).fetchone(),), sql


def test_dates_are_those_of_sqlite() -> None:
    sql = "SELECT date('2024-01-31', '+1 month'), strftime('%Y/%m', '2024-05-06'), julianday('2024-01-01')"
    assert DATABASE.run(sql).rows == (("2024-03-02", "2024/05", 2460310.5),)


def test_a_pattern_takes_time_in_proportion_to_its_text() -> None:
    big = "printf('%.*c', 99000, 'a')"
    result = DATABASE.run(f"SELECT {big} LIKE '{'%_a' * 60}b'")
    assert result.rows == ((0,),)
    assert DATABASE.meter.steps < 1_000_000


def test_a_function_that_would_loop_for_seconds_is_refused() -> None:
    for width in (
        "'%.*c', 1000000000, 'x'",
        "'%1000000000d', 1",
        "'%*d', '1000000000', 1",
        "'%.*c', 1e9, 'x'",
    ):
        assert DATABASE.run(f"SELECT printf({width})").status == "resource_limit"
    assert DATABASE.run("SELECT printf('%.*c', 5, 'x'), format('%04d', 7)").rows == (("xxxxx", "0007"),)
