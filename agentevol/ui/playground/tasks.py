"""Tasks that a person can choose, and which of them a policy may learn from."""

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from agentevol.config.sections import EvaluateConfig
from agentevol.core.splits import PARTS, remaining
from agentevol.ui.errors import NotFound
from agentevol.ui.playground.errors import CannotPlay
from agentgym_client import EnvClient
from agentgym_client.errors import EnvClientError, ServerProblem
from agentgym_client.records import EnvironmentInfo, TaskInfo
from agentgym_store.purposes import Purpose

PAGE = 1000
MOST_READ = 20_000
"""Tasks of a split that a search reads."""
MOST_SHOWN = 50


@dataclass(frozen=True)
class Tasks:
    """Tasks of a split that contain a text."""

    found: tuple[TaskInfo, ...]
    total: int
    """Tasks of the split."""
    read: int
    """Tasks that were looked at."""


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


async def search(client: EnvClient, info: EnvironmentInfo, split: str, text: str) -> Tasks:
    """The first tasks whose id, instruction, kind or difficulty contains `text`, in any case.

    Raises `NotFound` for an unknown split, `CannotPlay` for one that an option forbids.
    """
    found: list[TaskInfo] = []
    total, read = _size(info, split), 0
    while read < min(total, MOST_READ) and len(found) < MOST_SHOWN:
        rows = await _listed(client, info, split, read, PAGE if text else MOST_SHOWN)
        read += len(rows)
        found += [row for row in rows if text.lower() in _words(row)]
        if not rows or any(row.task_id == text for row in rows):
            break
    return Tasks(tuple(found[:MOST_SHOWN]), total, read)


async def chosen(client: EnvClient, info: EnvironmentInfo, split: str, index: int | None) -> TaskInfo:
    """The task at a place of a split, from 0; None draws one, where possible one that can be learnt from.

    Raises as `search`, and `NotFound` for a place that the split does not have.
    """
    total = _size(info, split)
    if index is None:
        index = secrets.choice(learnt(info.splits, split) or range(total)) if total else 0
    rows = await _listed(client, info, split, index, 1) if 0 <= index < total else []
    if not rows:
        raise NotFound(f"{info.env} has {total:,} tasks in {split}, and none at place {index}.")
    return rows[0]


def purpose_of(info: EnvironmentInfo, task: TaskInfo) -> Purpose:
    """`demonstrate`, or `evaluate` for a held-out task, from which nothing may learn."""
    return "demonstrate" if task.index in learnt(info.splits, task.split) else "evaluate"


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


def _size(info: EnvironmentInfo, split: str) -> int:
    if split not in info.splits:
        raise NotFound(f"{info.env} has no split {split}; there are: {', '.join(info.splits)}.")
    return info.splits[split]


async def _listed(
    client: EnvClient, info: EnvironmentInfo, split: str, offset: int, limit: int
) -> Sequence[TaskInfo]:
    try:
        return (await client.tasks(info.env, split, offset=offset, limit=limit)).tasks
    except ServerProblem as problem:
        raise CannotPlay(f"The tasks of {info.env} cannot be listed: {problem.detail}.") from problem
    except EnvClientError as cause:
        raise CannotPlay(f"The environment server of {info.env} does not answer: {cause}.") from cause


def _words(task: TaskInfo) -> str:
    return "\n".join((task.task_id, task.instruction, task.kind, task.difficulty)).lower()
