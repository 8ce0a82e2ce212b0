"""The five environments of tools as AgentGym's clients play them: whole completions, by index."""

import pytest
from support.server.agentgym import Client, serving

from agentgym_envs.families.tasks import FamilyTask
from agentgym_envs.registry import make

NAMES = {"weather": 343, "movie": 238, "todo": 155, "academia": 20, "sheet": 20}


def completion(action: str) -> str:
    """An action of an expert as a model of AgentGym's writes it."""
    name, _, rest = action.removeprefix('{"name": "').partition('", "arguments": ')
    return f"Thought: I go on.\n\nAction: {name} with Action Input: {rest[:-1]}"


async def played(client: Client, name: str, number: int, task: FamilyTask) -> list[dict[str, object]]:
    """The replies to the expert's completions."""
    found = list[dict[str, object]]()
    for action in task.plan:
        status, reply = await client.post(f"{name}/step", {"env_idx": number, "action": completion(action)})
        assert status == 200
        found.append(reply)
    return found


@pytest.mark.parametrize("name", NAMES)
async def test_an_episode_is_won(name: str):
    tasks = make(name).tasks("agentgym")
    async with serving({name: lambda: make(name, render="agentgym")}) as client:
        assert await client.post(f"{name}/create", {"id": 0}) == (200, 0)
        last = len(tasks) - 1
        status, first = await client.post(f"{name}/reset", {"env_idx": 0, "id": last})
        assert (status, first) == (200, await observed(client, name))
        assert first.splitlines() == [
            "Now new trial starts.",
            f"You should perform actions to accomplish the goal: {tasks[last].instruction}",
            "Give me one action.",
        ]
        replies = await played(client, name, 0, tasks[last])
        assert [set(reply) for reply in replies] == [{"observation", "reward", "done"}] * len(replies)
        assert [(reply["reward"], reply["done"]) for reply in replies[:-1]] == [(0.0, False)] * (
            len(replies) - 1
        )
        assert (replies[-1]["reward"], replies[-1]["done"]) == (1.0, True)
        assert all(str(reply["observation"]).startswith("Observation: ") for reply in replies)
        again = (await played(client, name, 0, tasks[last]))[-1]
        assert (again["reward"], again["done"]) == (0.0, True)


async def observed(client: Client, name: str) -> object:
    status, text = await client.get(f"{name}/observation?env_idx=0")
    assert status == 200
    return text


@pytest.mark.parametrize(("name", "count"), NAMES.items())
async def test_indexes_begin_with_agentgyms_and_go_on_with_more_tasks(name: str, count: int):
    environment = make(name)
    further = environment.tasks("train")[0]
    async with serving({name: lambda: make(name, render="agentgym")}) as client:
        await client.post(f"{name}/create", {"id": 0})
        _, text = await client.post(f"{name}/reset", {"env_idx": 0, "id": count})
        assert further.instruction in text
        total = sum(len(environment.tasks(split)) for split in environment.splits)
        for index in (-1, total):
            assert (await client.post(f"{name}/reset", {"env_idx": 0, "id": index}))[0] == 500


@pytest.mark.parametrize("index", [None, "0", 1.5, True, 10**30])
async def test_an_index_that_is_no_integer_is_a_defined_error(index: object):
    async with serving({"todo": lambda: make("todo", render="agentgym")}) as client:
        await client.post("todo/create", {"id": 0})
        status, _ = await client.post("todo/reset", {"env_idx": 0, "id": index})
        assert status == (200 if index is None else 500 if index == 10**30 else 422)
        assert (await client.post("todo/reset", {"env_idx": 7, "id": 0}))[0] == 500


async def test_ids_of_closed_episodes_are_not_given_again_and_two_do_not_see_each_other():
    task = next(task for task in make("todo").tasks("agentgym") if task.kind == "delete_one")
    async with serving({"todo": lambda: make("todo", render="agentgym")}) as client:
        first = (await client.post("todo/create", {"id": int(task.id)}))[1]
        second = (await client.post("todo/create", {"id": int(task.id)}))[1]
        for number in (first, second):  # the second finds the task that the first deleted
            assert (await played(client, "todo", number, task))[-1]["reward"] == 1.0
        await client.post("todo/close", {"env_idx": first})
        third = (await client.post("todo/create", {"id": 0}))[1]
        assert third not in (first, second)
        assert (await client.post("todo/step", {"env_idx": first, "action": "x"}))[0] == 500


async def test_a_completion_that_is_no_call_gets_agentgyms_text():
    async with serving({"weather": lambda: make("weather", render="agentgym")}) as client:
        await client.post("weather/create", {"id": 0})
        _, reply = await client.post("weather/step", {"env_idx": 0, "action": "I do not know."})
        assert reply == {
            "observation": 'Format error, please response in the format of  "Action: [your action] with'
            " Action Input: [your action input]",
            "reward": 0.0,
            "done": False,
        }
