"""The policies without weights."""

import pytest

from agentevol.core.errors import ConfigError, PolicyFault
from agentevol.core.protocols import Conversation, Message
from agentevol.engines.scripted import scripted_policy
from agentgym_envs.core import Observation

ACTIONS = ("go north", "look", "take mug")


def begin(actions: tuple[str, ...] | None = ACTIONS) -> Conversation:
    observation = Observation(text="A room.", actions=actions)
    return Conversation("c", [Message("user", "A room.")], observation=observation, task_id="t-1")


async def said(policy, conversation: Conversation, turns: int, seed: int = 0) -> list[str]:
    texts = []
    for _ in range(turns):
        sample = await policy.act(conversation, seed)
        assert (sample.token_ids, sample.prompt_ids, sample.policy_version) == ((), (), 0)
        texts.append(sample.text)
        conversation.say(sample)
        conversation.hear(Observation(text="A room.", actions=ACTIONS))
    return texts


async def test_the_expert_plays_its_plan_and_asks_for_it_once():
    asked = []

    def plan_of(task_id: str) -> list[str]:
        asked.append(task_id)
        return ["take mug", "go north"]

    assert await said(scripted_policy("expert", plan_of), begin(), 2) == ["take mug", "go north"]
    assert asked == ["t-1"]


async def test_an_expert_may_have_to_wait_for_its_plan():
    async def plan_of(task_id: str) -> list[str]:
        return [f"solve {task_id}"]

    assert await said(scripted_policy("expert", plan_of), begin(), 1) == ["solve t-1"]


@pytest.mark.parametrize(("plan", "message"), [(None, "no actions"), ([], "only 0 actions")])
async def test_an_expert_without_further_actions_is_a_fault(plan, message):
    with pytest.raises(PolicyFault, match=message):
        await scripted_policy("expert", lambda _: plan).act(begin(), 0)


async def test_random_actions_are_a_function_of_the_seed():
    first = await said(scripted_policy("random"), begin(), 20, seed=1)
    assert await said(scripted_policy("random"), begin(), 20, seed=1) == first
    assert await said(scripted_policy("random"), begin(), 20, seed=2) != first
    assert set(first) == set(ACTIONS)


async def test_idle_looks_and_spray_says_everything_in_turn():
    assert await said(scripted_policy("idle"), begin(), 2) == ["look", "look"]
    assert await said(scripted_policy("spray"), begin(), 4) == ["go north", "look", "take mug", "go north"]


@pytest.mark.parametrize("name", ["random", "spray"])
@pytest.mark.parametrize("actions", [None, ()])
async def test_without_admissible_actions_there_is_nothing_to_draw_from(name, actions):
    with pytest.raises(PolicyFault, match="needs admissible actions"):
        await scripted_policy(name).act(begin(actions), 0)


def test_an_unknown_name_is_a_configuration_error_that_lists_the_known():
    with pytest.raises(ConfigError, match="there are: expert, random, idle, spray"):
        scripted_policy("oracle")
    with pytest.raises(ConfigError, match="needs an environment"):
        scripted_policy("expert")
