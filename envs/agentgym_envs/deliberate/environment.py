"""The environment of the counter as an `Environment`: one reply, in a mode of its choice, ends an episode."""

import re
from collections.abc import Mapping, Sequence
from random import Random
from typing import Annotated, get_args

from pydantic import Field

from agentgym_envs.core import Environment, Observation, StepResult, Task, TaskNotFound
from agentgym_envs.deliberate.puzzles import COUNTS, DEPTHS, VERSION, Puzzle, after, puzzle
from agentgym_envs.deliberate.replies import Surface, read, write
from agentgym_envs.lazy_sequence import LazySequence
from agentgym_envs.thinking import HEADERS, length_factor, render

INSTRUCTION = "Say which digit the counter shows in the end."

RULES = f"""A counter shows one digit. Ten things happen to it in turn: plus and times change it (9 plus 4 is
13, so it shows 3), wait does not. {INSTRUCTION}

Choose how much to think. Level 1 answers at once; level 2, 3 and 4 first note what the counter shows after
the first 3, 7 and 9 things, one digit below each heading. Level 1 and level 2, where 0 stands for a digit:

{render(1, (), "0")}

{render(2, ("0",) * 3, "0")}

The headings of level 3 are {", ".join(HEADERS[3])}; those of level 4, {", ".join(HEADERS[4])}."""
"""Rules for the agent on the `full` surface; a tiny model learns the compact one from demonstrations."""

SURFACE = "Form of replies: `compact` has a few tokens, `full` the headings of AMPO's modes."
EXPERT_MODE = "Mode of the expert's replies; 0 is all modes in turn, by the number of the task."
LENGTH_TARGET = (
    "Digits of a reply for which AMPO's length factor, by which rewards are multiplied, is 1/2; 0 switches it"
    " off."
)
LENGTH_SPAN = "Digits below the target up to which the factor is 1, and above it from which it is 0."

_ID = re.compile(r"([a-z]{1,10})/([a-z]{1,10})/(0|[1-9][0-9]{0,8})")


class DeliberateTask(Task):
    """Deliberate task. `start` and `events` stay on the server as fields; the agent reads them in the
    observation.
    """

    start: int
    events: tuple[tuple[str, int], ...]

    @property
    def puzzle(self) -> Puzzle:
        """The puzzle of the task."""
        return Puzzle(self.start, self.events)


class Deliberate(Environment[DeliberateTask]):
    """Reward 1 for the right digit in any mode; a deeper task takes more digits written down on the way.

    The mode of a well-formed reply is `mode` in the step's info; a malformed one has mode -1, is invalid, and
    `fault` says what is wrong with it. Whether the digits in the sections are right is not looked at.

    AMPO's length factor counts the digits that a reply holds: 1, 4, 8, 10 in mode 1 to 4. AMPO itself counts
    the tokens of the answer alone, which is always one word here.
    """

    name = "deliberate"
    max_turns = 1
    blocking = False
    difficulties = tuple(DEPTHS)

    def __init__(
        self,
        surface: Annotated[Surface, Field(description=SURFACE)] = "compact",
        *,
        expert_mode: Annotated[int, Field(ge=0, le=max(HEADERS), description=EXPERT_MODE)] = 0,
        length_target: Annotated[float, Field(ge=0, description=LENGTH_TARGET)] = 0.0,
        length_span: Annotated[float, Field(gt=0, description=LENGTH_SPAN)] = 5.0,
    ) -> None:
        if surface not in get_args(Surface):
            raise ValueError(f"no surface {surface!r}; there are: {', '.join(get_args(Surface))}")
        if expert_mode not in {0, *HEADERS}:
            raise ValueError(f"expert_mode is {expert_mode}; it is a mode, 1 to 4, or 0 for all in turn")
        if length_target < 0 or length_span <= 0:
            raise ValueError(
                f"length_target {length_target} is below 0, or length_span {length_span} is not above"
            )
        self.surface: Surface = surface
        self.expert_mode = expert_mode
        self.length_target = length_target
        self.length_span = length_span
        self._answer: str | None = None
        self._is_over = False

    @property
    def splits(self) -> tuple[str, ...]:
        return tuple(COUNTS)

    @property
    def data_version(self) -> str:
        return f"generated:{VERSION}"

    def tasks(self, split: str, difficulty: str | None = None) -> Sequence[DeliberateTask]:
        """As in `Environment`; without a difficulty, levels take turns."""
        if split not in COUNTS:
            raise TaskNotFound(f"deliberate has no split {split[:80]!r}; there are: {', '.join(COUNTS)}")
        if difficulty is not None and difficulty not in DEPTHS:
            raise ValueError(f"no difficulty {difficulty[:80]!r}; there are: {', '.join(DEPTHS)}")
        levels = [difficulty] if difficulty else list(DEPTHS)
        return LazySequence(
            len(levels) * COUNTS[split],
            lambda index: _task(split, levels[index % len(levels)], index // len(levels)),
        )

    def task(self, task_id: str) -> DeliberateTask:
        found = _ID.fullmatch(task_id)
        if not found or found[1] not in COUNTS or found[2] not in DEPTHS or int(found[3]) >= COUNTS[found[1]]:
            raise TaskNotFound(f"deliberate has no task {task_id[:80]!r}")
        return _task(found[1], found[2], int(found[3]))

    def reset(self, task: DeliberateTask, seed: int) -> Observation:
        self._answer, self._is_over = str(task.puzzle.digits[-1]), False
        text = task.puzzle.text
        return Observation(text=text if self.surface == "compact" else f"{RULES}\n\n{text}")

    def step(self, action: str) -> StepResult:
        if self._answer is None:
            raise RuntimeError("step before reset")
        if self._is_over:
            return _ended("It is over.")
        self._is_over = True
        reply = read(action, self.surface)
        if not reply.ok:
            info = {"mode": -1, "invalid_action": True, "fault": reply.fault}
            return _ended("That is no reply in a thinking mode.", info=info)
        if reply.answer != self._answer:
            return _ended("Wrong.", info={"mode": reply.mode})
        return _ended("Right.", reward=self._factor(len(reply.sections) + 1), info={"mode": reply.mode})

    def expert(self, task: DeliberateTask) -> list[str]:
        """The right reply in the mode of `expert_mode`; steps beyond its sections are not written down."""
        mode = self.expert_mode or int(task.id.rpartition("/")[2]) % len(HEADERS) + 1
        return [self._reply(mode, task.puzzle.digits)]

    def demonstrate(self, task: DeliberateTask, seed: int, care: float = 1.0) -> list[str]:
        """A reply of a player that overlooks each event with probability 1 - `care`, in a mode drawn by
        `seed` unless `expert_mode` sets it.
        """
        random, digit, digits = Random(seed), task.start, list[int]()
        mode = self.expert_mode or random.choice(list(HEADERS))
        for what, number in task.events:
            digit = after(digit, what, number) if random.random() < care else digit
            digits.append(digit)
        return [self._reply(mode, digits)]

    def close(self) -> None:
        self._answer = None

    def _reply(self, mode: int, digits: Sequence[int]) -> str:
        noted = [str(digit) for digit in digits[: len(HEADERS[mode])]]
        return write(mode, noted, str(digits[-1]), self.surface)

    def _factor(self, digits: int) -> float:
        if self.length_target == 0:
            return 1.0
        return length_factor(digits, target=self.length_target, span=self.length_span)


def _ended(text: str, *, reward: float = 0.0, info: Mapping[str, object] | None = None) -> StepResult:
    return StepResult(
        observation=Observation(text=text), reward=reward, terminated=True, info=dict(info or {})
    )


def _task(split: str, difficulty: str, number: int) -> DeliberateTask:
    drawn = puzzle(split, difficulty, number)
    return DeliberateTask(
        env=Deliberate.name,
        id=f"{split}/{difficulty}/{number}",
        split=split,
        instruction=INSTRUCTION,
        kind=difficulty,
        difficulty=difficulty,
        start=drawn.start,
        events=drawn.events,
    )
