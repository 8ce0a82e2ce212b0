"""The contract between worlds and everything else: `Task`, `Observation`, `StepResult`, `Environment`.

An environment is one module (or a small package) that subclasses `Environment` and has one line in
`agentgym_envs.registry.REGISTRY`. It knows nothing of HTTP, prompts, turn limits or tokens: the server counts
turns and ends an episode at `max_turns`; the client renders prompts.
"""

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Mapping, Sequence
from typing import Any, ClassVar, Generic, TypeVar

from pydantic import BaseModel, ConfigDict, Field


class Record(BaseModel):
    """A frozen value whose unknown fields are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Task(Record):
    """One episode's goal. Subclasses add private fields (answers, goals): these alone cross the wire."""

    env: str
    id: str
    """Unique within the environment, over all splits; 1 to 256 characters, none a control character."""
    split: str
    instruction: str
    """What the agent is told to achieve, in the environment's own words."""
    kind: str = ""
    """The task type by which results are broken down, for example `pick_two_obj_and_place`."""
    difficulty: str = ""
    """The difficulty level by which tasks are drawn and results are broken down, for example `small`."""


class Observation(Record):
    """What the agent perceives after a reset or an action."""

    text: str
    actions: tuple[str, ...] | None = None
    """The admissible actions, sorted, where the world can list them."""
    tools: tuple[dict[str, Any], ...] | None = None
    """JSON-schema function descriptions, where the world has tools."""


class StepResult(Record):
    """The outcome of one action. The sum of an episode's rewards lies in the environment's `reward_range`."""

    observation: Observation
    reward: float = 0.0
    terminated: bool = False
    """The world reached its end. A turn limit is not an end: that is the server's `truncated`."""
    truncated: bool = False
    info: dict[str, Any] = Field(default_factory=dict)
    """JSON values an agent may see. `invalid_action: True` marks an action that could not be carried out."""


class TaskNotFound(LookupError):
    """No task has this id, or no split has this name."""


TaskT = TypeVar("TaskT", bound=Task)


class Environment(ABC, Generic[TaskT]):
    """One world holding one episode at a time. Instances are independent: they share read-only data at most.

    `reset` and `step` may be coroutines where a world waits on an endpoint. Equal task, seed and actions give
    equal episodes where `deterministic`. A malformed action is part of the world: it gets an observation,
    never an exception.
    """

    name: ClassVar[str]
    version: ClassVar[str] = "1.0.0"
    max_turns: ClassVar[int]
    """Default limit of actions in an episode."""
    blocking: ClassVar[bool] = True
    """False only for worlds so cheap (far below 1 ms) that they may run on an event loop."""
    deterministic: ClassVar[bool] = True
    reward_range: ClassVar[tuple[float, float]] = (0.0, 1.0)
    difficulties: ClassVar[tuple[str, ...]] = ()
    tools: ClassVar[tuple[dict[str, Any], ...] | None] = None
    """The tools that every task has, as JSON-schema function descriptions; None for worlds without tools."""
    forkable: ClassVar[bool] = False
    """Whether `snapshot` and `restore` are offered."""
    baselines: ClassVar[Mapping[str, tuple[float, float]]] = {"idle": (0.0, 0.0), "spray": (0.0, 0.0)}
    """Range of the mean return over all tasks of two policies without sense: `idle` says nothing, `spray`
    says every admissible action in turn (see `agentgym_envs.episodes`). The conformance check compares."""

    @property
    @abstractmethod
    def splits(self) -> tuple[str, ...]:
        """Names of the splits in a fixed order. Their tasks are disjoint in content."""

    @property
    def data_version(self) -> str:
        """Digest of the data behind the tasks; equal `version` and `data_version` mean identical tasks."""
        return f"builtin:{self.version}"

    @abstractmethod
    def tasks(self, split: str, difficulty: str | None = None) -> Sequence[TaskT]:
        """Tasks of a split in stable order, all or of one difficulty; may be a lazy sequence of millions.

        Raises `TaskNotFound` for an unknown split, `ValueError` for an unknown difficulty.
        """

    @abstractmethod
    def task(self, task_id: str) -> TaskT:
        """The task of this id; raises `TaskNotFound`."""

    def draw(self, splits: Sequence[str], seed: int) -> int:
        """The task that is meant where none is named: its place among those of `splits`, one after the other.

        Equal seeds draw equal tasks; by default all are as likely. Raises `TaskNotFound` where there is none.
        """
        total = sum(len(self.tasks(split)) for split in splits)
        if not total:
            raise TaskNotFound(f"{self.name} has no task in {', '.join(splits)[:80]!r}")
        return seed % total

    @abstractmethod
    def reset(self, task: TaskT, seed: int) -> Observation | Awaitable[Observation]:
        """Begin an episode, dropping the previous one."""

    @abstractmethod
    def step(self, action: str) -> StepResult | Awaitable[StepResult]:
        """Carry out one action of the current episode."""

    def close(self) -> None:
        """Free what the instance holds; may be called twice."""

    def expert(self, task: TaskT) -> list[str] | None:
        """Actions that earn the maximum from the start of `task`, or None where the world has no expert."""
        return None

    def demonstrate(self, task: TaskT, seed: int, care: float = 1.0) -> list[str]:
        """Messages, won or lost, of a player who sees only what any agent sees; `seed` draws its choices.

        Each is an action, which a thought may stand before as `agentgym_envs.formats.render_thinking` has it.
        With `care` 1 it wins most tasks; with less it forgets parts of them, each with probability
        1 - `care`. The expert knows the world's secrets, so that its episodes show nothing about looking for
        things. Raises `NotImplementedError` where the environment has no such player.
        """
        raise NotImplementedError(f"{self.name} has no player who searches")

    def snapshot(self) -> object:
        """The state of the current episode as a value that later steps do not change."""
        raise NotImplementedError(f"{self.name} cannot be forked")

    def restore(self, snapshot: object) -> None:
        """Continue from a `snapshot` taken from any instance of this class."""
        raise NotImplementedError(f"{self.name} cannot be forked")
