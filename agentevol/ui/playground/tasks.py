"""Tasks that a person can choose, and which of them a policy may learn from."""

import secrets
from collections.abc import Mapping, Sequence

from agentevol.config.sections.evaluation import EvaluateConfig
from agentevol.core.splits import PARTS, remaining
from agentevol.ui.errors import NotFound
from agentevol.ui.playground.errors import CannotPlay
from agentgym_client import EnvClient
from agentgym_client.errors import EnvClientError, ServerProblem
from agentgym_client.records import EnvironmentInfo, TaskInfo
from agentgym_store.purposes import Purpose

MOST_ID = 256
"""Characters of a task's id."""


async def described(client: EnvClient, env: str) -> EnvironmentInfo:
    """The environment, as its server tells. Raises `NotFound`, `CannotPlay`."""
    try:
        known = await client.environments()
    except EnvClientError as cause:
        raise CannotPlay(f"The environment server of {env} does not answer: {cause}.") from cause
    for one in known:
        if one.env == env:
            return one
    raise NotFound(f"There is no environment {env}.")


async def chosen(client: EnvClient, info: EnvironmentInfo, split: str, index: int | None) -> TaskInfo:
    """The task at a place of a split, from 0; None draws one, where possible one that can be learnt from.

    Raises `NotFound` for an unknown split and for a place that it does not have, and `CannotPlay`.
    """
    total = size_of(info, split)
    if index is None:
        index = secrets.choice(learnt(info.splits, split) or range(total)) if total else 0
    rows = await listed(client, info, split, index, 1) if 0 <= index < total else []
    if not rows:
        raise NotFound(f"{info.env} has {total:,} tasks in {split}, and none at place {index}.")
    return rows[0]


async def named(client: EnvClient, info: EnvironmentInfo, task_id: str) -> TaskInfo:
    """The task with this id. Raises `NotFound`, and `CannotPlay`."""
    found = await with_id(client, info, task_id)
    if found is None:
        raise NotFound(f"{info.env} has no task {task_id[:80]!r}.")
    if found.index is None and needs_place(info.splits, found.split):
        raise NotFound(
            f"The place of {task_id[:80]!r} in {found.split} is not known.", "Choose it in the list."
        )
    return found


async def with_id(client: EnvClient, info: EnvironmentInfo, task_id: str) -> TaskInfo | None:
    """The task with this id, of any split; None if there is none that can be played. Raises `CannotPlay`."""
    if not 0 < len(task_id) <= MOST_ID:
        return None
    try:
        return await client.task(info.env, task_id)
    except ServerProblem:
        return None
    except EnvClientError as cause:
        raise CannotPlay(f"The environment server of {info.env} does not answer: {cause}.") from cause


def purpose_of(info: EnvironmentInfo, task: TaskInfo) -> Purpose:
    """`demonstrate`, or `evaluate` for a held-out task, from which nothing may learn."""
    may_learn = learnt(info.splits, task.split)
    is_learnt = bool(may_learn) if task.index is None else task.index in may_learn
    return "demonstrate" if is_learnt else "evaluate"


def needs_place(splits: Mapping[str, int], split: str) -> bool:
    """True if a run holds out a part of the split: whether it learns from a task depends on its place."""
    return 0 < len(learnt(splits, split)) < splits[split]


def explored(splits: Sequence[str] | Mapping[str, int]) -> str | None:
    """The split that a run explores unless it is told otherwise (`agentevol.config.fitting`)."""
    return "train" if "train" in splits else next((name for name in splits if name not in PARTS), None)


def learnt(splits: Mapping[str, int], split: str) -> Sequence[int]:
    """Positions of the tasks of a split that a run does not hold out, unless it is told otherwise.

    Runs hold all other splits out, and a part of this one where there is no split `valid` or `test`.
    """
    if split != explored(splits):
        return range(0)
    parts = [f"{split}:{part}" for part in PARTS if part not in splits]
    share = EvaluateConfig.model_fields["held_out"].default
    return remaining(parts, share)(splits[split]) if parts else range(splits[split])


def size_of(info: EnvironmentInfo, split: str) -> int:
    """Number of tasks of a split. Raises `NotFound`."""
    if split not in info.splits:
        raise NotFound(f"{info.env} has no split {split}; there are: {', '.join(info.splits)}.")
    return info.splits[split]


async def listed(
    client: EnvClient, info: EnvironmentInfo, split: str, offset: int, limit: int
) -> Sequence[TaskInfo]:
    """Tasks of a split from a place on, at most 1,000. Raises `CannotPlay`."""
    try:
        return (await client.tasks(info.env, split, offset=offset, limit=limit)).tasks
    except ServerProblem as problem:
        raise CannotPlay(f"The tasks of {info.env} cannot be listed: {problem.detail}.") from problem
    except EnvClientError as cause:
        raise CannotPlay(f"The environment server of {info.env} does not answer: {cause}.") from cause
