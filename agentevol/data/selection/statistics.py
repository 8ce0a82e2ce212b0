"""Metrics of solved tasks and selected episodes of an exploration round.

Tasks a and b were tried four times each; a was won twice, by the same actions, b never. All wins are kept:
keep_rate 2/8, tasks_solved 1, tasks_never_solved 1, distinct_ratio 1/2. If a was won in no earlier round it
counts as newly solved; if b was won in one, as lost.
"""

from collections.abc import Hashable, Iterable, Mapping, Sequence, Set
from typing import TypeVar

from agentevol.data.groups import TaskKey, by_task, task_of
from agentevol.data.selection.filters import distinct, informative, sampled_tokens, scored
from agentgym_store.records import Trajectory

TaskT = TypeVar("TaskT", bound=Hashable)


def solved_tasks(trajectories: Iterable[Trajectory]) -> set[TaskKey]:
    """Tasks that at least one episode won."""
    return {task_of(t) for t in trajectories if t.succeeded()}


def selection_figures(
    explored: Sequence[Trajectory], chosen: Sequence[Trajectory], solved_before: Set[TaskKey]
) -> dict[str, float]:
    """Metrics of one round with the selection `chosen`; `solved_before` are tasks won in earlier rounds.

    Rates are of the episodes that have a return; there are none without such episodes.
    """
    tried = scored(explored)
    if not tried:
        return {}
    tasks, solved = {task_of(t) for t in tried}, solved_tasks(tried)
    figures = {
        "success": sum(t.succeeded() for t in tried) / len(tried),
        "truncated": sum(t.ending.kind == "truncated" for t in tried) / len(tried),
        "keep_rate": len(chosen) / len(tried),
        "tasks": float(len(tasks)),
        "tasks_solved": float(len(solved)),
        "tasks_never_solved": float(len(tasks - solved - solved_before)),
        "tasks_newly_solved": float(len(solved - solved_before)),
        "tasks_lost": float(len((tasks & solved_before) - solved)),
    }
    return figures | ({"distinct_ratio": len(distinct(chosen)) / len(chosen)} if chosen else {})


def outcomes(trajectories: Iterable[Trajectory]) -> dict[TaskKey, bool]:
    """Task -> whether one of its scored episodes won."""
    tried = scored(trajectories)
    solved = solved_tasks(tried)
    return {task_of(t): task_of(t) in solved for t in tried}


def since_previous(before: Mapping[TaskT, bool], now: Mapping[TaskT, bool]) -> dict[str, float]:
    """Changes on tasks of the previous iteration that were tried again: their number, those solved only now,
    and those solved only then.

    Empty where none was. Exploration goes on to other tasks until it has been through the split.
    """
    again = before.keys() & now.keys()
    if not again:
        return {}
    return {
        "tasks_tried_again": float(len(again)),
        "tasks_gained_since_previous": float(sum(now[task] and not before[task] for task in again)),
        "tasks_lost_since_previous": float(sum(before[task] and not now[task] for task in again)),
    }


def group_figures(explored: Sequence[Trajectory]) -> dict[str, float]:
    """Share of the samples with a signal for algorithms that compare samples of a task.

    `kept_group_frac` is the share of tasks (and seats) whose samples had different returns; all tokens of the
    others are `wasted_tokens` (dynamic sampling, arXiv:2503.14476).
    """
    groups = by_task(scored(explored))
    if not groups:
        return {}
    telling = by_task(informative(explored)).keys()
    wasted = sum(sampled_tokens(t) for task, group in groups.items() if task not in telling for t in group)
    return {"kept_group_frac": len(telling) / len(groups), "wasted_tokens": float(wasted)}


def sentence(figures: dict[str, float]) -> str:
    """Text of the selection metrics: `kept 31.2 %, 5 of 8 tasks solved, 2 newly, 1 no longer`."""
    if not figures:
        return "no scored episode"
    kept, tasks, solved, new, lost = (
        figures[name] for name in ("keep_rate", "tasks", "tasks_solved", "tasks_newly_solved", "tasks_lost")
    )
    return f"kept {kept:.1%}, {solved:.0f} of {tasks:.0f} tasks solved, {new:.0f} newly, {lost:.0f} no longer"
