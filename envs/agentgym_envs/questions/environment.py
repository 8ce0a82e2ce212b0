"""Questions with one reply each, as an `Environment`: `Questions`."""

import re
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Annotated

from pydantic import Field

from agentgym_envs.core import Environment, Observation, StepResult, Task, TaskNotFound
from agentgym_envs.home import data_home
from agentgym_envs.lazy_sequence import LazySequence
from agentgym_envs.questions.files import QuestionFile, open_questions
from agentgym_envs.questions.generator import COUNTS, LEVELS, VERSION, problem
from agentgym_envs.questions.library import IMPORTED, imported_file
from agentgym_envs.questions.records import Question
from agentgym_envs.questions.verifiers import NONE, checked_name, verify

INSTRUCTION = "Answer the question."
NAME = "questions"
_ID = re.compile(r"([a-z]{1,10})/([0-9])/(0|[1-9][0-9]{0,8})")
_TOLD = {"right": "Right.", "wrong": "Wrong.", "no answer found": "There is no answer in it."}
FILE = "JSON Lines of questions, or `imported`; without one, generated arithmetic and word problems."
VERIFIER = (
    "Verifier of questions that name none: `exact`, `choice`, `number`, `math`, `none`, `module:attribute`."
)
SHOWN = 200
"""Most characters of an answer in the info of a step."""


class QuestionTask(Task):
    """A question; all but the fields of `Task` stays on the server."""

    prompt: str
    answer: str
    verifier: str
    solution: str = ""


class Questions(Environment[QuestionTask]):
    """Reward 1 for a reply with the right answer, by the verifier of the question.

    A reply is any text: how its answer is found is told in `agentgym_envs.questions.extraction`. The step's
    info has the `outcome`, `right`, `wrong` or `no answer found`, and the `answer` found in the reply.

    Options: `file`, JSON Lines of questions, or `imported` for those of `agentevol data import questions`;
    without one, generated arithmetic and word problems. `verifier` is that of the questions of a file which
    name none (`agentgym_envs.questions.verifiers`); with `none` the reward is always 0, and the task not
    trainable but by a reward model or judge.
    """

    name = NAME
    max_turns = 1
    reward_columns = ("answer", "solution")
    baselines = {"idle": (0.0, 0.0), "spray": (0.0, 0.2)}  # noqa: RUF012 - a class fact, never changed

    def __init__(
        self,
        file: Annotated[str | None, Field(description=FILE)] = None,
        *,
        verifier: Annotated[str, Field(description=VERIFIER)] = "math",
    ) -> None:
        self.verifier = checked_name(verifier)
        self._file = None if file is None else _opened(file, verifier)
        if file is None and verifier not in ("math", "number"):
            raise ValueError(f"verifier {verifier!r} has no effect: generated questions have numbers")
        self.difficulties = tuple(LEVELS) if self._file is None else self._file.difficulties
        self.scored = verifier != NONE
        self._task: QuestionTask | None = None
        self._is_over = False

    @property
    def splits(self) -> tuple[str, ...]:
        return tuple(COUNTS) if self._file is None else self._file.splits

    @property
    def data_version(self) -> str:
        return f"generated:{VERSION}" if self._file is None else f"file:{self._file.digest}"

    @property
    def assets(self) -> tuple[Path, ...]:
        return () if self._file is None else (self._file.path,)

    def tasks(self, split: str, difficulty: str | None = None) -> Sequence[QuestionTask]:
        """As in `Environment`; without a difficulty, levels of generated questions take turns."""
        if split not in self.splits:
            raise TaskNotFound(f"questions has no split {split[:80]!r}; there are: {', '.join(self.splits)}")
        if difficulty is not None and difficulty not in self.difficulties:
            known = ", ".join(self.difficulties) or "none"
            raise ValueError(f"no difficulty {difficulty[:80]!r}; there are: {known}")
        file = self._file
        if file is not None:
            numbers = file.numbers_of(split, difficulty)
            return LazySequence(len(numbers), lambda index: self._stored(file, numbers[index]))
        levels = [difficulty] if difficulty else list(LEVELS)
        return LazySequence(
            len(levels) * COUNTS[split],
            lambda index: _generated(split, levels[index % len(levels)], index // len(levels)),
        )

    def task(self, task_id: str) -> QuestionTask:
        if self._file is not None:
            number = self._file.numbers.get(task_id)
            if number is None:
                raise TaskNotFound(f"questions has no task {task_id[:80]!r}")
            return self._stored(self._file, number)
        found = _ID.fullmatch(task_id)
        if not found or found[1] not in COUNTS or found[2] not in LEVELS or int(found[3]) >= COUNTS[found[1]]:
            raise TaskNotFound(f"questions has no task {task_id[:80]!r}")
        return _generated(found[1], found[2], int(found[3]))

    def reset(self, task: QuestionTask, seed: int) -> Observation:
        self._task, self._is_over = task, False
        return Observation(text=task.prompt)

    def step(self, action: str) -> StepResult:
        task = self._task
        if task is None:
            raise RuntimeError("step before reset")
        if self._is_over:
            return StepResult(observation=Observation(text="It is over."), terminated=True)
        self._is_over = True
        verdict = verify(task.verifier, action, task.answer)
        info: dict[str, object] = {"outcome": verdict.outcome}
        if verdict.extracted:
            info["answer"] = verdict.extracted[:SHOWN]
        if verdict.outcome == "no answer found":
            info["invalid_action"] = True
        if task.verifier == NONE:
            info["trainable"] = False
        text = _TOLD.get(verdict.outcome, "Thank you.")
        return StepResult(
            observation=Observation(text=text), reward=verdict.score, terminated=True, info=info
        )

    def expert(self, task: QuestionTask) -> list[str] | None:
        """The worked solution, or the answer; None where the verifier is a user's function, or `none`."""
        if task.verifier == NONE or ":" in task.verifier:
            return None
        return [_told(task)]

    def demonstrate(self, task: QuestionTask, seed: int, care: float = 1.0) -> list[str]:
        """The solution of a player who miscalculates each step of a generated problem with probability 1 -
        `care`; the solution, or the answer, of a question of a file.
        """
        if self._file is None:
            split, level, number = task.id.split("/")
            return [problem(split, level, int(number)).attempt(Random(seed), care)]
        if not (task.solution or task.answer):
            raise NotImplementedError(f"{task.id} has neither a solution nor an answer")
        return [_told(task)]

    def close(self) -> None:
        self._task = None

    def _stored(self, file: QuestionFile, number: int) -> QuestionTask:
        return _task_of(file.question(number), self.verifier)


def _opened(file: str, verifier: str) -> QuestionFile:
    return open_questions(imported_file(data_home()) if file == IMPORTED else Path(file), verifier)


def _told(task: QuestionTask) -> str:
    """The solution, in which the answer is marked, or the answer alone."""
    if not task.solution or task.verifier == NONE or ":" in task.verifier:
        return task.solution or task.answer
    texts = (task.solution, f"{task.solution}\nThe answer is {task.answer}", f"\\boxed{{{task.answer}}}")
    right = (text for text in texts if verify(task.verifier, text, task.answer).score == 1)
    return next(right, task.answer)


def _task_of(one: Question, verifier: str) -> QuestionTask:
    return QuestionTask(
        env=NAME,
        id=one.id,
        split=one.split,
        instruction=INSTRUCTION,
        kind=one.kind,
        difficulty=one.difficulty,
        prompt=one.prompt,
        answer=one.answer,
        verifier=one.verifier or verifier,
        solution=one.solution,
    )


def _generated(split: str, level: str, number: int) -> QuestionTask:
    drawn = problem(split, level, number)
    return QuestionTask(
        env=NAME,
        id=f"{split}/{level}/{number}",
        split=split,
        instruction=INSTRUCTION,
        kind=drawn.kind,
        difficulty=level,
        prompt=drawn.text,
        answer=str(drawn.answer),
        verifier="number",
        solution=drawn.solution,
    )
