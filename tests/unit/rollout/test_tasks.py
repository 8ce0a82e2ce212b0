"""Which tasks of a split are played."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentevol.core.splits import drawn, held_out, parent, remaining, spread, within


def test_an_evaluation_is_spread_evenly_and_never_longer_than_the_split():
    assert spread(4)(12) == [0, 4, 6, 11]  # one of each three
    assert spread(None)(3) == spread(3)(3) == spread(9)(3) == [0, 1, 2]
    sorted_by_kind = ["look"] * 13 + ["place"] * 35 + ["heat"] * 92
    assert {sorted_by_kind[position] for position in spread(20)(140)} == {"look", "place", "heat"}


def test_runs_of_different_seeds_explore_different_tasks():
    assert drawn(0, 0, 20)(1000) == drawn(0, 0, 20)(1000) != drawn(1, 0, 20)(1000)


@settings(deadline=None)
@given(seed=st.integers(0, 9), total=st.integers(1, 40), count=st.integers(1, 50))
def test_an_iteration_has_no_task_twice_and_a_round_has_every_task_once(seed: int, total: int, count: int):
    chosen = [drawn(seed, first, count)(total) for first in range(0, 3 * total, count)]
    assert all(len(set(one)) == len(one) == min(count, total) for one in chosen)
    if count < total:
        whole_round = [position for one in chosen[: total // count] for position in one]
        assert len(set(whole_round)) == len(whole_round)


@pytest.mark.parametrize("first", [0, 3, 7, 10, 23])
def test_positions_lie_in_the_split(first: int):
    assert set(drawn(0, first, 10)(10)) == set(range(10))


def test_an_evaluation_meets_all_levels_where_they_take_turns():
    chosen = spread(400)(4 * 10_000)
    levels = [sum(position % 4 == level for position in chosen) for level in range(4)]
    assert all(80 <= count <= 120 for count in levels), levels  # equal steps of 100 would meet one level only
    assert len(set(chosen)) == 400


def test_parts_of_a_split_are_named_after_it():
    assert [parent(split) for split in ("train:valid", "train", "valid", "a:b", "a:test")] == [
        "train",
        "train",
        "valid",
        "a:b",
        "a",
    ]


def test_held_out_parts_are_the_same_in_every_run_and_at_least_one_task():
    assert (held_out("train:valid", 0.1)(20), held_out("train:test", 0.1)(20)) == ([0, 11], [8, 19])
    assert remaining(["train:test"], 0.1)(4) == [0, 1, 2]
    assert within(drawn(0, 0, 2), held_out("train:test", 0.1))(20) == [8, 19]


@settings(deadline=None)
@given(total=st.integers(0, 300), share=st.floats(0.01, 0.45))
def test_held_out_parts_and_what_remains_make_up_the_split(total: int, share: float):
    parts = ["train:valid", "train:test"]
    found = [remaining(parts, share)(total), *(held_out(part, share)(total) for part in parts)]
    assert sorted(position for one in found for position in one) == list(range(total))
    if total >= 10:
        assert all(len(one) == max(1, round(share * total)) for one in found[1:])
