"""The environment: tools, the one-step form, verdicts."""

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from agentgym_envs.sql import SQL
from agentgym_envs.sql.imported.importing import import_official
from agentgym_envs.sql.messages import statement_in
from agentgym_envs.sql.tasks import SQLTask
from agentgym_envs.tooluse.calls import written
from tests.support.pets import write

COUNT = "SELECT count(*) FROM pet WHERE kind = 'cat'"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sql")
    import_official(write(folder / "source"), folder / "home")
    return folder / "home"


@pytest.fixture
def world(home: Path) -> SQL:
    return SQL(home=home)


@pytest.fixture
def task(world: SQL) -> SQLTask:
    return world.task("pets/1")


def outcome(world: SQL, task: SQLTask, *actions: str) -> tuple[float, dict[str, Any]]:
    """Return and info of the last action."""
    world.reset(task, 0)
    results = [world.step(action) for action in actions]
    return sum(result.reward for result in results), results[-1].info


def test_an_episode_by_tools(world: SQL, task: SQLTask) -> None:
    assert world.reset(task, 0).text.startswith("The database has the tables owner, pet.")
    assert world.step(written("list_tables")).observation.text == '["owner", "pet"]'
    assert world.step(written("describe_table", table="OWNER")).observation.text == (
        "CREATE TABLE owner (id INTEGER PRIMARY KEY, name TEXT NOT NULL, city TEXT)\n"
        "id | name | city\n1 | owner 1 | Estmark\n2 | owner 2 | Suthlin\n3 | owner 3 | Norrvale"
    )
    assert world.step(written("run_sql", sql=COUNT)).observation.text == "count(*)\n10"
    result = world.step(written("submit_sql", sql=COUNT))
    assert (result.reward, result.terminated, result.info) == (1.0, True, {"outcome": "success"})


def test_answers_to_queries(world: SQL, task: SQLTask) -> None:
    world.reset(task, 0)
    texts = [
        world.step(written("run_sql", sql=sql)).observation.text
        for sql in (
            "SELECT x",
            "DROP TABLE pet",
            "SELECT name FROM pet WHERE id > 99",
            "SELECT a.id FROM pet a, pet b",
        )
    ]
    assert texts[:3] == [
        "error: no such column: x",
        "denied: a statement begins with SELECT, VALUES, WITH; not with DROP",
        "name\n(no rows)",
    ]
    assert texts[3].endswith("… (850 more rows)")
    assert texts[3].count("\n") == 51
    assert (
        "no table 'nobody'; there are: owner, pet"
        in world.step(written("describe_table", table="nobody")).observation.text
    )


def test_ten_queries_are_allowed(world: SQL, task: SQLTask) -> None:
    world.reset(task, 0)
    texts = [world.step(written("run_sql", sql="SELECT 1")).observation.text for _ in range(11)]
    assert texts[:10] == ["1\n1"] * 10
    assert json.loads(texts[10])["error"]["code"] == "limit"
    assert world.step(written("submit_sql", sql=COUNT)).reward == 1.0


@pytest.mark.parametrize(
    ("sql", "reward"),
    [
        (COUNT, 1.0),
        ("SELECT sum(kind = 'cat') FROM pet", 1.0),
        ("SELECT 10", 0.0),  # right on the base only
        ("SELECT count(*) FROM pet", 0.0),
        ("SELECT x", 0.0),
        ("DROP TABLE pet", 0.0),
    ],
)
def test_verdicts(world: SQL, task: SQLTask, sql: str, reward: float) -> None:
    found, info = outcome(world, task, written("submit_sql", sql=sql))
    assert found == reward
    assert info["outcome"] == ("success" if reward else "wrong_answer")


def test_info_tells_of_the_agents_own_query_only(world: SQL, task: SQLTask) -> None:
    assert outcome(world, task, written("submit_sql", sql="SELECT 10"))[1] == {
        "outcome": "wrong_answer",
        "execution": "ok",
    }
    assert outcome(world, task, written("submit_sql", sql="SELECT x"))[1]["execution"] == "error"


def test_the_first_submission_is_final(world: SQL, task: SQLTask) -> None:
    wrong, right = written("submit_sql", sql="SELECT 10"), written("submit_sql", sql=COUNT)
    assert outcome(world, task, wrong, right)[0] == 0.0
    assert outcome(world, task, right, wrong)[0] == 1.0


@pytest.mark.parametrize(
    ("message", "statement"),
    [
        (COUNT, COUNT),
        (f"```sql\n{COUNT}\n```", COUNT),
        (f"<think>```sql\nSELECT 1\n```</think>The query:\n```sql\n{COUNT};\n```\nThat is it.", f"{COUNT};"),
        (f"```\n{COUNT}", COUNT),
        (f"First ```sql\nSELECT 1\n``` and better\n```sql\n{COUNT}\n```", COUNT),
        ("-- all\nWITH a AS (SELECT 1) SELECT * FROM a", "-- all\nWITH a AS (SELECT 1) SELECT * FROM a"),
        ("I do not know.", None),
        ("```python\nprint(1)\n```", None),
        ("DROP TABLE pet", None),
        ("", None),
    ],
)
def test_statements_in_messages(message: str, statement: str | None) -> None:
    assert statement_in(message) == statement


def test_a_message_with_a_statement_is_submitted(world: SQL, task: SQLTask) -> None:
    assert outcome(world, task, f"```sql\n{COUNT}\n```") == (1.0, {"outcome": "success"})
    assert outcome(world, task, "No idea.")[1] == {"invalid_action": True}


def test_the_opening_may_have_the_schema(home: Path, task: SQLTask) -> None:
    text = SQL("opening", home=home).reset(task, 0).text
    assert "CREATE TABLE pet ( id INTEGER PRIMARY KEY, name TEXT, kind TEXT" in text
    with pytest.raises(ValueError, match="no schema 'x'; there are: tools, opening"):
        SQL("x")  # type: ignore[arg-type]


def test_the_player_reads_the_tables_and_wins_with_care(world: SQL) -> None:
    task = world.task("pets/3")
    assert world.demonstrate(task, 0) == [
        written("list_tables"),
        written("describe_table", table="owner"),
        written("describe_table", table="pet"),
        written("run_sql", sql=task.gold),
        written("submit_sql", sql=task.gold),
    ]
    tasks = world.tasks("valid")[:40]
    won = {
        care: sum(outcome(world, one, *world.demonstrate(one, 1, care))[0] for one in tasks)
        for care in (1.0, 0.7, 0.0)
    }
    assert won[1.0] == 40
    assert 20 <= won[0.7] <= 36
    assert won[0.0] <= 4


def test_imported_tasks_stand_beside_generated_ones(world: SQL, tmp_path: Path) -> None:
    assert world.splits == ("train", "valid", "test", "imported_train")
    assert [task.id for task in world.tasks("imported_train", "easy")] == ["pets/0", "pets/1"]
    assert SQL(home=tmp_path).splits == ("train", "valid", "test")
    assert world.data_version.startswith("generated:1.2+imported:")


def test_episodes_in_threads_are_those_played_alone(home: Path) -> None:
    world = SQL(home=home)
    tasks = [*world.tasks("valid")[:10], *world.tasks("imported_train")]
    plans = [world.demonstrate(task, 3, 0.5) for task in tasks]

    def transcript(number: int) -> list[str]:
        own = SQL(home=home)
        texts = [own.reset(tasks[number], 0).text]
        return texts + [own.step(action).model_dump_json() for action in plans[number]]

    alone = list(map(transcript, range(len(tasks))))
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(transcript, range(len(tasks)))) == alone
    worlds = [SQL(home=home) for _ in tasks]
    together = [[world.reset(task, 0).text] for world, task in zip(worlds, tasks, strict=True)]
    for turn in range(max(map(len, plans))):
        for one, plan, texts in zip(worlds, plans, together, strict=True):
            texts += [one.step(plan[turn]).model_dump_json()] if turn < len(plan) else []
    assert together == alone
