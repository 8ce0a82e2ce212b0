"""Which states are valued, how they are reached again, and what continuations say of them."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace

import httpx
import pytest
from support.runs import episode_request
from support.trajectories import trajectory

from agentevol.core.errors import ConfigError
from agentevol.core.protocols import Conversation
from agentevol.data.rewards.state_values import State, chosen_states, count_outcomes, is_mismatch
from agentevol.learn.rewards.monte_carlo_values import StateValue
from agentevol.rollout.continuations import continuations
from agentevol.rollout.episode import play
from agentgym_client import EnvClient
from agentgym_envs.formats import FORMATS
from agentgym_envs.guess import Guess
from agentgym_server.app import create_app
from agentgym_server.settings import ServerSettings
from agentgym_store.records import Ending, Failed, Sample, Terminated, Trajectory, Truncated, Turn


def episode(attempt: int, turns: int, *, reward: float = 0.0, ending: Ending | None = None) -> Trajectory:
    """Guesses 1, 2, 3, ... of the number 8."""
    taken = [Turn(action=str(n), observation=f"Go higher than {n}.", reward=0.0) for n in range(1, turns + 1)]
    if taken:
        taken[-1] = taken[-1].model_copy(update={"reward": reward})
    return trajectory(
        id=f"r/explore/0003/guess-8/{attempt}",
        iteration=3,
        task_id="guess-8",
        seed=70 + attempt,
        attempt=attempt,
        initial_observation="Make a guess.",
        turns=tuple(taken),
        ending=ending or Terminated(),
    )


EXPLORED = [episode(attempt, turns=5) for attempt in range(8)]


def places(states: Sequence[State]) -> list[tuple[int, int]]:
    return [(state.episode.attempt, state.turn) for state in states]


def test_a_share_of_the_episodes_has_its_states_valued_whatever_order_they_came_in():
    states = chosen_states(EXPLORED, share=0.5, per_episode=2, seed=0)
    assert len({state.episode.id for state in states}) == 4  # half of 8
    assert len(states) == len(set(places(states))) == 8  # two each
    assert all(0 <= state.turn <= 3 for state in states)  # after the last, turn 4, the outcome is known
    assert places(chosen_states(EXPLORED[::-1], share=0.5, per_episode=2, seed=0)) == places(states)
    assert places(chosen_states(EXPLORED, share=0.5, per_episode=2, seed=1)) != places(states)


def test_short_episodes_have_fewer_states_and_failed_ones_none():
    short, cut = episode(0, turns=3), episode(1, turns=2, ending=Truncated(limit="context"))
    none = [episode(2, turns=1), episode(3, turns=5, ending=Failed(failure="policy")), episode(4, turns=0)]
    states = chosen_states([short, cut, *none], share=1.0, per_episode=9, seed=0)
    assert places(states) == [(0, 0), (0, 1), (1, 0)]
    assert chosen_states(none, share=1.0, per_episode=9, seed=0) == []
    assert len(chosen_states([short, cut], share=0.01, per_episode=1, seed=0)) == 1  # at least one


def test_continuations_share_the_world_of_their_episode_and_differ_in_their_draws():
    state = State(EXPLORED[1], turn=1)
    first, second = continuations(state, 2, seed=0, max_turns=6)
    assert (first.id, second.id) == ("r/value/0003/guess-8/1/1/0", "r/value/0003/guess-8/1/1/1")
    assert (first.seed, second.seed) == (71, 71)
    assert (first.purpose, first.iteration, first.max_turns) == ("value", 3, 6)
    assert [turn.action for turn in first.prefix] == ["1", "2"]
    assert None is not first.policy_seed != second.policy_seed
    assert continuations(state, 2, seed=0, max_turns=6) == [first, second]
    assert continuations(state, 1, seed=1, max_turns=6)[0].policy_seed != first.policy_seed


def continuation(state: State, number: int, reward: float, ending: Ending | None = None) -> Trajectory:
    request = continuations(state, number + 1, seed=0, max_turns=None)[number]
    return episode(state.episode.attempt, turns=4, reward=reward, ending=ending).model_copy(
        update={"id": request.id, "purpose": "value"}
    )


def test_the_value_of_a_state_is_the_share_of_its_continuations_that_succeeded():
    one, other = State(EXPLORED[0], 0), State(EXPLORED[0], 2)
    played = [continuation(one, number, reward) for number, reward in enumerate((1.0, 0.0, 1.0))]
    played += [
        continuation(other, 0, 1.0, Failed(failure="transport")),  # not counted
        continuation(other, 1, 0.0, Truncated(limit="max_turns")),
        continuation(other, 2, 1.0),
    ]
    counted = count_outcomes([one, other], played[::-1], 3)
    assert counted.values == {EXPLORED[0].id: {0: StateValue(2.0, 3), 2: StateValue(1.0, 2)}}
    assert counted.figures == {
        "process_states": 2.0,
        "process_mismatch_rate": 0.0,
        "process_truncated_rate": 0.2,  # of five
    }


def test_a_state_that_the_world_did_not_lead_to_again_has_no_label():
    one, other, lost = State(EXPLORED[0], 0), State(EXPLORED[0], 2), State(EXPLORED[1], 0)
    elsewhere = continuation(other, 0, 1.0).model_copy(update={"initial_observation": "Guess a number."})
    played = [
        continuation(one, 0, 1.0),
        continuation(one, 1, 0.0, Failed(failure="replay-mismatch")),
        elsewhere,
        continuation(lost, 0, 0.0, Failed(failure="transport")),
    ]
    counted = count_outcomes([one, other, lost], played, 2)
    assert counted.values == {}
    # of three states two were not reached again; the third was not valued for another reason
    assert counted.figures == {
        "process_states": 0.0,
        "process_mismatch_rate": pytest.approx(2 / 3),
        "process_truncated_rate": 0.0,
    }
    assert is_mismatch(played[1])
    assert not is_mismatch(played[3])


def test_outcomes_beyond_0_to_1_are_refused_but_rounding_is_not():
    state = State(EXPLORED[0], 0)
    assert count_outcomes([state], [continuation(state, 0, 1.0 + 1e-12)], 1).values
    with pytest.raises(ConfigError, match="outcomes of continuations"):
        count_outcomes([state], [continuation(state, 0, 2.0)], 1)


class Drawing:
    """Says a number that depends on the seed."""

    name, version = "drawing", 0

    def __init__(self) -> None:
        self.seeds: list[int] = []

    async def act(self, conversation: Conversation, seed: int) -> Sample:
        self.seeds.append(seed)
        text = str(1 + seed % 7)
        return Sample(text=text, prompt_ids=(1,), token_ids=(2,), logprobs=(-1.0,), policy_version=0)

    def release(self, conversation_id: str) -> None:
        pass


def test_a_continuation_replays_what_was_played_and_draws_from_its_own_seed():
    async def both() -> tuple[Trajectory, list[Trajectory], list[int]]:
        app = create_app({"guess": Guess}, settings=ServerSettings())
        async with EnvClient("http://127.0.0.1:1", transport=httpx.ASGITransport(app)) as client:
            first, again = Drawing(), Drawing()
            whole = await play(client, first, FIRST, FORMATS["plain"])
            requests = continuations(State(whole, 1), 2, seed=0, max_turns=None)
            rest = [await play(client, again, request, FORMATS["plain"]) for request in requests]
            expected = [(request.policy_seed or 0) * 10_007 + turn for request in requests for turn in (2, 3)]
            assert first.seeds == [5 * 10_007 + turn for turn in range(4)]
            assert again.seeds == expected
            return whole, rest, again.seeds

    whole, rest, _ = asyncio.run(both())
    assert all(t.turns[:2] == whole.turns[:2] for t in rest)
    assert all(t.ending == Truncated(limit="max_turns") and len(t.turns) == 4 for t in rest)
    assert count_outcomes([State(whole, 1)], rest, 2).values == {whole.id: {1: StateValue(0.0, 2)}}


FIRST = episode_request(id="r/explore/0001/guess-8/0", task_id="guess-8", split="valid", seed=5)


def test_a_request_without_a_seed_for_its_policy_draws_from_its_own():
    assert FIRST.policy_seed is None
    assert replace(FIRST, policy_seed=0).policy_seed == 0
