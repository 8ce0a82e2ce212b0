"""A small environment of tools, with flaws that can be switched on."""

import json
import time
from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import Field

from agentgym_envs.core import Observation, StepResult, Task, TaskNotFound
from agentgym_envs.tooluse import SUCCESS, ToolEnvironment, ToolError, Toolset, Verdict, tool

Text = Annotated[str, Field(max_length=200)]
NotesState = dict[str, Any]


@tool("read")
def list_notes(state: NotesState, limit: Annotated[int, Field(ge=1)] = 10) -> list[str]:
    """List the notes.

    Args:
        limit: How many at most.
    """
    return state["notes"][:limit]


@tool("read")
def count_notes(state: NotesState) -> int:
    """Count the notes."""
    return len(state["notes"])


@tool("write")
def add_note(state: NotesState, text: Text) -> str:
    """Add a note.

    Args:
        text: Text of the note.
    """
    if not text:
        raise ToolError("empty: a note has a text", argument="text")
    state["notes"].append(text)
    return "added"


@tool("control")
def submit(state: NotesState, answer: int | None = None) -> str:
    """End the episode.

    Args:
        answer: Number of notes, if it was asked for.
    """
    state["answer"] = answer
    return "submitted"


class NoteTask(Task):
    """Add `wanted`, or count the notes where there is none to add."""

    wanted: str | None
    given: tuple[str, ...]


def _task(number: int, split: str) -> NoteTask:
    asks = number % 2
    given = tuple(f"note {other}" for other in range(20 + number))
    text = "How many notes are there?" if asks else f"Add the note: buy {number}."
    wanted = None if asks else f"buy {number}"
    return NoteTask(
        env="notes", id=f"notes-{number}", split=split, instruction=text, wanted=wanted, given=given
    )


class Notes(ToolEnvironment[NoteTask, NotesState]):
    """Notes. The verdict compares the notes, and the answer where one was asked for."""

    name = "notes"
    max_turns = 8
    blocking = False
    forkable = True
    toolset = Toolset([list_notes, count_notes, add_note, submit])

    @property
    def splits(self) -> tuple[str, ...]:
        return ("train", "test")

    def tasks(self, split: str, difficulty: str | None = None) -> Sequence[NoteTask]:
        if split not in self.splits:
            raise TaskNotFound(f"notes has no split {split!r}")
        if difficulty is not None:
            raise ValueError("notes has no difficulties")
        return [_task(number, split) for number in (range(24) if split == "train" else range(24, 48))]

    def task(self, task_id: str) -> NoteTask:
        for split in self.splits:
            for task in self.tasks(split):
                if task.id == task_id:
                    return task
        raise TaskNotFound(f"notes has no task {task_id[:80]!r}")

    def begin(self, task: NoteTask, seed: int) -> NotesState:
        return {"notes": list(task.given)}

    def net_change(self) -> object:
        return list(self.state["notes"])

    def verdict(self, task: NoteTask, state: NotesState) -> Verdict:
        if state["notes"] != [*task.given, *([task.wanted] if task.wanted else [])]:
            return Verdict(0.0, "wrong_state")
        if task.wanted is None and state["answer"] != len(task.given):
            return Verdict(0.0, "wrong_answer")
        return SUCCESS

    def expert(self, task: NoteTask) -> list[str]:
        if task.wanted:
            return [call("list_notes"), call("add_note", text=task.wanted), call("submit")]
        return [call("list_notes"), call("count_notes"), call("submit", answer=len(task.given))]


def call(name: str, /, **arguments: object) -> str:
    """A call as an action."""
    return json.dumps({"name": name, "arguments": arguments})


class PaysTwice(Notes):
    """Flaw: a later answer is judged too, so that answers can be tried."""

    def step(self, action: str) -> StepResult:
        self.over = False
        return super().step(action)


class IgnoresOthers(Notes):
    """Flaw: the verdict looks for the wanted note only."""

    def verdict(self, task: NoteTask, state: NotesState) -> Verdict:
        if task.wanted is not None:
            return SUCCESS if task.wanted in state["notes"] else Verdict(0.0, "wrong_state")
        return super().verdict(task, state)


class Breaks(Notes):
    """Flaw: a long text is an exception."""

    def step(self, action: str) -> StepResult:
        if "DROP TABLE" in action:
            raise RuntimeError("syntax error")
        return super().step(action)


class Shares(Notes):
    """Flaw: an episode leaves notes behind for the next one."""

    left: list[str]

    def reset(self, task: NoteTask, seed: int) -> Observation:
        left = getattr(self, "state", {"notes": []})["notes"][-1:]
        observation = super().reset(task, seed)
        self.state["notes"] += [note for note in left if note.startswith("buy") and note != task.wanted]
        return observation


class KnowsOne(Notes):
    """Its shortcut, a number without a look, is right for one of the tasks that ask for one."""

    attack_bounds = {"known_number": (0.0, 0.05)}  # noqa: RUF012 - a class fact, never changed

    def shortcuts(self, task: NoteTask) -> dict[str, list[str]]:
        return {} if task.wanted else {"known_number": [call("submit", answer=len(_task(23, "train").given))]}


@tool("write")
def erase_note(state: NotesState) -> str:
    """Erase the last note."""
    state["notes"].pop()
    state["erased"] = True
    return "erased"


class Erasable(Notes):
    """Notes that can be taken back."""

    toolset = Toolset([*Notes.toolset.values(), erase_note])

    def undone(self, task: NoteTask) -> list[str]:
        return [call("add_note", text="another"), call("erase_note")]


class PunishesUndone(Erasable):
    """Flaw: what was undone counts."""

    def verdict(self, task: NoteTask, state: NotesState) -> Verdict:
        return Verdict(0.0, "collateral") if state.get("erased") else super().verdict(task, state)


@tool("read")
def think_long(state: NotesState) -> str:  # noqa: ARG001 - the state of every tool
    """Take a millisecond."""
    time.sleep(0.001)
    return "done"


class Slow(Notes):
    """Flaw: one call is quick, many in a message are not."""

    toolset = Toolset([*Notes.toolset.values(), think_long])
