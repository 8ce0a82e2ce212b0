"""Statements of agents: no clock, limits that earlier statements do not move, stars that are no widths."""

import pytest

from agentgym_envs.sql.executor.database import Source
from agentgym_envs.sql.messages import statement_in
from tests.support import pets


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT date('now')",
        "SELECT date(x'6e6f77')",
        "SELECT unixepoch(CAST('now' AS BLOB))",
        "SELECT julianday('now' || char(0) || 'abc')",
        "SELECT datetime('2024-01-01', x'6c6f63616c74696d65')",
        "SELECT strftime('%Y', ' NOW ')",
    ],
)
def test_the_clock_cannot_be_read(statement: str) -> None:
    database = Source(None, pets.image()).opened()
    assert database.run(statement).status == "denied"
    assert database.run("SELECT date('2024-01-31', '+1 day')").rows == (("2024-02-01",),)


@pytest.mark.parametrize("count", [294_000, 294_138, 294_200])
def test_a_statement_near_the_limit_ends_each_time_in_the_same_way(count: int) -> None:
    database = Source(None, pets.image()).opened()
    statement = (
        "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < "
        f"{count}) SELECT count(*) FROM r"
    )
    assert len({database.run(statement).status for _ in range(4)}) == 1


@pytest.mark.parametrize(
    ("statement", "value"),
    [
        ("SELECT printf('%d * %d', 100000, 2)", "100000 * 2"),
        ("SELECT printf('%.1f*', 2.5)", "2.5*"),
        ("SELECT format('*%s*', 'a')", "*a*"),
        ("SELECT printf('%*d', 5, 7)", "    7"),
        ("SELECT printf('%*.1f', 6, 2.5)", "   2.5"),
        ("SELECT printf('%*.1f|%d', 6, 123456.5, 100000)", "123456.5|100000"),
        ("SELECT printf('%*d', 5.9, 7)", "    7"),
        ("SELECT printf('%*s|%s', 3, 'a', 'call 100000')", "  a|call 100000"),
        ("SELECT printf('%%%-*d|', '3x', 7)", "%7  |"),
        ("SELECT printf('%n%,*d', 9, 1234567)", "1,234,567"),
        ("SELECT printf('%*d %d', NULL, 1, 999999)", "1 999999"),
    ],
)
def test_only_a_star_of_a_conversion_is_a_width(statement: str, value: str) -> None:
    assert Source(None, pets.image()).opened().run(statement).rows == ((value,),)


@pytest.mark.parametrize(
    "arguments",
    [
        "'%*d', 99999999, 7",
        "'%*d', -99999999, 7",
        "'%*d', 99999999.5, 7",
        "'%*d', '99999999 and more', 7",
        "'%*d', CAST('99999999' AS BLOB), 7",
        "'%d%% %.*c', 1, 99999999, 'x'",
        "'%*.*c', 3, 99999999, 'x'",
        "'%99999999999999999999999c', 'x'",
        "'%,0.99999999ld', 7",
    ],
)
def test_a_width_that_is_given_is_bounded(arguments: str) -> None:
    result = Source(None, pets.image()).opened().run(f"SELECT printf({arguments})")
    assert (result.status, result.message) == ("resource_limit", "string or blob too big")


@pytest.mark.parametrize(
    "fence", ["```sql\nSELECT 1\n```", "```Sql\r\nSELECT 1\r\n```", "```\nSELECT 1\n```"]
)
def test_a_fence_in_any_spelling_holds_a_statement(fence: str) -> None:
    assert (statement_in(fence) or "").strip() == "SELECT 1"
