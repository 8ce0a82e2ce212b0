"""What a round solved and what was kept of it: literal figures."""

from support.trajectories import trajectory

from agentevol.data.selection.statistics import (
    group_figures,
    outcomes,
    selection_figures,
    sentence,
    since_previous,
)
from agentgym_store.records import Ending, Failed, Sample, Terminated, Trajectory, Truncated, Turn


def episode(task: str, attempt: int, action: str, reward: float, ending: Ending | None = None) -> Trajectory:
    """One turn of three sampled tokens."""
    sample = Sample(
        prompt_ids=(1, 2), token_ids=(3, 4, 5), logprobs=(-0.1, -0.1, -0.1), text=action, policy_version=0
    )
    return trajectory(
        id=f"{task}/{attempt}",
        task_id=task,
        attempt=attempt,
        turns=(Turn(action=action, observation="", reward=reward, sample=sample),),
        ending=ending or Terminated(),
    )


WON_TWICE = [episode("a", number, "left", float(number < 2)) for number in range(4)]
NEVER_WON = [episode("b", number, "right", 0.0, Truncated(limit="max_turns")) for number in range(4)]


def test_figures_of_the_example():
    figures = selection_figures([*WON_TWICE, *NEVER_WON], WON_TWICE[:2], solved_before=set())
    assert figures == {
        "success": 0.25,
        "truncated": 0.5,
        "keep_rate": 0.25,
        "tasks": 2.0,
        "tasks_solved": 1.0,
        "tasks_never_solved": 1.0,
        "tasks_newly_solved": 1.0,
        "tasks_lost": 0.0,
        "distinct_ratio": 0.5,  # both wins say the same
    }
    assert sentence(figures) == "kept 25.0%, 1 of 2 tasks solved, 1 newly, 0 no longer"


def test_a_task_that_was_solved_before_is_not_new_and_one_that_is_no_longer_solved_is_lost():
    figures = selection_figures(
        [*WON_TWICE, *NEVER_WON],
        [],
        solved_before={("guess", "a"), ("guess", "b"), ("guess", "elsewhere"), ("maze", "a")},
    )
    assert (figures["tasks_newly_solved"], figures["tasks_lost"], figures["tasks_never_solved"]) == (0, 1, 0)
    assert "distinct_ratio" not in figures


def test_failed_episodes_say_nothing():
    broken = episode("c", 0, "left", 0.0, Failed(failure="worker-lost"))
    assert selection_figures([broken], [], set()) == {}
    assert sentence({}) == "no scored episode"
    assert selection_figures([*WON_TWICE, broken], [], set()) == selection_figures(WON_TWICE, [], set())


def test_only_tasks_whose_samples_differ_tell_samples_apart():
    figures = group_figures([*WON_TWICE, *NEVER_WON])
    assert figures == {"kept_group_frac": 0.5, "wasted_tokens": 12.0}  # four episodes of three tokens
    assert group_figures(WON_TWICE) == {"kept_group_frac": 1.0, "wasted_tokens": 0.0}
    assert group_figures([]) == {}


def test_tasks_tried_again_are_compared_with_the_iteration_before():
    before = {"a": False, "b": True, "c": True, "elsewhere": True}
    now = {"a": True, "b": False, "c": True, "new": True}
    assert since_previous(before, now) == {
        "tasks_tried_again": 3.0,
        "tasks_gained_since_previous": 1.0,  # a
        "tasks_lost_since_previous": 1.0,  # b
    }
    assert since_previous({"elsewhere": True}, now) == {}


def test_a_task_is_won_by_any_of_its_scored_episodes():
    broken = episode("c", 0, "left", 1.0, Failed(failure="worker-lost"))
    assert outcomes([*WON_TWICE, *NEVER_WON, broken]) == {("guess", "a"): True, ("guess", "b"): False}
