"""Tasks by split and index: the task of a reset, and OpenEnv's task API.

POST /webshop/task {"split": "test", "index": 0}
{"task": {"task_id": "test/0", "split": "test", "index": 0}}
"""

import secrets
from typing import Any

from agentgym_server.catalogue import Catalogue, Page
from agentgym_server.dialects.openenv.models import ResetOptions
from agentgym_server.wire.problems import Problem, clipped

DEFAULT_SPLIT = "train"
SPLIT_TYPES = ("train", "validation", "test")
MAX_WHOLE = 20_000
"""Maximum number of tasks of one reply. A split may have hundreds of thousands, each made when it is read."""
PAGE = 1000
"""Tasks in the first page of a larger list, and tasks that are read at a time."""


class BadIndex(Exception):
    """The split has no task at the given index."""


async def chosen_task(catalogue: Catalogue, env: str, options: ResetOptions) -> tuple[str, int]:
    """Task id and seed of a reset; raises the problem `task-not-found`."""
    seed = secrets.randbelow(2**53) if options.seed is None else options.seed
    if options.task_id is not None:
        return options.task_id, seed
    split = options.split or default_split(catalogue, env)
    total = await count(catalogue, env, split)
    index = options.index
    if index is None:
        index = await catalogue.drawn(env, (split,), seed)
    if index >= total:
        raise Problem("task-not-found", f"split {clipped(split)!r} has {total} tasks, none at {index}")
    (row,) = await _rows(catalogue, env, split, range(index, index + 1))
    return row["task_id"], seed


def default_split(catalogue: Catalogue, env: str) -> str:
    """Default split of tasks: `train`, or the first split where there is none of this name."""
    splits = catalogue.of(env).environment.splits
    return DEFAULT_SPLIT if DEFAULT_SPLIT in splits else splits[0]


def splits(catalogue: Catalogue, env: str) -> list[dict[str, str]]:
    """Splits with their types; the protocol has three."""
    return [
        {"name": split, "type": split if split in SPLIT_TYPES else "validation"}
        for split in catalogue.of(env).environment.splits
    ]


async def count(catalogue: Catalogue, env: str, split: str) -> int:
    """The number of tasks in a split; raises the problem `task-not-found` where there is no such split."""
    sizes: dict[str, int] = (await catalogue.entry(env))["splits"]
    if split not in sizes:
        names = ", ".join(sizes)
        raise Problem("task-not-found", f"no split is named {clipped(split)!r}; there are: {names}")
    return sizes[split]


async def one(catalogue: Catalogue, env: str, split: str, index: int) -> dict[str, Any]:
    """The task at an index; raises `BadIndex`."""
    if not 0 <= index < await count(catalogue, env, split):
        raise BadIndex("Invalid task index")
    (row,) = await _rows(catalogue, env, split, range(index, index + 1))
    return row


async def some(
    catalogue: Catalogue, env: str, split: str, start: int | None = None, stop: int | None = None
) -> dict[str, Any]:
    """The tasks of a slice; of more than `MAX_WHOLE` the first page, with `num_tasks` and `next_start`."""
    total = await count(catalogue, env, split)
    wanted = range(total)[start:stop]
    listed = wanted if len(wanted) <= MAX_WHOLE else wanted[:PAGE]
    rows: list[dict[str, Any]] = []
    for first in range(0, len(listed), PAGE):
        rows += await _rows(catalogue, env, split, listed[first : first + PAGE])
    more = {} if listed == wanted else {"num_tasks": total, "next_start": listed.stop}
    return {"tasks": rows, **more}


async def _rows(catalogue: Catalogue, env: str, split: str, places: range) -> list[dict[str, Any]]:
    page = await catalogue.tasks(env, Page(split, offset=places.start, limit=len(places)))
    return [{name: row[name] for name in ("task_id", "split", "index")} for row in page["tasks"]]
