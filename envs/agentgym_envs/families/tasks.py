"""Tasks of the families, and their generation."""

import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic

from agentgym_envs.core import Task, TaskNotFound
from agentgym_envs.families.answers import Answer
from agentgym_envs.families.drafts import Draft, Form, Recorder, StateT, Unsuitable
from agentgym_envs.knowledge import SPLITS
from agentgym_envs.knowledge.rows import Draw
from agentgym_envs.tooluse import ToolError, Toolset
from agentgym_envs.tooluse.calls import written

VERSION = 1
"""Version of the generators; part of every seed."""
MOST_ATTEMPTS = 500
OWN = "agentgym"
"""Split of the tasks whose ids are plain numbers, as many as AgentGym has."""
_ID = re.compile(r"(?:(train|valid|test)/)?(0|[1-9][0-9]{0,8})")

Setting = Mapping[str, Any]
"""Initial values of a state, as JSON values: the number of a world, a date."""


class FamilyTask(Task):
    """A task. Its fields stay on the server."""

    setting: dict[str, Any]
    attempt: int
    """Number of the draw from which the task was made."""
    answer: Answer | None
    """None for operations."""
    change: Any = None
    """Wanted difference of the state to its beginning."""
    evidence: tuple[str, ...] = ()
    """Keys of the rows that tools must have returned before the answer, see `EpisodeState.knows`."""
    plan: tuple[str, ...]
    """Actions of the solving program, the last of which finishes."""


@dataclass(frozen=True, eq=False)
class Generator(Generic[StateT]):
    """Generator of the tasks of one environment."""

    name: str
    tools: Toolset
    counts: Mapping[str, int]
    """Number of tasks by split."""
    forms: Mapping[str, Sequence[Form[StateT]]]
    """Forms by the type of their answers."""
    proportions: Mapping[str, int]
    """Number of AgentGym's tasks with an answer of each type."""
    draw_setting: Callable[[str, Draw], dict[str, Any]]
    """Function from a split to the setting of a task."""
    make_state: Callable[[str, Setting], StateT]
    """Function from a split and a setting to the state at the beginning."""
    ending: Callable[[Any], Mapping[str, Any]] = lambda answer: {"answer": answer}
    """Arguments of `finish`."""

    @cached_property
    def schedule(self) -> list[str]:
        """Types of the answers of successive tasks, in the proportions, in a fixed order."""
        types = [kind for kind, count in self.proportions.items() for _ in range(count)]
        random.Random(f"agentevol.{self.name}.{VERSION}").shuffle(types)
        return types

    def state(self, split: str, setting: Setting) -> StateT:
        """The state at the beginning."""
        made = self.make_state(split, setting)
        made.valid = tuple(self.tools)
        return made

    def place(self, task_id: str) -> tuple[str, int]:
        """Split and number of a task; raises `TaskNotFound`."""
        found = _ID.fullmatch(task_id)
        split = (found[1] or OWN) if found else ""
        if found is None or int(found[2]) >= self.counts[split]:
            raise TaskNotFound(f"{self.name} has no task {task_id[:80]!r}")
        return split, int(found[2])

    def task(self, split: str, number: int) -> FamilyTask:
        """A task of a split that exists."""
        kind = self.schedule[number % len(self.schedule)]
        for attempt in range(MOST_ATTEMPTS):
            found = self._attempted(split, number, kind, attempt)
            if found is not None:
                return found
        raise RuntimeError(f"{self.name}: no draft of {split}/{number} has a clear answer")

    def drafted(self, split: str, number: int, attempt: int) -> tuple[Draft | None, dict[str, Any], str]:
        """The draft of an attempt, its setting, and the name of its form."""
        draw = Draw(f"agentevol.{self.name}.{VERSION}.{split}.{number}.{attempt}")
        setting = self.draw_setting(split, draw)
        form = draw.pick(self.forms[self.schedule[number % len(self.schedule)]])
        try:
            return form(self.state(split, setting), draw), setting, getattr(form, "__name__", "")
        except Unsuitable:
            return None, setting, ""

    def _attempted(self, split: str, number: int, kind: str, attempt: int) -> FamilyTask | None:
        draft, setting, form = self.drafted(split, number, attempt)
        if draft is None:
            return None
        recorder = Recorder(self.tools, self.state(split, setting))
        try:
            value = draft.solve(recorder)
        except (Unsuitable, ToolError):
            return None
        if not _is_fit(draft, kind, value, recorder):
            return None
        change = recorder.state.change()
        finish = written("finish", **self.ending("done" if draft.kind is None else value))
        return FamilyTask(
            env=self.name,
            id=str(number) if split == OWN else f"{split}/{number}",
            split=split,
            instruction=draft.goal,
            kind=form.removeprefix("_"),
            setting=setting,
            attempt=attempt,
            answer=_answer(draft, value),
            change=change,
            evidence=_evidence(draft, recorder),
            plan=(*recorder.calls, finish),
        )


def _answer(draft: Draft, value: Any) -> Answer | None:
    if draft.kind is None:
        return None
    return Answer(kind=draft.kind, value=value, tolerance=draft.tolerance, ordered=draft.ordered)


def _evidence(draft: Draft, recorder: Recorder) -> tuple[str, ...]:
    if not draft.guessable:
        return ()
    return draft.evidence or tuple(sorted(recorder.state.seen))


def _is_fit(draft: Draft, kind: str, value: Any, recorder: Recorder) -> bool:
    """True if there is an answer that the goal does not tell, and a change where one is asked for."""
    if draft.operates == (recorder.state.change() is None):
        return False
    if draft.kind is None:
        return True
    if value is None or value == [] or (kind == "list") != isinstance(value, list):
        return False
    is_told = isinstance(value, str) and value.casefold() in draft.goal.casefold()
    return draft.guessable or not is_told


def counted(train: int, valid: int, test: int, own: int) -> dict[str, int]:
    """Number of tasks by split."""
    return dict(zip(SPLITS, (train, valid, test, own), strict=True))
