"""What a server tells of its environments and tasks. Members that this version does not know are ignored."""

from pydantic import BaseModel, ConfigDict


class Info(BaseModel):
    """A frozen reply."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class TaskInfo(Info):
    """One task, as far as an agent may know it."""

    env: str
    task_id: str
    split: str
    index: int
    """Place within its split; within those of its difficulty where the page is of one difficulty."""
    instruction: str = ""
    kind: str = ""
    difficulty: str = ""


class TaskPage(Info):
    """Some of the tasks of a split."""

    tasks: tuple[TaskInfo, ...]
    total: int
    """How many there are in all."""
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
