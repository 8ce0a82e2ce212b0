"""Records of a server's replies about environments and tasks. Unknown members are ignored."""

from pydantic import BaseModel, ConfigDict


class Info(BaseModel):
    """Base of frozen replies."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class TaskInfo(Info):
    """Public fields of one task."""

    env: str
    task_id: str
    split: str
    index: int | None
    """Index within its split; within the difficulty if the page is of one difficulty. None where the task was
    asked for by its id, and its place is not known.
    """
    instruction: str = ""
    kind: str = ""
    difficulty: str = ""


class TaskPage(Info):
    """Page of the tasks of a split."""

    tasks: tuple[TaskInfo, ...]
    total: int
    """Total number of tasks."""
    offset: int = 0


class EnvironmentInfo(Info):
    """One environment of a server."""

    env: str
    version: str
    data_version: str
    splits: dict[str, int]
    """Number of tasks by split."""
    default_max_turns: int
    deterministic: bool = True
    difficulties: tuple[str, ...] = ()
    capabilities: dict[str, object] = {}
    reward_range: tuple[float, float] = (0.0, 1.0)
    seats: tuple[str, ...] = ()
    """Seats of an episode that several agents play; empty where there is one agent only."""
