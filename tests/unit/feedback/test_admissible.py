"""Admissible actions of a recorded turn, which can be chosen as its correction."""

import pytest
from support.trajectories import trajectory

from agentevol.ui.feedback.admissible import MOST, admissible
from agentgym_store.records import STATE, TOOLS, Trajectory, Turn


def episode(*infos: dict[str, object]) -> Trajectory:
    turns = tuple(
        Turn(action="look", observation=f"Room {place}.", reward=0.0, info=info)
        for place, info in enumerate(infos)
    )
    return trajectory(id="a", initial_observation="You wake up.\nIt is dark.", turns=turns)


def test_the_listed_actions_follow_the_observation() -> None:
    played = episode(
        {STATE: "You wake up.\nIt is dark.\nlook\ngo to fridge 1"}, {STATE: "Room 0.\nopen fridge 1"}
    )
    assert admissible(played, 0) == ("look", "go to fridge 1")
    assert admissible(played, 1) == ("open fridge 1",)


@pytest.mark.parametrize(
    "info",
    [
        {},  # not recorded
        {STATE: "You wake up.\nIt is dark."},  # none were listed
        {STATE: "Another text.\nlook"},
        {STATE: 7},
        {STATE: "You wake up.\nIt is dark.\nlook", TOOLS: None},  # the last lines are names of tools
    ],
)
def test_without_a_list_none_are_offered(info: dict[str, object]) -> None:
    assert admissible(episode(info), 0) == ()


def test_what_a_page_would_change_is_left_out_and_long_lists_are_cut() -> None:
    start = "You wake up.\nIt is dark."
    assert admissible(episode({STATE: f"{start}\nsay \x1b[1m\nlook"}), 0) == ("look",)
    many = [f"go {place}" for place in range(MOST + 5)]
    assert admissible(episode({STATE: "\n".join((start, *many))}), 0) == tuple(many[:MOST])
