"""Tasks that write: net changes, their comparison, hostile statements."""

import pytest

from agentgym_envs.sql import SQL
from agentgym_envs.sql.executor.database import Source
from agentgym_envs.sql.variants.resampling import variant
from agentgym_envs.sql.writing.changes import net_change, same_change
from agentgym_envs.sql.writing.service import judge_write
from agentgym_envs.tooluse.calls import written
from tests.support.hostile_sql import HOSTILE
from tests.support.pets import image

BASE = Source(None, image())
OLDER = "UPDATE pet SET age = age + 1 WHERE id IN (1, 2)"


def test_the_net_change_of_a_statement() -> None:
    change = net_change(BASE, OLDER)
    assert change.changed == {
        ("pet", 1): ((1, "pet 1", "dog", 1, 2), (1, "pet 1", "dog", 2, 2)),
        ("pet", 2): ((2, "pet 2", "newt", 2, 5), (2, "pet 2", "newt", 3, 5)),
    }
    assert net_change(BASE, "DELETE FROM owner WHERE id = 3").changed == {
        ("owner", 3): ((3, "owner 3", "Norrvale"), None)
    }
    added = net_change(BASE, "INSERT INTO owner (name) VALUES ('Tim'), ('Tom')")
    assert added.inserted == {"owner": (("Tim", None), ("Tom", None))}
    assert net_change(BASE, "UPDATE pet SET age = age").empty
    assert net_change(BASE, OLDER) == change, "what was written is rolled back"


@pytest.mark.parametrize(
    ("gold", "other", "same"),
    [
        (OLDER, "UPDATE pet SET age = age + 1.0 WHERE id < 3", True),
        (OLDER, "UPDATE pet SET age = age + 1 WHERE id < 4", False),
        (OLDER, "UPDATE pet SET age = age + 2 WHERE id < 3", False),
        (OLDER, "SELECT 1", False),
        (OLDER, f"{OLDER}; DELETE FROM owner", False),
        ("DELETE FROM pet WHERE age > 5", "DELETE FROM pet WHERE age >= 6", True),
        ("DELETE FROM pet WHERE age > 5", "DELETE FROM pet", False),
        ("DELETE FROM pet WHERE id = 1", "UPDATE pet SET name = NULL WHERE id = 1", False),
        # ids that the database gives do not count, nor does the order
        (
            "INSERT INTO owner (name) VALUES ('a'), ('b')",
            "INSERT INTO owner VALUES (90, 'b', NULL), (70, 'a', NULL)",
            True,
        ),
        ("INSERT INTO owner (name) VALUES ('a'), ('b')", "INSERT INTO owner (name) VALUES ('a')", False),
        ("INSERT INTO owner (name) VALUES ('a')", "INSERT INTO owner (name) VALUES ('a'), ('a')", False),
        ("INSERT INTO owner (name) VALUES ('a')", "INSERT INTO owner (name, city) VALUES ('a', 'b')", False),
        ("INSERT INTO owner (name) VALUES ('a')", "UPDATE owner SET name = 'a' WHERE id = 1", False),
    ],
)
def test_changes_are_compared(gold: str, other: str, same: bool) -> None:
    assert same_change(net_change(BASE, other), net_change(BASE, gold)) is same


def test_tasks_are_served_if_variants_tell_their_mutants() -> None:
    golds = [
        "UPDATE pet SET age = 9 WHERE age > 3",
        "UPDATE pet SET age = 9",
        "DELETE FROM pet WHERE age > 90",
    ]
    sources = [BASE, *(Source(None, variant(BASE.image, golds, "pets", number)) for number in range(1, 5))]
    served = judge_write(sources, golds[0])
    assert (served.counting, served.killed) == ((0, 1, 2, 3, 4), ("conjunct", "boundary"))
    assert judge_write(sources, golds[2]).reason == "it changes nothing on most variants"
    assert judge_write([BASE] * 4, golds[0]).reason == "the change is the same on all variants"


@pytest.mark.parametrize("kind", [kind for kind in HOSTILE if kind not in ("writes", "clocks", "texts")])
def test_hostile_statements_change_nothing(
    kind: str, tmp_path: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agentgym_envs.sql.executor.meter.MAX_CPU_S", 0.2)
    for sql in HOSTILE[kind]:
        assert net_change(BASE, sql.replace("person", "pet").replace("{folder}", str(tmp_path))).empty, sql
    assert list(tmp_path.iterdir()) == []  # type: ignore[attr-defined]


def test_a_write_that_is_interrupted_is_rolled_back() -> None:
    endless = "WITH RECURSIVE r(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM r)"
    change = net_change(BASE, f"{endless} INSERT INTO owner (name) SELECT x FROM r")
    assert (change.status, change.empty) == ("resource_limit", True)
    assert net_change(BASE, "UPDATE pet SET name = (SELECT printf('%.*c', 99000, 'a')) || age").status == "ok"


def test_an_episode_that_writes() -> None:
    world = SQL()
    task = world.task("test/write/0")
    assert task.gold == "UPDATE acrobats SET license = 'expired' WHERE distance <= 77.7"
    actions = {
        "gold": (written("submit_sql", sql=task.gold), 1.0),
        "a fenced block": (f"```sql\n{task.gold}\n```", 1.0),
        "too much": (written("submit_sql", sql="UPDATE acrobats SET license = 'expired'"), 0.0),
        "a boundary": (written("submit_sql", sql=task.gold.replace("<=", "<")), 0.0),
        "nothing": (written("submit_sql", sql="SELECT 1"), 0.0),
    }
    for what, (action, reward) in actions.items():
        assert world.reset(task, 0).text.endswith(
            f"Find the statement that makes the change.\n\n{task.instruction}"
        )
        assert world.step(action).reward == reward, what
    world.reset(task, 0)
    assert world.step(written("run_sql", sql=task.gold)).observation.text.startswith("denied: ")
