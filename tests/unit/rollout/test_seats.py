"""Episodes with several seats: one trajectory for each, and endings that agree."""

from dataclasses import replace

import httpx
import pytest
from support.server.environments import Chorus, Duel
from support.trajectories import trajectory

from agentevol.core.protocols import ContextFull, Conversation
from agentevol.engines.scripted import said
from agentevol.rollout.concurrent_episodes import play_all, play_episode
from agentevol.rollout.dimensions.scores import scores_of
from agentevol.rollout.episode import EpisodeRequest
from agentevol.rollout.metrics import endings, failed_episodes, summarise
from agentevol.rollout.seats import failed_episode, failure_of, play_seats, settled
from agentgym_client import EnvClient
from agentgym_envs.formats import FORMATS
from agentgym_envs.social.environment import Social
from agentgym_server.app import create_app
from agentgym_store.records import Failed, Sample, Terminated, Trajectory, Truncated, Turn

PLAIN = FORMATS["plain"]
REQUEST = EpisodeRequest(
    id="e", run="r", iteration=1, purpose="explore", env="duel", task_id="train/0", split="train", kind="",
    difficulty="", instruction="", seed=3, attempt=0, seats=2,
)  # fmt: skip
INTRO = "Say stop. This is episode 0. Seed 3."


class Player:
    """Says what a plan of each seat has, by the first words of its view; notes the seeds of its draws."""

    version = 7

    def __init__(self, left: str, right: str, name: str = "player") -> None:
        self.name = name
        self._plans = {"You are left": left.split(), "You are right": right.split()}
        self.seeds: dict[str, list[int]] = {}
        self.released: list[str] = []

    async def act(self, conversation: Conversation, seed: int) -> Sample:
        self.seeds.setdefault(conversation.id, []).append(seed)
        said_to_it = " ".join(message.content for message in conversation.messages)
        plan = next(plan for view, plan in self._plans.items() if view in said_to_it)
        word = plan[len(conversation.samples)]
        if word == "full":
            raise ContextFull
        if word == "fail":
            raise RuntimeError("a bug of the policy")
        return Sample(text=word, prompt_ids=(1,), token_ids=(2,), logprobs=(-1.0,), policy_version=7)

    def release(self, conversation_id: str) -> None:
        self.released.append(conversation_id)


class Leaver(Player):
    """Leaves at once."""

    def __init__(self) -> None:
        super().__init__("", "", "leaver")

    async def act(self, conversation: Conversation, seed: int) -> Sample:
        return said("left the conversation")


def client(**worlds: type) -> EnvClient:
    app = create_app({"duel": Duel, "chorus": Chorus, **worlds})
    return EnvClient("http://127.0.0.1:1", transport=httpx.ASGITransport(app), patience_s=5.0)


def turns(one: Trajectory) -> list[tuple[str, str, float]]:
    return [(turn.action, turn.observation, turn.reward) for turn in one.turns]


async def test_every_seat_has_its_own_trajectory_of_one_episode():
    policy = Player("a stop", "x")
    async with client() as world:
        left, right = await play_seats(world, policy, REQUEST, PLAIN)
        assert (await world.health())["sessions"]["active"] == 0
    assert (left.id, right.id, left.episode_id, right.episode_id) == ("e/seat-0", "e/seat-1", "e", "e")
    assert (left.seat, right.seat, left.episode, right.episode) == (0, 1, "e", "e")
    assert left.initial_observation == f"You are left. {INTRO}"
    assert right.initial_observation == f"You are right. {INTRO} / left: a"
    assert turns(left) == [("a", "right: x", 0.125), ("stop", "", 1.0)]
    # 0.125 for what it heard before it acted is counted with its first action
    assert turns(right) == [("x", "left: stop", 0.25 + 0.125)]
    assert (left.ending, right.ending) == (Terminated(), Terminated())
    assert (left.total_reward, right.total_reward) == (1.125, 0.375)
    assert {one.purpose for one in (left, right)} == {"explore"}
    assert sorted(policy.released) == ["e/seat-0", "e/seat-1"]
    first, second = (policy.seeds[f"e/seat-{seat}"][0] for seat in (0, 1))
    assert (first, second) == (3 * 10_007, (3 + 2**31) * 10_007)


async def test_a_seat_that_never_acted_has_its_reward_in_a_turn_that_it_was_given():
    async with client() as world:
        left, right = await play_seats(world, Player("stop", ""), REQUEST, PLAIN)
    assert turns(left) == [("stop", "", 1.0)]
    assert turns(right) == [("", f"You are right. {INTRO} / left: stop", 0.25)]
    assert (left.given_turns, right.given_turns) == (0, 1)
    assert (right.ending, right.turns[0].sample) == (Terminated(), None)


async def test_a_seat_that_never_acted_keeps_what_it_was_told_at_the_end():
    request = replace(REQUEST, env="social", task_id="test/price/1/0")
    async with client(social=Social) as world:
        left, right = await play_seats(world, Leaver(), request, PLAIN)
    assert [turn.action for turn in left.turns] == ["left the conversation"]
    ((turn,), given) = right.turns, right.given_turns
    assert (given, turn.action, turn.reward, turn.info["end_reasons"]) == (1, "", 0.0, ["left"])
    assert scores_of(right) == scores_of(left)
    assert (scores_of(right) or {})["goal"] == 0.0


async def test_seats_that_act_simultaneously_are_played_concurrently():
    request = replace(REQUEST, env="chorus")
    async with client() as world:
        found = await play_seats(world, Player("a stop", "b stop"), request, PLAIN)
    heard = [("left: a / right: b", 0.5), ("left: stop / right: stop", 0.5)]
    assert [[turn[1:] for turn in turns(one)] for one in found] == [heard, heard]


async def test_a_partner_plays_the_other_seat_and_is_no_exploration():
    policy, partner = Player("", "x stop", "policy"), Player("a b", "", "partner")
    request = replace(REQUEST, policy_seat=1)
    async with client() as world:
        left, right = await play_episode(world, policy, request, PLAIN, partner=partner)
    assert (left.purpose, left.policy, right.purpose, right.policy) == (
        *("partner", "partner"),
        *("explore", "policy"),
    )
    assert ([turn.action for turn in left.turns], [turn.action for turn in right.turns]) == (
        ["a", "b"],
        ["x", "stop"],
    )
    assert (partner.released, policy.released) == (["e/seat-0"], ["e/seat-1"])


@pytest.mark.parametrize(
    ("left", "right", "kinds"),
    [
        ("a fail", "x y", ["failed(policy)", "failed(partner)"]),
        ("a b", "x fail", ["failed(partner)", "failed(policy)"]),
        ("a full", "x y", ["truncated(context)", "truncated(context)"]),
        ("a stop", "x y", ["terminated", "terminated"]),
    ],
)
async def test_what_ends_one_seat_early_ends_the_other(left: str, right: str, kinds: list[str]):
    async with client() as world:
        found = await play_seats(world, Player(left, right), REQUEST, PLAIN)
        assert (await world.health())["sessions"]["active"] == 0
    assert [next(iter(endings([one]))) for one in found] == kinds
    assert all(
        (one.total_reward is None) == ("failed" in kind) for one, kind in zip(found, kinds, strict=True)
    )


async def test_an_episode_that_does_not_open_has_failed_in_all_seats():
    async with client() as world:
        found = await play_seats(world, Player("", ""), replace(REQUEST, task_id="train/99"), PLAIN)
    assert [(one.seat, one.ending.kind, one.ending.failure) for one in found] == [
        (0, "failed", "task-not-found"),
        (1, "failed", "task-not-found"),
    ]


def seat(number: int, ending: object, reward: float = 1.0, **fields: object) -> Trajectory:
    turn = Turn(action="a", observation="o", reward=reward)
    return trajectory(
        id=f"e/seat-{number}", episode_id="e", seat=number, turns=(turn,), ending=ending, **fields
    )


PARTNER, POLICY = Failed(failure="partner"), Failed(failure="policy")


def test_no_seat_of_a_failed_episode_keeps_its_return():
    whole = (seat(0, Terminated()), seat(1, Terminated()))
    assert settled(whole) == whole
    lost = settled([seat(0, Terminated()), seat(1, POLICY)])
    assert [one.ending.failure for one in lost if one.ending.kind == "failed"] == ["partner", "policy"]
    cut = Truncated(limit="context")
    assert [one.ending for one in settled([seat(0, cut), seat(1, PARTNER)])] == [cut, cut]
    assert [one.ending.kind for one in settled([seat(0, cut), seat(1, POLICY)])] == ["failed", "failed"]


@pytest.mark.parametrize(
    ("endings", "expected"),
    [
        ((Terminated(), Terminated()), None),
        ((PARTNER, POLICY), "policy"),
        ((POLICY, Failed(failure="action-format")), "action-format"),
        ((PARTNER, PARTNER), "partner"),
    ],
)
def test_an_episode_has_one_failure(endings: tuple[object, ...], expected: str | None):
    episode = tuple(seat(number, ending) for number, ending in enumerate(endings))
    assert failure_of(episode) == expected
    assert [one.ending.failure for one in failed_episodes(episode) if one.ending.kind == "failed"] in (
        [],
        ["policy"],
        ["action-format"],
        ["partner"],
    )
    assert len(failed_episodes(episode)) == (expected is not None)


def test_a_lost_worker_loses_all_seats():
    lost = failed_episode(replace(REQUEST, policy_seat=0), "", "rollout-worker-lost", "killed")
    assert [(one.id, one.episode, one.purpose) for one in lost] == [
        ("e/seat-0", "e", "explore"),
        ("e/seat-1", "e", "partner"),
    ]
    (alone,) = failed_episode(replace(REQUEST, seats=1), "", "rollout-worker-lost", "killed")
    assert (alone.id, alone.episode_id) == ("e", None)


async def test_many_episodes_yield_every_seat_once():
    class Stopper(Player):
        async def act(self, conversation: Conversation, seed: int) -> Sample:
            return said("stop" if conversation.samples else "say")

    requests = [replace(REQUEST, id=f"e{number}") for number in range(5)]
    async with client() as world:
        found = [one async for one in play_all(world, Stopper("", ""), requests, PLAIN, concurrency=2)]
    assert sorted(one.id for one in found) == [f"e{n}/seat-{s}" for n in range(5) for s in (0, 1)]


def test_an_evaluation_counts_each_seat_of_the_policy():
    summary = summarise([seat(0, Terminated(), 1.0), seat(1, Terminated(), 0.25)], "test")
    assert (summary.n, summary.successes, summary.mean_reward) == (2, 1, 0.625)
    assert summary.by["seat"] == {"seat 0": (1, 1), "seat 1": (0, 1)}
    assert "seat" not in summarise([trajectory(id="e")], "test").by
