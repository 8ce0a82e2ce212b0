"""Exponential means of returns by seat and world."""

from math import isnan

import pytest
from support.trajectories import trajectory

from agentevol.core.algorithms.registry import objective
from agentevol.data.hashes import of_sequences
from agentevol.data.seat_baselines import Played, SeatMean, followed
from agentevol.data.training_sequences import grouped
from agentgym_store.records import Sample, Trajectory, Turn

ORDER = ["c", "b", "a"]
"""Ids in the order of their hashes."""


def played(*returns: float, env: str = "duel", seat: int = 0) -> list[Played]:
    return [Played(name, env, seat, reward) for name, reward in zip(ORDER, returns, strict=True)]


def test_a_baseline_is_the_mean_of_the_returns_before_it():
    found, after = followed(played(1.0, 0.0, 1.0), {})
    assert found == {"c": None, "b": 1.0, "a": pytest.approx((0.95 * 1 + 0) / (0.95 + 1))}
    assert after["duel seat 0"] == pytest.approx((0.95**2 * 1 + 0.95 * 0 + 1, 0.95**2 + 0.95 + 1))
    assert after["duel seat 0"].value == pytest.approx(1.9025 / 2.8525)


def test_equal_returns_are_their_own_mean():
    found, after = followed(played(0.7, 0.7, 0.7), {"duel seat 0": SeatMean(7.0, 10.0)})
    assert found == pytest.approx(dict.fromkeys(ORDER, 0.7))
    assert after["duel seat 0"].value == pytest.approx(0.7)


def test_seats_and_worlds_have_means_of_their_own():
    sets = {("duel", 0): 1.0, ("duel", 1): 0.0, ("chess", 0): 0.25}
    together = [
        one._replace(id=f"{one.id}/{env}/{seat}")
        for (env, seat), reward in sets.items()
        for one in played(reward, reward, reward, env=env, seat=seat)
    ]
    found, after = followed(together, {})
    assert {name: mean.value for name, mean in after.items()} == pytest.approx(
        {"duel seat 0": 1.0, "duel seat 1": 0.0, "chess seat 0": 0.25}
    )
    assert sum(value is None for value in found.values()) == 3  # the first of each


def test_a_round_goes_on_from_the_means_of_the_one_before():
    _, between = followed(played(1.0, 0.0, 1.0), {})
    found, after = followed(played(0.0, 0.0, 0.0), between)
    assert found["c"] == pytest.approx(1.9025 / 2.8525)
    assert after["duel seat 0"].weight == pytest.approx(sum(0.95**number for number in range(6)))


def test_the_order_is_of_the_ids_and_not_of_the_list():
    episodes = played(1.0, 0.0, 0.5)
    assert followed(episodes, {}) == followed(episodes[::-1], {})
    others = [one._replace(id=name) for one, name in zip(episodes, ("a", "b", "c"), strict=True)]
    assert followed(others, {})[1] != followed(episodes, {})[1]


def episode(name: str, reward: float) -> Trajectory:
    sample = Sample(text="x", prompt_ids=(1,), token_ids=(2,), logprobs=(-1.0,), policy_version=0)
    turn = Turn(action="x", observation="", reward=reward, sample=sample)
    return trajectory(id=name, env="duel", episode_id=f"episode {name}", seat=1, turns=(turn,))


def test_training_sequences_have_baselines_where_the_algorithm_reads_them():
    episodes = [episode(name, reward) for name, reward in (("a", 1.0), ("b", 0.0), ("c", 1.0))]
    by_seat = objective("dr_grpo", {"baseline": "seat"})
    found = {one.trajectory_id: one.episode for one in grouped(episodes, by_seat)}
    baselines = {name: one.baseline for name, one in found.items() if one is not None}
    assert isnan(baselines.pop("c") or 0.0)
    assert baselines == pytest.approx({"b": 1.0, "a": 0.95 / 1.95})
    later = grouped(episodes, by_seat, before={"duel seat 1": SeatMean(1.0, 2.0)})
    assert [one.episode and one.episode.baseline for one in later][2] == 0.5
    plain = grouped(episodes, objective("dr_grpo"))
    assert {one.episode and one.episode.baseline for one in plain} == {None}
    assert len({of_sequences(one) for one in (plain, later, grouped(episodes, by_seat))}) == 3
