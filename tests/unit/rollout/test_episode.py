import asyncio
import math
from collections import Counter
from types import SimpleNamespace
from typing import Any, cast

import httpx
import numpy as np
import pytest
from support.runs import episode_request
from support.trajectories import without_times

from agentevol.core.algorithms.contract import Rollouts
from agentevol.core.protocols import ContextFull, Conversation, GivenUp
from agentevol.data.training_sequences import facts
from agentevol.engines.scripted import scripted_policy
from agentevol.learn.algorithms.advantages.turn_level import states
from agentevol.rollout import episode
from agentevol.rollout.concurrent_episodes import play_all
from agentevol.rollout.episode import EpisodeRequest, play
from agentgym_client import EnvClient
from agentgym_envs.core import Observation, StepResult
from agentgym_envs.formats import FORMATS, Plain
from agentgym_envs.guess import Guess
from agentgym_server.app import create_app
from agentgym_server.settings import ServerSettings
from agentgym_store.records import STATE, Cancelled, Failed, Sample, Terminated, Truncated
from agentgym_store.store import Store

PLAIN = FORMATS["plain"]


class Clumsy(Guess):
    """Raises when 7 is guessed."""

    def step(self, action: str) -> StepResult:
        if action == "7":
            raise RuntimeError("a bug of the world")
        return super().step(action)


class Counting:
    """Guesses 1, 2, 3, ... ; what it says has made-up tokens."""

    name, version = "counting", 4

    def __init__(self) -> None:
        self.released: list[str] = []

    async def act(self, conversation: Conversation, seed: int) -> Sample:
        guess = len(conversation.samples) + 1
        return Sample(
            text=str(guess), prompt_ids=(1,), token_ids=(guess,), logprobs=(-0.5,), policy_version=4
        )

    def release(self, conversation_id: str) -> None:
        self.released.append(conversation_id)


class Wordy(Counting):
    async def act(self, conversation: Conversation, seed: int) -> Sample:
        if len(conversation.samples) == 2:
            raise ContextFull
        return await super().act(conversation, seed)


def request(number: int, **changes: object) -> EpisodeRequest:
    plain = {"id": f"e{number}", "task_id": f"guess-{number}", "seed": number}
    return episode_request(**plain | changes)


def client(world=Guess, **settings) -> EnvClient:
    app = create_app({"guess": world}, settings=ServerSettings(**settings))
    return EnvClient("http://127.0.0.1:1", transport=httpx.ASGITransport(app), patience_s=5.0)


async def test_an_episode_is_recorded_turn_by_turn():
    policy = Counting()
    async with client() as world:
        played = await play(world, policy, request(2), PLAIN)
    assert isinstance(played.ending, Terminated)
    assert [turn.action for turn in played.turns] == ["1", "2"]
    assert [turn.observation for turn in played.turns] == ["Go higher than 1.", "Right."]
    assert [turn.reward for turn in played.turns] == [0.0, 1.0]
    assert (played.policy, played.turns[1].sample.policy_version) == ("counting", 4)
    assert policy.released == ["e2"]


class Watch:
    """A clock that stands still until it is moved."""

    now = 7.0

    def perf_counter(self) -> float:
        return self.now


async def test_a_turn_has_the_seconds_of_the_policy_and_of_the_environment(monkeypatch):
    watch = Watch()

    class Pondering(Counting):
        async def act(self, conversation: Conversation, seed: int) -> Sample:
            watch.now += 0.4204 + len(conversation.samples)
            return await super().act(conversation, seed)

    class Steady(Guess):
        def step(self, action: str) -> StepResult:
            watch.now += 0.003121
            return super().step(action)

    monkeypatch.setattr(episode, "time", watch)
    async with client(Steady) as world:
        played = await play(world, Pondering(), request(3), PLAIN)
        again = await play(world, Pondering(), request(3, prefix=played.turns[:2]), PLAIN)
    times = [(0.42, 0.00312), (1.42, 0.00312), (2.42, 0.00312)]
    assert [(turn.policy_s, turn.environment_s) for turn in played.turns] == times
    assert again.turns == played.turns  # given turns keep the seconds that they took


class Hot(Guess):
    """A guess of 2 costs what `cost` says, one of 1 was not judged."""

    cost: float = 0.25

    def step(self, action: str) -> StepResult:
        costs = {"1": {"heat": 0.5, "noise": None}, "2": {"heat": self.cost}}.get(action, {})
        return super().step(action).model_copy(update={"costs": costs})


async def test_costs_of_turns_are_recorded_stored_and_counted(tmp_path):
    async with client(Hot) as world:
        played = await play(world, Counting(), request(3), PLAIN)
    assert [turn.costs for turn in played.turns] == [{"heat": 0.5, "noise": None}, {"heat": 0.25}, {}]
    store = Store.open(tmp_path / "table")
    store.append([played], commit={"run": "r"})
    (read,) = store.trajectories()
    assert read == played
    found = facts(read).costs
    assert math.isnan(found.pop("noise"))
    assert found == {"turns": 3.0, "tokens": 3.0, "invalid_actions": 0.0, "heat": 0.75}


@pytest.mark.parametrize("cost", [-1.0, math.nan, cast(Any, "much")])
async def test_a_bad_cost_fails_the_episode(monkeypatch, cost):
    monkeypatch.setattr(Hot, "cost", cost)
    async with client(Hot) as world:
        played = await play(world, Counting(), request(3), PLAIN)
    assert isinstance(played.ending, Failed)
    assert (played.ending.failure, played.total_reward, len(played.turns)) == ("internal", None, 1)
    assert "\n" not in played.ending.detail


async def test_the_turn_limit_truncates_and_the_reward_so_far_counts():
    async with client() as world:
        played = await play(world, Counting(), request(8), PLAIN)
    assert played.ending == Truncated(limit="max_turns")
    assert len(played.turns) == Guess.max_turns
    assert played.total_reward == 0.0


async def test_a_full_context_truncates():
    async with client() as world:
        played = await play(world, Wordy(), request(8), PLAIN)
    assert played.ending == Truncated(limit="context")
    assert len(played.turns) == 2


async def test_a_bug_of_the_world_is_a_failure_without_a_return():
    async with client(Clumsy) as world:
        played = await play(world, scripted_policy("expert", lambda _: ["7"]), request(2), PLAIN)
    assert isinstance(played.ending, Failed)
    assert played.ending.failure == "internal"
    assert played.total_reward is None


async def test_an_unknown_task_and_a_dead_server_are_failures_with_their_kinds():
    async with client() as world:
        unknown = await play(world, Counting(), request(2, task_id="guess-99"), PLAIN)
    async with EnvClient("http://127.0.0.1:9", retries=0) as nowhere:
        unreachable = await play(nowhere, Counting(), request(2), PLAIN)
    assert unknown.ending.failure == "task-not-found"
    assert unreachable.ending.failure == "transport"


async def test_a_broken_policy_fails_only_its_own_episode():
    plans = {"guess-1": ["1"], "guess-2": None, "guess-3": ["1", "3"]}
    policy = scripted_policy("expert", plans.get)
    async with client() as world:
        found = [
            t async for t in play_all(world, policy, [request(n) for n in (1, 2, 3)], PLAIN, concurrency=2)
        ]
    assert Counter(t.ending.kind for t in found) == {"terminated": 2, "failed": 1}


class Faulty(Counting):
    """Has a bug in every second episode."""

    async def act(self, conversation: Conversation, seed: int) -> Sample:
        if conversation.task_id in ("guess-2", "guess-4"):
            raise KeyError("a template's variable")
        return await super().act(conversation, seed)


class Stuck(Counting):
    """Cannot free what it holds."""

    def release(self, conversation_id: str) -> None:
        raise RuntimeError("nothing is held")


async def test_a_bug_of_the_policy_fails_its_own_episodes_and_names_itself():
    app = create_app({"guess": Guess}, settings=ServerSettings())
    async with EnvClient("http://127.0.0.1:1", transport=httpx.ASGITransport(app)) as world:
        requests = [request(n) for n in (1, 2, 3, 4)]
        found = [t async for t in play_all(world, Faulty(), requests, PLAIN, concurrency=2)]
        assert (await world.health())["sessions"]["active"] == 0
    endings = {t.task_id: t.ending for t in found}
    assert endings["guess-1"] == endings["guess-3"] == Terminated()
    assert endings["guess-2"] == Failed(failure="policy", detail="""KeyError: "a template's variable\"""")
    assert [t.total_reward for t in found if t.ending.kind == "failed"] == [None, None]


class Broken(Plain):
    def parse(self, text: str) -> str:
        raise ZeroDivisionError("of a format")


async def test_a_bug_outside_the_policy_is_internal():
    async with client() as world:
        found = [t async for t in play_all(world, Counting(), [request(1)], Broken(), concurrency=1)]
    assert [t.ending for t in found] == [Failed(failure="internal", detail="ZeroDivisionError: of a format")]


async def test_a_policy_that_cannot_release_harms_no_episode_that_is_over():
    async with client() as world:
        found = [t async for t in play_all(world, Stuck(), [request(1), request(2)], PLAIN, concurrency=1)]
    assert [t.ending for t in found] == [Terminated(), Terminated()]


async def test_a_policy_that_says_nothing_is_given_up(monkeypatch: pytest.MonkeyPatch):
    given_up: list[str] = []

    class Silent(Counting):
        async def act(self, conversation: Conversation, seed: int) -> Sample:
            try:
                return await asyncio.get_running_loop().create_future()
            finally:
                given_up.append(conversation.id)

    monkeypatch.setattr("agentevol.rollout.episode.ACT_TIMEOUT_S", 0.02)
    policy = Silent()
    async with client() as world:
        played = await play(world, policy, request(2), PLAIN)
    assert played.ending == Failed(failure="policy", detail="no answer within 0 s")
    assert given_up == policy.released == ["e2"]


async def test_a_player_who_stops_cancels_the_episode_and_keeps_the_turns():
    class Stopping(Counting):
        async def act(self, conversation: Conversation, seed: int) -> Sample:
            if conversation.samples:
                raise GivenUp
            return await super().act(conversation, seed)

    policy = Stopping()
    async with client() as world:
        played = await play(world, policy, request(2), PLAIN)
    assert played.ending == Cancelled()
    assert (played.total_reward, [turn.action for turn in played.turns]) == (None, ["1"])
    assert policy.released == ["e2"]


async def test_a_request_says_how_long_its_policy_may_think():
    class Slow(Counting):
        async def act(self, conversation: Conversation, seed: int) -> Sample:
            await asyncio.get_running_loop().create_future()
            raise AssertionError

    async with client() as world:
        hasty = await play(world, Slow(), request(2, act_timeout_s=0.02), PLAIN)
    assert hasty.ending == Failed(failure="policy", detail="no answer within 0 s")


async def test_every_request_is_answered_once_and_never_more_than_so_many_play_at_a_time():
    at_once = most = 0

    class Slow(Counting):
        async def act(self, conversation: Conversation, seed: int) -> Sample:
            nonlocal at_once, most
            at_once += 1
            most = max(most, at_once)
            await asyncio.sleep(0)
            at_once -= 1
            return await super().act(conversation, seed)

    requests = [request(1 + n % 4, id=f"e{n}") for n in range(40)]
    async with client(max_sessions=7) as world:
        found = [t async for t in play_all(world, Slow(), requests, PLAIN, concurrency=7)]
    assert sorted(t.id for t in found) == sorted(r.id for r in requests)
    assert 2 <= most <= 7


async def test_a_server_with_fewer_places_than_episodes_is_waited_for():
    requests = [request(1 + n % 4, id=f"e{n}") for n in range(12)]
    async with client(max_sessions=2) as world:
        found = [t async for t in play_all(world, Counting(), requests, PLAIN, concurrency=8)]
    assert Counter(t.ending.kind for t in found) == {"terminated": 12}


@pytest.mark.parametrize("text", ["", "a" * 70_000, "\x00\x1b", "4"])
async def test_whatever_a_model_says_the_episode_has_an_ending(text: str):
    async with client() as world:
        played = await play(world, scripted_policy("expert", lambda _: [text] * 4), request(4), PLAIN)
    assert played.ending.kind in ("terminated", "truncated", "failed")
    assert (played.total_reward == 1.0) == (text == "4")


def test_an_observation_is_what_the_guess_world_gives():
    # counter-test of the literal texts above: the world itself says them
    world = Guess()
    world.reset(world.task("guess-2"), seed=0)
    assert world.step("1").observation == Observation(text="Go higher than 1.")


async def test_an_episode_goes_on_where_another_one_stood():
    async with client() as at:
        whole = await play(at, Counting(), request(5, max_turns=5), PLAIN)
        rest = await play(at, Counting(), request(5, id="rest", max_turns=5, prefix=whole.turns[:2]), PLAIN)
    assert [turn.action for turn in whole.turns] == ["1", "2", "3", "4", "5"]
    assert rest.turns[:2] == whole.turns[:2]  # with the seconds that they took then
    # the third guess was made of what the first two had been told
    assert without_times(rest.turns) == without_times(whole.turns)
    assert (rest.ending, rest.total_reward) == (Terminated(), 1.0)


async def test_a_world_that_answers_otherwise_than_before_is_a_failure_and_no_reward():
    async with client() as at:
        whole = await play(at, Counting(), request(5), PLAIN)
        other = await play(at, Counting(), request(1, prefix=whole.turns[:2]), PLAIN)  # 1 is right at once
    assert other.ending.kind == "failed"
    assert other.ending.failure == "replay-mismatch"
    assert other.total_reward is None


class Rooms(Guess):
    """Two rooms, which look the same and have other doors; back in the first, all is as at the start."""

    def reset(self, task: Any, seed: int) -> Observation:
        super().reset(task, seed)
        return Observation(text="You are here.", actions=("left",))

    def step(self, action: str) -> StepResult:
        doors = ("right",) if action == "left" else ("left",)
        return StepResult(observation=Observation(text="You are here.", actions=doors))


async def test_a_state_is_the_text_that_an_agent_reads_and_may_do_from_the_first_turn_on():
    async with client(Rooms) as at:
        played = await play(at, Listed("left", "right", "left"), request(1, max_turns=3), PLAIN)
    first, second = "You are here.\nleft", "You are here.\nright"
    assert [turn.info[STATE] for turn in played.turns] == [first, second, first]
    assert facts(played).anchors == (first, second, first)


async def test_states_that_differ_by_a_word_are_similar():
    async with client(Rooms) as at:
        played = await play(at, Listed("left", "right", "left"), request(1, max_turns=3), PLAIN)
    steps = SimpleNamespace(sequence=np.zeros(3, dtype=np.int64), anchor=facts(played).anchors)
    own = cast("Rollouts", SimpleNamespace(steps=steps, group=["a"]))
    assert states(own, 1.0).tolist() == [0, 1, 0]
    assert states(own, 0.8).tolist() == [0, 0, 0]


async def test_a_continuation_notes_the_states_of_its_own_turns():
    async with client(Rooms) as at:
        whole = await play(at, Listed("left", "right", "left"), request(1, max_turns=3), PLAIN)
        asked = request(1, id="rest", max_turns=3, prefix=whole.turns[:2])
        rest = await play(at, Listed("", "", "left"), asked, PLAIN)
    assert [turn.info[STATE] for turn in rest.turns] == [turn.info[STATE] for turn in whole.turns]


class Listed(Counting):
    def __init__(self, *actions: str) -> None:
        super().__init__()
        self.actions = actions

    async def act(self, conversation: Conversation, seed: int) -> Sample:
        said = await super().act(conversation, seed)
        return said.model_copy(update={"text": self.actions[len(conversation.samples)]})
