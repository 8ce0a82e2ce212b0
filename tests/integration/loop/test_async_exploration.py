"""Rounds that are explored ahead of their turn."""

from threading import Event

import pytest

from agentevol.core.errors import RunStopped
from agentevol.loop.stages.async_exploration import AsyncExploration
from agentgym_store.records import Trajectory

NOTHING: list[Trajectory] = []


def test_the_bound_and_the_last_round_say_which_may_begin():
    ahead = AsyncExploration(bound=2, last=4)
    assert ahead.missing(1) == [2, 3]
    ahead.begin(2, lambda: NOTHING)
    ahead.begin(3, lambda: NOTHING)
    assert ahead.missing(1) == []
    assert ahead.missing(2) == [4]
    assert ahead.missing(4) == []
    ahead.close()


def test_a_synchronous_run_begins_none():
    assert AsyncExploration(bound=0, last=4).missing(1) == []


def test_rounds_go_on_beside_each_other_and_each_is_waited_for():
    ahead = AsyncExploration(bound=2, last=3)
    second_may_end, first = Event(), list(NOTHING)

    def long() -> list[Trajectory]:
        assert second_may_end.wait(10)
        return first

    def short() -> list[Trajectory]:
        second_may_end.set()
        return []

    ahead.begin(2, long)
    ahead.begin(3, short)  # without its thread, the round before would never end
    assert ahead.episodes(2) is first
    assert 3 in ahead
    assert 4 not in ahead
    ahead.settle()
    ahead.close()


def test_what_stopped_a_round_stops_the_run():
    def broken() -> list[Trajectory]:
        raise RunStopped("too many failed")

    ahead = AsyncExploration(bound=1, last=2)
    ahead.begin(2, broken)
    with pytest.raises(RunStopped, match="too many failed"):
        ahead.settle()
    with pytest.raises(RunStopped, match="too many failed"):
        ahead.episodes(2)
    ahead.close()


def test_closing_gives_up_what_is_under_way():
    ahead, began = AsyncExploration(bound=1, last=2), Event()

    def endless() -> list[Trajectory]:
        began.set()
        assert ahead.given_up.wait(10)
        return []

    ahead.begin(2, endless)
    assert began.wait(10)
    ahead.close()  # comes back
    assert ahead.episodes(2) == []
