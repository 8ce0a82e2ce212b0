"""AgentGym's environment of SQL: one statement, its result, and the reward."""

import pytest
from support.server.agentgym import serving

from agentgym_envs.registry import make
from agentgym_envs.sql.agentgym import SQLGym


@pytest.fixture(scope="module")
def environment() -> SQLGym:
    return SQLGym()


def test_it_is_registered():
    assert isinstance(make("sqlgym"), SQLGym)


def test_the_first_observation_has_the_tables_and_the_question(environment: SQLGym):
    task = environment.task("train/easy/0")
    *tables, question = environment.reset(task, 0).text.splitlines()
    assert question == f"Question: {task.instruction}"
    assert len(tables) >= 2
    assert all(line.startswith("CREATE TABLE ") for line in tables)


def test_one_statement_is_executed_and_judged(environment: SQLGym):
    task = environment.task("train/easy/0")
    environment.reset(task, 0)
    result = environment.step(f"Thought: easy.\n\nAction: ```sql\n{task.gold}\n```")
    assert result.observation.text.splitlines()[0] == "name"
    assert (result.reward, result.terminated, result.info) == (1.0, True, {"outcome": "success"})
    again = environment.step(task.gold)
    assert (again.reward, again.terminated) == (0.0, True)


@pytest.mark.parametrize(
    ("action", "shown"),
    [
        ("SELECT 1", "1"),
        ("DROP TABLE jewelers", "denied"),
        ("SELECT nothing FROM nowhere", "error"),
        ("I do not know.", "denied"),
        ("", "error"),
        ("SELECT '" + "x" * 30_000 + "'", "error"),
    ],
)
def test_a_wrong_statement_ends_the_episode_too(environment: SQLGym, action: str, shown: str):
    environment.reset(environment.task("train/easy/0"), 0)
    result = environment.step(action)
    assert shown in result.observation.text
    assert (result.reward, result.terminated) == (0.0, True)


async def test_agentgyms_client_plays_it():
    world = SQLGym()
    task = world.tasks("train")[9427]  # the last index of AgentGym's training split
    async with serving({"sqlgym": SQLGym}) as client:
        assert await client.post("sqlgym/create") == (200, 0)
        _, begun = await client.post("sqlgym/reset", {"env_idx": 0, "item_id": 9427})
        assert begun[0].endswith(f"Question: {task.instruction}")
        assert begun[1] is None
        gold = world.expert(task)[0]  # type: ignore[index] - there is an expert
        _, reply = await client.post("sqlgym/step", {"env_idx": 0, "action": gold})
        assert (reply["reward"], reply["done"], reply["info"]) == (1.0, True, {})
        assert len(reply["state"]) <= 103
