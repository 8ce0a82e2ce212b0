"""Variety of explored episodes, and the guard that watches it."""

import pytest
from support.trajectories import trajectory

from agentevol.core.summaries import IterationSummary
from agentevol.data.selection.variety import variety_figures
from agentevol.loop.control.collapse import collapsed
from agentgym_store.records import Cancelled, Sample, Terminated, Trajectory, Turn


def turn(action: str, logps: tuple[float, ...], mask: tuple[int, ...] | None = None) -> Turn:
    ids = tuple(range(len(logps)))
    sample = Sample(
        text=action,
        prompt_ids=(1,),
        token_ids=ids,
        logprobs=logps,
        policy_version=0,
        loss_mask=mask,  # pyright: ignore[reportArgumentType]
    )
    return Turn(action=action, observation="", reward=0.0, sample=sample)


def episode(name: str, task: str, *turns: Turn, failed: bool = False) -> Trajectory:
    return trajectory(id=name, task_id=task, turns=turns, ending=Cancelled() if failed else Terminated())


def test_variety_of_five_episodes_by_hand():
    explored = [
        episode("a", "t", turn("x", (-1.0, -0.5))),
        episode("b", "t", turn("x", (-1.0, -0.5))),
        episode("c", "u", turn("x", (-2.0,)), turn("y", (0.0,))),
        episode("d", "u", turn("x", (-2.0,)), turn("z", (-4.0,))),
        episode("e", "v", turn("x", (-3.0, -1.0), mask=(0, 1))),  # alone in its task, one token forced
        episode("f", "u", turn("q", (-90.0,)), failed=True),
    ]
    assert variety_figures(explored) == {
        "distinct_episodes": pytest.approx((1 / 2 + 2 / 2) / 2),
        "action_entropy": pytest.approx((1.5 + 1.5 + 2 + 0 + 2 + 4 + 1) / 7),
        "episode_tokens": pytest.approx((2 + 2 + 2 + 2 + 2) / 5),
    }


def test_scripted_episodes_have_no_entropy_and_no_tokens():
    scripted = episode("a", "t", Turn(action="x", observation="", reward=0.0))
    assert variety_figures([scripted]) == {}


def summaries(*values: float | None) -> list[IterationSummary]:
    """A start, and iterations with these entropies."""
    figures = [{}, *({} if value is None else {"action_entropy": value} for value in values)]
    return [
        IterationSummary(iteration=number, checkpoint="", table_version=0, selection=selection)
        for number, selection in enumerate(figures)
    ]


def test_two_iterations_in_a_row_below_half_of_the_first_are_a_collapse():
    assert list(collapsed(summaries(2.0, 0.9, 0.8))) == [
        "entropy of an action 0.8, below half of iteration 1's 2 twice in a row"
    ]


@pytest.mark.parametrize(
    "values",
    [(2.0,), (2.0, 0.5), (2.0, 0.9, 1.0), (2.0, 0.9, 1.1, 0.9), (2.0, 0.9, None), (None, 0.9, 0.8)],
)
def test_half_itself_one_iteration_or_a_missing_figure_are_none(values: tuple[float | None, ...]):
    assert list(collapsed(summaries(*values))) == []


def test_a_collapse_that_goes_on_is_told_once_and_again_after_a_recovery():
    assert list(collapsed(summaries(2.0, 0.9, 0.8, 0.7))) == []
    assert len(list(collapsed(summaries(2.0, 0.9, 0.8, 1.5, 0.9, 0.8)))) == 1
