"""Continuations as forks of one session: the same episodes as by replay, with fewer steps of the world."""

import asyncio
from collections import Counter

import httpx
import pytest
from support.runs import episode_request
from support.trajectories import without_times

from agentevol.core.protocols import Conversation
from agentevol.data.rewards.state_values import State, count_outcomes
from agentevol.rollout.continuations import continuations
from agentevol.rollout.episode import play
from agentevol.rollout.session_forks import Forks
from agentgym_client import EnvClient
from agentgym_client.errors import EnvClientError
from agentgym_envs.core import StepResult
from agentgym_envs.formats import FORMATS
from agentgym_envs.guess import Guess
from agentgym_server.app import create_app
from agentgym_server.settings import ServerSettings
from agentgym_store.records import Sample, Trajectory

PLAIN = FORMATS["plain"]
STEPS: Counter[str] = Counter()


class Counted(Guess):
    """Counts the steps of all instances."""

    def step(self, action: str) -> StepResult:
        STEPS["all"] += 1
        return super().step(action)


class Unforkable(Counted):
    forkable, deterministic = False, False


class Forgetful(Counted):
    """A snapshot that does not hold what matters."""

    def restore(self, snapshot: object) -> None:
        self.secret = 1


class Drawing:
    """Says a number that depends on the seed and on how much was said."""

    name, version = "drawing", 0

    async def act(self, conversation: Conversation, seed: int) -> Sample:
        assert conversation.messages[-1].role == "user"
        text = str(1 + seed % 8)
        await asyncio.sleep(0)
        return Sample(text=text, prompt_ids=(1,), token_ids=(2,), logprobs=(-1.0,), policy_version=0)

    def release(self, conversation_id: str) -> None:
        pass


REQUEST = episode_request(id="r/explore/0001/guess-8/0", task_id="guess-8", split="valid", seed=3)


async def values(
    world: type[Guess], *, forked: bool, max_sessions: int = 1024
) -> tuple[list[Trajectory], int, int]:
    """Twelve continuations after the second turn, the steps they took, and sessions left open."""
    app = create_app({"guess": world}, settings=ServerSettings(max_sessions=max_sessions))
    async with EnvClient("http://127.0.0.1:1", transport=httpx.ASGITransport(app)) as client:
        whole = await play(client, Drawing(), REQUEST, PLAIN)
        assert len(whole.turns) > 2
        forks = Forks(client, episodes=12) if forked else None
        requests = continuations(State(whole, 1), 12, seed=0, max_turns=None)
        STEPS.clear()
        rest = await asyncio.gather(*(play(client, Drawing(), one, PLAIN, forks) for one in requests))
        left = (await client.health())["sessions"]["active"]
        return [whole, *rest], STEPS["all"], left


def said(episodes: list[Trajectory]) -> list[tuple[str, ...]]:
    return [tuple(turn.action for turn in episode.turns) for episode in episodes]


async def test_forks_play_the_same_episodes_as_replays_and_make_the_same_values():
    (first, *forked), forked_steps, _ = await values(Counted, forked=True)
    (_, *replayed), replayed_steps, _ = await values(Counted, forked=False)
    assert said(forked) == said(replayed)
    assert [without_times(one.turns) for one in forked] == [without_times(one.turns) for one in replayed]
    assert {(one.initial_observation, one.env_version) for one in forked} == {("Make a guess.", "1.0.0")}
    assert {(one.parent, one.given_turns) for one in (*forked, *replayed)} == {(first.id, 2)}
    assert (first.parent, first.given_turns) == (None, 0)
    by_fork, by_replay = (count_outcomes([State(first, 1)], played, 12) for played in (forked, replayed))
    assert by_fork.values == by_replay.values
    assert 0 < by_fork.values[first.id][1].successes < 12  # some won, some lost: the draws are their own
    # twelve replays of two turns are one
    assert replayed_steps - forked_steps == 2 * 11


async def test_a_fork_that_forgets_would_be_noticed():
    (first, *forked), _, _ = await values(Forgetful, forked=True)
    (_, *replayed), _, _ = await values(Forgetful, forked=False)
    assert [one.total_reward for one in forked] != [one.total_reward for one in replayed]
    by_fork, by_replay = (count_outcomes([State(first, 1)], played, 12) for played in (forked, replayed))
    assert by_fork.values != by_replay.values


async def test_no_session_is_left_over():
    for forked in (True, False):
        _, _, left = await values(Counted, forked=forked)
        assert left == 0


@pytest.mark.parametrize(("world", "room"), [(Unforkable, 1024), (Counted, 23)])
async def test_a_world_without_forks_and_a_server_without_room_for_them_replay(world: type[Guess], room: int):
    # 12 episodes and 12 sessions that wait for forks would need 24
    _, steps, _ = await values(world, forked=True, max_sessions=room)
    _, replayed, _ = await values(world, forked=False, max_sessions=room)
    assert steps == replayed


async def test_a_state_that_is_not_reached_again_fails_every_continuation_and_leaves_nothing():
    app = create_app({"guess": Counted}, settings=ServerSettings())
    async with EnvClient("http://127.0.0.1:1", transport=httpx.ASGITransport(app)) as client:
        whole = await play(client, Drawing(), REQUEST, PLAIN)
        other = whole.model_copy(update={"task_id": "guess-1"})
        forks = Forks(client, episodes=4)
        requests = continuations(State(other, 1), 4, seed=0, max_turns=None)
        rest = await asyncio.gather(*(play(client, Drawing(), one, PLAIN, forks) for one in requests))
        assert [getattr(one.ending, "failure", None) for one in rest] == ["replay-mismatch"] * 4
        assert (await client.health())["sessions"]["active"] == 0


async def test_a_cancelled_continuation_leaves_nothing():
    app = create_app({"guess": Counted}, settings=ServerSettings())
    async with EnvClient("http://127.0.0.1:1", transport=httpx.ASGITransport(app)) as client:
        whole = await play(client, Drawing(), REQUEST, PLAIN)
        forks = Forks(client, episodes=4)
        await forks.offered("guess")
        (request,) = continuations(State(whole, 1), 1, seed=0, max_turns=None)
        for ticks in range(1, 40):
            task = asyncio.create_task(play(client, Drawing(), request, PLAIN, forks))
            for _ in range(ticks):
                await asyncio.sleep(0)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        again = await play(client, Drawing(), request, PLAIN, forks)
        assert again.total_reward is not None


async def test_one_unanswered_question_does_not_switch_forks_off(monkeypatch: pytest.MonkeyPatch):
    app = create_app({"guess": Counted}, settings=ServerSettings())
    async with EnvClient("http://127.0.0.1:1", transport=httpx.ASGITransport(app), retries=0) as world:
        forks, health = Forks(world, 4), world.health

        async def unreachable() -> dict[str, object]:
            raise EnvClientError("connection reset")

        monkeypatch.setattr(world, "health", unreachable)
        assert not await forks.offered("guess")
        monkeypatch.setattr(world, "health", health)
        assert await forks.offered("guess")
        monkeypatch.setattr(world, "health", unreachable)
        assert await forks.offered("guess")  # it has answered


async def test_a_world_that_cannot_be_forked_is_asked_once():
    app = create_app({"guess": Unforkable}, settings=ServerSettings())
    async with EnvClient("http://127.0.0.1:1", transport=httpx.ASGITransport(app)) as world:
        forks = Forks(world, 4)
        assert not await forks.offered("guess")
        await world.close()
        assert not await forks.offered("guess")
