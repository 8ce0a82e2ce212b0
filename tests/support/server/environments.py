"""Environments for tests of servers: `Echo` does nothing, `Mischief` misbehaves on command.

A module of their own, since a worker process must be able to import them.
"""

import asyncio
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import cache
from typing import ClassVar, cast

from agentgym_envs.core import (
    Environment,
    Observation,
    StepResult,
    Task,
    TaskNotFound,
    TaskUnplayable,
)


class Echo(Environment[Task]):
    """Repeats every action; `stop` terminates with reward 1, any other action earns 0.125.

    The state is the list of actions, so that an episode that got another one's actions shows it.
    """

    name = "echo"
    max_turns = 8
    blocking = False
    forkable = True
    difficulties = ("easy", "hard")
    episodes = 3
    """Tasks of each split."""

    def __init__(self) -> None:
        self._said: list[str] = []
        self._seed = 0

    @property
    def splits(self) -> tuple[str, ...]:
        """Two splits."""
        return ("train", "test")

    def tasks(self, split: str, difficulty: str | None = None) -> Sequence[Task]:
        """Easy and hard tasks in turn."""
        if split not in self.splits:
            raise TaskNotFound(split)
        if difficulty not in (None, *self.difficulties):
            raise ValueError(difficulty)
        every = [self.task(f"{split}/{index}") for index in range(self.episodes)]
        return [task for task in every if difficulty in (None, task.difficulty)]

    def task(self, task_id: str) -> Task:
        """`train/0`, `train/1`, ..."""
        split, _, index = task_id.partition("/")
        if split not in self.splits or index not in map(str, range(self.episodes)):
            raise TaskNotFound(task_id)
        return Task(
            env=self.name,
            id=task_id,
            split=split,
            instruction=f"Say stop. This is episode {index}.",
            kind="chat",
            difficulty=self.difficulties[int(index) % 2],
        )

    def reset(self, task: Task, seed: int) -> Observation:
        """Clear the actions."""
        self._said, self._seed = [], seed
        return Observation(text=f"{task.instruction} Seed {seed}.", actions=("say", "stop"))

    def step(self, action: str) -> StepResult:
        """Echo the action."""
        self._said.append(action)
        text = f"{len(self._said)}: {' '.join(self._said)}"
        if action == "stop":
            return StepResult(observation=Observation(text=text), reward=1.0, terminated=True)
        return StepResult(observation=Observation(text=text, actions=("say", "stop")), reward=0.125)

    def expert(self, task: Task) -> list[str]:
        """`stop`."""
        return ["stop"]

    def snapshot(self) -> object:
        """The actions so far."""
        return (tuple(self._said), self._seed)

    def restore(self, snapshot: object) -> None:
        """Continue from these actions."""
        said, self._seed = cast("tuple[tuple[str, ...], int]", snapshot)
        self._said = list(said)


class Mischief(Echo):
    """Breaks on command: `exit`, `kill`, `raise`, `hang`, `nan`, `lie`, `pid`, `eat`; plays in a worker."""

    name = "mischief"
    blocking = True
    forkable = False

    def __init__(self) -> None:
        super().__init__()
        self._meals: list[bytes] = []

    def step(self, action: str) -> StepResult:
        """Execute the command."""
        misdeeds: dict[str, Callable[[], object]] = {
            "exit": lambda: os._exit(3),
            "kill": lambda: os.kill(os.getpid(), signal.SIGKILL),
            "raise": _raise,
            "hang": lambda: time.sleep(3600),
            "print": lambda: os.write(1, b"noise\n"),
            "eat": lambda: self._meals.append(os.urandom(16 << 20)),
        }
        if action in misdeeds:
            misdeeds[action]()
        if action == "nan":
            return StepResult(observation=Observation(text="not a number"), reward=float("nan"))
        if action == "lie":
            return StepResult(observation=Observation(text="no JSON"), info={"value": object()})
        if action == "pid":
            return StepResult(observation=Observation(text=str(os.getpid())))
        return super().step(action)


def _raise() -> None:
    raise RuntimeError("told to raise, at /secret/path")


BAD_COSTS: dict[str, object] = {
    "nan": float("nan"),
    "infinite": float("inf"),
    "negative": -0.5,
    "text": "0.5",
    "truth": True,
    "list": [0.5],
}


class Costly(Echo):
    """Every action costs 0.25 of `harm` and a `noise` that nobody judged; `stop` costs nothing.

    A name of `BAD_COSTS` costs that.
    """

    name = "costly"
    blocking = True

    def step(self, action: str) -> StepResult:
        """Echo the action, at its cost."""
        result = super().step(action)
        costs: dict[str, float | None] = {} if action == "stop" else {"harm": 0.25, "noise": None}
        if action in BAD_COSTS:
            costs = {"harm": cast("float", BAD_COSTS[action])}
        return result.model_copy(update={"costs": costs})


class CheapCostly(Costly):
    """As `Costly`, on the event loop."""

    name = "cheap-costly"
    blocking = False


class CheapMischief(Mischief):
    """As `Mischief`, on the event loop; do not use hang, exit or kill."""

    name = "cheap-mischief"
    blocking = False


@cache
def _library() -> bytes:
    """A large object that all instances of a process share."""
    return os.urandom(64 << 20)


class Heavy(Echo):
    """Environment that loads 64 MiB when its first instance is built."""

    name = "heavy"
    blocking = True

    def __init__(self) -> None:
        super().__init__()
        self._library = _library()


class Threaded(Echo):
    """Environment that starts a thread with its first instance, so that its process cannot be forked."""

    name = "threaded"
    blocking = True

    def __init__(self) -> None:
        super().__init__()
        if threading.active_count() == 1:
            threading.Thread(target=threading.Event().wait, daemon=True).start()


class Slow(Environment[Task]):
    """Environment that waits without blocking: an action is a number of seconds."""

    name = "slow"
    max_turns = 100
    blocking = False
    deterministic = False

    def __init__(self) -> None:
        self._echo = Echo()
        self._steps = 0

    @property
    def splits(self) -> tuple[str, ...]:
        """As `Echo`."""
        return self._echo.splits

    def tasks(self, split: str, difficulty: str | None = None) -> Sequence[Task]:
        """As `Echo`."""
        return self._echo.tasks(split, difficulty)

    def task(self, task_id: str) -> Task:
        """As `Echo`."""
        return self._echo.task(task_id)

    async def reset(self, task: Task, seed: int) -> Observation:
        """Begin."""
        self._steps = 0
        await asyncio.sleep(0)
        return self._echo.reset(task, seed)

    async def step(self, action: str) -> StepResult:
        """Wait for that many seconds."""
        self._steps += 1
        await asyncio.sleep(float(action))
        return StepResult(observation=Observation(text=f"step {self._steps}"))


class Gathering(Echo):
    """Environment whose `wait` ends when another episode of the process says `go`; `count` counts.

    `stick` is a coroutine that blocks its event loop.
    """

    name = "gathering"
    max_turns = 100
    max_waiting = 2
    blocking = True
    inside: ClassVar[int] = 0
    go: ClassVar[asyncio.Event | None] = None

    def step(self, action: str) -> StepResult | Awaitable[StepResult]:  # type: ignore[override]
        """Execute the command."""
        kind = type(self)
        if action == "wait":
            return self._wait()
        if action == "stick":
            return self._stick()
        if action == "go" and kind.go is not None:
            kind.go.set()
            kind.go = None
        text = str(kind.inside) if action == "count" else action
        return StepResult(observation=Observation(text=text))

    async def _wait(self) -> StepResult:
        kind = type(self)
        kind.inside += 1
        kind.go = kind.go or asyncio.Event()
        try:
            await kind.go.wait()
        finally:
            kind.inside -= 1
        return StepResult(observation=Observation(text="went"))

    async def _stick(self) -> StepResult:
        await asyncio.sleep(0.01)  # so that its worker sees it wait
        time.sleep(3600)  # noqa: ASYNC251 - what it is for
        return StepResult(observation=Observation(text="unreachable"))


class LoopGathering(Gathering):
    """As `Gathering`, on the event loop; do not use `stick`."""

    name = "loop-gathering"
    blocking = False


class Duel(Echo):
    """Two seats that speak in turn; `stop` ends it, with 1 for its speaker and 0.25 for the other.

    `exit`, `hang`, `nobody` (no seat may act next) and `pass` (the same seat acts again) break or vary it.
    """

    name = "duel"
    seats = ("left", "right")
    forkable = False

    def __init__(self) -> None:
        super().__init__()
        self._heard: dict[str, list[str]] = {}

    def reset_seats(self, task: Task, seed: int) -> Mapping[str, Observation]:
        """The first seat begins."""
        self._heard = {seat: [f"You are {seat}. {task.instruction} Seed {seed}."] for seat in self.seats}
        return {"left": self._heard_by("left")}

    def step_seats(self, actions: Mapping[str, str]) -> Mapping[str, StepResult]:
        """Tell the other seat what was said."""
        ((seat, action),) = actions.items()
        other = self.seats[1 - self.seats.index(seat)]
        misdeeds: dict[str, Callable[[], object]] = {
            "exit": lambda: os._exit(3),
            "hang": lambda: time.sleep(3600),
        }
        if action in misdeeds:
            misdeeds[action]()
        self._heard[other].append(f"{seat}: {action}")
        if action == "stop":
            return {one: self._over(one, 1.0 if one == seat else 0.25) for one in self.seats}
        if action == "nobody":
            return {}
        return {
            next_one: StepResult(observation=self._heard_by(next_one), reward=0.125)
            for next_one in ((seat,) if action == "pass" else (other,))
        }

    def _heard_by(self, seat: str) -> Observation:
        heard, self._heard[seat] = self._heard[seat], []
        return Observation(text=" / ".join(heard), actions=("say", "stop"))

    def _over(self, seat: str, reward: float) -> StepResult:
        return StepResult(observation=self._heard_by(seat), reward=reward, terminated=True)


class WorkerDuel(Duel):
    """As `Duel`, in workers."""

    name = "worker-duel"
    blocking = True


class Chorus(Duel):
    """Two seats that speak simultaneously; it ends when both say `stop`."""

    name = "chorus"

    def reset_seats(self, task: Task, seed: int) -> Mapping[str, Observation]:
        """Both begin."""
        super().reset_seats(task, seed)
        return {seat: Observation(text=f"You are {seat}.") for seat in self.seats}

    def step_seats(self, actions: Mapping[str, str]) -> Mapping[str, StepResult]:
        """Tell both what both said."""
        text = " / ".join(f"{seat}: {actions[seat]}" for seat in self.seats)
        over = set(actions.values()) == {"stop"}
        result = StepResult(observation=Observation(text=text), reward=0.5, terminated=over)
        return dict.fromkeys(self.seats, result)


class Debate(Duel):
    """Two seats with two messages each, scored in dimensions: `goal` is 5 for each `good` of a seat, `charm`
    1 in the first seat and not defined in the other. Two tasks share a scenario.

    With one agent, the first seat, the other says nothing. `raise` fails.
    """

    name = "debate"
    max_turns = 2
    episodes = 4

    def __init__(self, view: str = "plain") -> None:
        super().__init__()
        self._view = view
        self._task = 0
        self._words: dict[str, list[str]] = {}

    def reset(self, task: Task, seed: int) -> Observation:
        """The first seat alone."""
        return self.reset_seats(task, seed)["left"]

    def reset_seats(self, task: Task, seed: int) -> Mapping[str, Observation]:
        """The first seat begins."""
        self._task, self._words = int(task.id.partition("/")[2]), {seat: [] for seat in self.seats}
        return super().reset_seats(task, seed)

    def step(self, action: str) -> StepResult:
        """The first seat's message."""
        self._words["left"].append(action)
        ended = len(self._words["left"]) == 2
        return self._scored("left") if ended else StepResult(observation=Observation(text=""), reward=0.0)

    def step_seats(self, actions: Mapping[str, str]) -> Mapping[str, StepResult]:
        """Note the message; the last one ends it for both."""
        ((seat, action),) = actions.items()
        if action == "raise":
            _raise()
        other = self.seats[1 - self.seats.index(seat)]
        self._words[seat].append(action)
        self._heard[other].append(f"{seat}: {action}")
        if sum(map(len, self._words.values())) == 4:
            return {one: self._scored(one) for one in self.seats}
        return {other: StepResult(observation=self._heard_by(other), reward=0.0)}

    def _scored(self, seat: str) -> StepResult:
        goal = 5.0 * self._words[seat].count("good")
        info = {
            "dimensions": {"charm": 1 if seat == "left" else None, "goal": goal},
            "overall_score": (1 + goal) / 2 if seat == "left" else None,
            "scenario": f"scene {self._task // 2}",
            "source": ("books", "films")[self._task % 2],
            "relationship": self._task,
            "end_reasons": ["too_long"],
            "view": self._view,
            "judge": {"model": "counter"},
            "seat": self.seats.index(seat),
            "loud": self._words[seat].count("LOUD"),
        }
        text = Observation(text="Over.")
        return StepResult(observation=text, reward=goal / 10, terminated=True, info=info)


class Broken(Echo):
    """Environment that can be built in the server, for the catalogue, but in no worker."""

    name = "broken"
    blocking = True

    def __init__(self) -> None:
        super().__init__()
        if multiprocessing.parent_process() is not None:
            raise RuntimeError("the data of this world is missing")


class Choosy(Echo):
    """Cannot be reset as it is configured, and does not list `test`."""

    name = "choosy"
    blocking = True

    def tasks(self, split: str, difficulty: str | None = None) -> Sequence[Task]:
        """The split `train` alone."""
        if split == "test":
            raise TaskUnplayable("choosy needs partner_model=NAME for the split 'test'")
        return super().tasks(split, difficulty)

    @property
    def splits(self) -> tuple[str, ...]:
        """One split."""
        return ("train",)

    def reset(self, task: Task, seed: int) -> Observation:
        """Refuse."""
        raise TaskUnplayable(f"{task.id} needs partner_model=NAME")


class LoopChoosy(Choosy):
    """As `Choosy`, on the event loop."""

    name = "loop-choosy"
    blocking = False
