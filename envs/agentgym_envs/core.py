"""Environment interface: `Task`, `Observation`, `StepResult`, `Environment`.

An environment is one module (or a small package) that subclasses `Environment` and has one line in
`agentgym_envs.registry.REGISTRY`. It has no HTTP, prompts, turn limits or tokens: the server counts turns and
ends an episode at `max_turns`; the client renders prompts.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar, Generic, Literal, TypeVar, cast

from pydantic import BaseModel, ConfigDict, Field, SkipValidation


class Record(BaseModel):
    """Frozen record whose unknown fields are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid")


Cost = Annotated[float, Field(ge=0, allow_inf_nan=False, strict=True)]
"""Cost of an action: a finite number of at least 0."""
Costs = dict[str, Cost | None]
"""Costs by name; None is a cost that was not judged, which is not a cost of 0."""


class Task(Record):
    """Goal of one episode. Subclasses add private fields (answers, goals); only the fields here cross the
    wire.
    """

    env: str
    id: str
    """Unique within the environment, over all splits; 1 to 256 characters, none a control character."""
    split: str
    instruction: str
    """Goal as it is told to the agent, in the environment's own words."""
    kind: str = ""
    """Task type, by which results are broken down, for example `pick_two_obj_and_place`."""
    difficulty: str = ""
    """Difficulty level, by which tasks are drawn and results are broken down, for example `small`."""


class Observation(Record):
    """Observation of the agent after a reset or an action."""

    text: str
    actions: tuple[str, ...] | None = None
    """Admissible actions, sorted, if the environment can list them."""
    tools: Annotated[tuple[dict[str, Any], ...] | None, SkipValidation] = None
    """The tools that can be called next, if the environment has tools: JSON-schema function descriptions,
    `{"type": "function", "function": {"name", "description", "parameters"}}`.
    """


class StepResult(Record):
    """The outcome of one action. The sum of an episode's rewards lies in the environment's `reward_range`."""

    observation: Observation
    reward: float = 0.0
    terminated: bool = False
    """The environment reached its end. A turn limit is not an end: that is the server's `truncated`."""
    truncated: bool = False
    costs: Annotated[dict[str, float | None], SkipValidation] = Field(default_factory=dict)
    """Costs of this action by name, finite and at least 0; None is a cost that was not judged. They go to the
    trainer, not to the agent; the cost of an episode is their sum. `checked_costs` refuses others.
    """
    info: dict[str, Any] = Field(default_factory=dict)
    """JSON values an agent may see. `invalid_action: True` marks an action that could not be executed.

    `trainable` in the last step is False where the reward of a task tells little about a policy, since doing
    nothing earns it or its published solution fails: evaluations break their results down by it.
    """


def checked_costs(costs: object) -> Costs:
    """The costs of a step as plain numbers; raises `ValueError`, in one line, where they are none."""
    if not isinstance(costs, Mapping):
        raise ValueError(f"the environment's costs are a {type(costs).__name__}, not numbers by name")
    found: Costs = {}
    for name, cost in cast("Mapping[object, object]", costs).items():
        if not isinstance(name, str):
            raise ValueError(f"the environment's cost {name!r} has a name that is not text")
        if cost is not None and not _is_cost(cost):
            value = repr(cost)[:80]
            raise ValueError(
                f"the environment's cost {name[:80]!r} is {value}, not a finite number of at least 0"
            )
        found[name] = None if cost is None else float(cast("float", cost))
    return found


def _is_cost(cost: object) -> bool:
    return isinstance(cost, int | float) and not isinstance(cost, bool) and 0 <= cost < math.inf


class DependencyFault(RuntimeError):
    """Failure of a model or service that an episode depends on: the episode has failed, and has no reward."""

    kind: ClassVar[Literal["partner", "judge", "verifier"]]
    """Dependency that failed: it is the episode's kind of failure."""


class TaskNotFound(LookupError):
    """No task has this id, or no split has this name."""


class TaskUnplayable(RuntimeError):
    """A task, or a split of tasks, that the options of this instance cannot play.

    The message names the option in one line; callers of a server read it.
    """


TaskT = TypeVar("TaskT", bound=Task)


class Environment(ABC, Generic[TaskT]):
    """Environment with one episode at a time. Instances are independent: they share at most read-only data.

    `reset` and `step` may be coroutines if an environment waits on an endpoint. One that is past its
    deadline, or whose session is closed, is cancelled, and `close` follows. Equal task, seed and actions give
    equal episodes if `deterministic`. A malformed action is part of the environment: it gets an observation,
    never an exception.
    """

    name: ClassVar[str]
    version: ClassVar[str] = "1.0.0"
    max_turns: int
    """Default limit of actions per episode; an instance may have its own, by its options."""
    blocking: ClassVar[bool] = True
    """False only for environments so cheap (far below 1 ms) that they may run on an event loop."""
    max_waiting: int = 64
    """Coroutines of `reset` and `step` that one server runs at once; later ones queue. An instance may have
    another limit, by its options.
    """
    waits_s: float = 0.0
    """Seconds after which a coroutine of `reset` or `step` has certainly ended by its own time-outs. A server
    whose limits are lower waits so long, so that the environment says what failed.
    """
    deterministic: bool = True
    """Whether equal task, seed and actions give equal episodes; an instance may differ, by its options."""
    reward_range: ClassVar[tuple[float, float]] = (0.0, 1.0)
    difficulties: tuple[str, ...] = ()
    """Names of the levels in order; an instance may have others, by its options."""
    changing_tools: ClassVar[bool] = False
    """True if the tools may change within an episode. Clients are told before the first change (MCP's
    `listChanged`), and so this cannot be found out from observations.
    """
    seats: ClassVar[tuple[str, ...]] = ()
    """Names of the seats of an episode that several agents play, each in a session of its own; () where there
    is one agent only. `reset` and `step` play one agent against the environment's own partners.
    """
    scored: bool = True
    """False where rewards say nothing: a run needs a reward model, a judge or a reward function. An instance
    may differ, by its options.
    """
    reward_columns: ClassVar[tuple[str, ...]] = ()
    """Names of private fields of tasks that a trainer's reward functions may read; agents never see them."""
    variant_splits: ClassVar[tuple[str, ...]] = ()
    """Names of splits that a benchmark's publisher made of the same tasks: their content may be equal. Who
    trains in one of them has seen the others.
    """
    forkable: ClassVar[bool] = False
    """True if `snapshot` and `restore` are implemented."""
    baselines: ClassVar[Mapping[str, tuple[float, float]]] = {"idle": (0.0, 0.0), "spray": (0.0, 0.0)}
    """Range of the mean return over all tasks of two policies without skill: `idle` sends empty actions,
    `spray` every admissible action in turn (see `agentgym_envs.episodes`). The conformance check compares.
    """

    @property
    @abstractmethod
    def splits(self) -> tuple[str, ...]:
        """Names of the splits in a fixed order. Their tasks are disjoint in content."""

    @property
    def data_version(self) -> str:
        """Digest of the data behind the tasks; equal `version` and `data_version` mean identical tasks."""
        return f"builtin:{self.version}"

    @property
    def tools(self) -> tuple[dict[str, Any], ...] | None:
        """All tools that observations may offer, as JSON-schema function descriptions; None without tools.

        A task may offer some of them only. Tools that are not known before an episode are left out.
        """
        return None

    @property
    def read_only_tools(self) -> Mapping[str, bool]:
        """Whether a tool leaves the world as it is, by its name, for the annotations that MCP's clients read.

        Tools that are not named may or may not. A description of a tool in `tools` or in an observation has
        no place for it: models would read it too.
        """
        return {}

    @property
    def speaks(self) -> bool:
        """True if agents also send messages without a tool call, which a user in the environment answers.

        Clients that can only call tools (MCP) are offered one that sends messages.
        """
        return False

    @property
    def assets(self) -> tuple[Path, ...]:
        """Large read-only files that episodes read by `agentgym_envs.assets.mapped`.

        Servers open them before the first episode, and the conformance check tests that no episode copies
        them.
        """
        return ()

    @abstractmethod
    def tasks(self, split: str, difficulty: str | None = None) -> Sequence[TaskT]:
        """Tasks of a split in stable order, all or of one difficulty; may be a lazy sequence of millions.

        Raises `TaskNotFound` for an unknown split, `ValueError` for an unknown difficulty, `TaskUnplayable`
        for a split that is not among `splits` because of an option.
        """

    @abstractmethod
    def task(self, task_id: str) -> TaskT:
        """The task with this id; raises `TaskNotFound`."""

    def draw(self, splits: Sequence[str], seed: int) -> int:
        """The default task: drawn from the tasks of `splits`, one after the other.

        Equal seeds draw equal tasks; by default all are equally likely. Raises `TaskNotFound` if there is
        none.
        """
        total = sum(len(self.tasks(split)) for split in splits)
        if not total:
            raise TaskNotFound(f"{self.name} has no task in {', '.join(splits)[:80]!r}")
        return seed % total

    @abstractmethod
    def reset(self, task: TaskT, seed: int) -> Observation | Awaitable[Observation]:
        """Start an episode, dropping the previous one. Raises `TaskUnplayable` where an option forbids it."""

    @abstractmethod
    def step(self, action: str) -> StepResult | Awaitable[StepResult]:
        """Execute one action of the current episode."""

    def reset_seats(
        self, task: TaskT, seed: int
    ) -> Mapping[str, Observation] | Awaitable[Mapping[str, Observation]]:
        """Start an episode with an agent in every seat; the observations of the seats that act first."""
        raise NotImplementedError(f"{self.name} has one seat")

    def step_seats(
        self, actions: Mapping[str, str]
    ) -> Mapping[str, StepResult] | Awaitable[Mapping[str, StepResult]]:
        """Execute the actions of all seats whose turn it is: one by one, or simultaneously.

        Returns a result for every seat that acts next: all it observes and earns since its own last action.
        A result that terminates ends its seat, also where the seat does not act. The last call of an episode
        ends all seats that are left.
        """
        raise NotImplementedError(f"{self.name} has one seat")

    def close(self) -> None:
        """Free the resources of the instance; may be called twice."""

    def expert(self, task: TaskT) -> list[str] | None:
        """Actions that earn the maximum from the start of `task`, or None if the environment has no
        expert.
        """
        return None

    def demonstrate(self, task: TaskT, seed: int, care: float = 1.0) -> list[str]:
        """Messages, won or lost, of a player with an agent's view only; `seed` draws its choices.

        Each is an action, optionally after a thought as `agentgym_envs.formats.render_thinking` writes it.
        With `care` 1 it wins most tasks; with less it forgets parts of them, each with probability 1 -
        `care`. The expert uses hidden state, so that its episodes contain no search. Raises
        `NotImplementedError` if the environment has no such player.
        """
        raise NotImplementedError(f"{self.name} has no player who searches")

    @classmethod
    def demonstration_options(cls, options: Mapping[str, Any]) -> Mapping[str, Any]:
        """Options under which the environment's player plays, made of those of a run: without partners that
        it cannot foresee.
        """
        return options

    def demonstrate_in_modes(
        self, task: TaskT, seed: int, care: float = 1.0, modes: Sequence[int] = (1, 2, 3, 4)
    ) -> list[str]:
        """Replies of such a player in AMPO's thinking modes (`agentgym_envs.thinking`), each in one of
        `modes`, which `seed` draws; their answers are its actions.

        Raises `NotImplementedError` if the environment has no player that says what it thinks.
        """
        raise NotImplementedError(f"{self.name} has no player that says what it thinks")

    def snapshot(self) -> object:
        """The state of the current episode as a value that later steps do not change."""
        raise NotImplementedError(f"{self.name} cannot be forked")

    def restore(self, snapshot: object) -> None:
        """Continue from a `snapshot` taken from any instance of this class."""
        raise NotImplementedError(f"{self.name} cannot be forked")
