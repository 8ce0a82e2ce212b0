"""Environment of one's own tools: typed functions over a state, and a file of tasks.

    class Desk(TaskFileEnvironment):
        name = "desk"
        toolset = with_finish(find_tickets, close_ticket)
        tasks_file = Path(__file__).parent / "tasks.json"

The file is JSON: the state in which episodes begin, and tasks with the calls that solve them.

    {
      "state": {...},
      "tasks": [{"id": "1", "split": "train", "instruction": "...", "actions": [...], "answer": ...}]
    }
"""

from collections.abc import Sequence
from copy import deepcopy
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Generic, cast

from pydantic import Field, TypeAdapter, ValidationError

from agentgym_envs.core import Record, Task, TaskNotFound
from agentgym_envs.files import file_sha256
from agentgym_envs.tooluse.calls import written
from agentgym_envs.tooluse.environment import StateT, ToolEnvironment
from agentgym_envs.tooluse.errors import CallError
from agentgym_envs.tooluse.outcomes import SUCCESS, Verdict
from agentgym_envs.tooluse.tool import Tool, Toolset, tool

ANSWER = "answer"


class FileTask(Task):
    """Task of a file: the calls that solve it, and the answer that it asks for."""

    actions: tuple["FileCall", ...]
    answer: Any = None
    state: Any = None
    """State in which its episodes begin, if it is not that of the file."""


class FileCall(Record):
    """A call of a solution."""

    name: str
    arguments: dict[str, Any] = Field(default_factory=dict[str, Any])


class _Entry(Record):
    id: str
    split: str
    instruction: str
    actions: tuple[FileCall, ...]
    answer: Any = None
    state: Any = None
    kind: str = ""
    difficulty: str = ""


class _File(Record):
    state: Any
    tasks: tuple[_Entry, ...]


@tool("control")
def finish(state: Any, answer: Any = None) -> str:  # noqa: ARG001 - the state of every tool
    """End the task. The first call is final.

    Args:
        answer: Answer, if the task asks for one.
    """
    return "finished"


def with_finish(*tools: Tool) -> Toolset:
    """The tools, and `finish`, which ends an episode."""
    return Toolset([*tools, finish])


class TaskFileEnvironment(ToolEnvironment[FileTask, StateT], Generic[StateT]):
    """Environment of one's own tools. Reward 1 if the state is as in the solution, and the answer right.

    The state is the file's JSON value, unless `load` and `plain` make something else of it.
    """

    tasks_file: ClassVar[Path]
    max_turns = 30
    forkable = True

    def load(self, value: Any) -> StateT:
        """The state of a JSON value, which it may keep and change."""
        return value

    def plain(self, state: StateT) -> Any:
        """The JSON value of a state, by which states are compared."""
        return state

    @property
    def splits(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(task.split for task in self._all.values()))

    @property
    def data_version(self) -> str:
        return f"file:{file_sha256(self.tasks_file)[:16]}"

    def tasks(self, split: str, difficulty: str | None = None) -> Sequence[FileTask]:
        if split not in self.splits:
            raise TaskNotFound(
                f"{self.name} has no split {split[:80]!r}; there are: {', '.join(self.splits)}"
            )
        levels = {task.difficulty for task in self._all.values()}
        if difficulty is not None and difficulty not in levels - {""}:
            raise ValueError(
                f"no difficulty {difficulty[:80]!r}; there are: {', '.join(sorted(levels - {''}))}"
            )
        return [
            task
            for task in self._all.values()
            if task.split == split and difficulty in (None, task.difficulty)
        ]

    def task(self, task_id: str) -> FileTask:
        if task_id not in self._all:
            raise TaskNotFound(f"{self.name} has no task {task_id[:80]!r}")
        return self._all[task_id]

    def begin(self, task: FileTask, seed: int) -> StateT:
        self._answer_given: Any = None
        return self.load(deepcopy(task.state))

    def execute(self, tool: Tool, arguments: Any) -> object:
        """As in `ToolEnvironment`, on a copy that becomes the state if the tool does not raise."""
        if tool.kind == "control":
            self._answer_given = arguments.get(ANSWER)
        if tool.kind != "write":
            return tool.run(self.state, **arguments)
        state = self.copied(self.state)
        result = tool.run(state, **arguments)
        self.state = state
        return result

    def verdict(self, task: FileTask, state: StateT) -> Verdict:
        if not same_json(self.plain(state), self._gold(task)):
            return Verdict(0.0, "wrong_state")
        if task.answer is not None and not same_json(self._answer_given, task.answer):
            return Verdict(0.0, "wrong_answer")
        return SUCCESS

    def net_change(self) -> object:
        return deepcopy(self.plain(self.state))

    def expert(self, task: FileTask) -> list[str]:
        answer = {} if task.answer is None else {ANSWER: task.answer}
        calls = [(call.name, call.arguments) for call in task.actions] + [("finish", answer)]
        return [written(name, **given) for name, given in calls]

    @cached_property
    def _all(self) -> dict[str, FileTask]:
        """The tasks by id. Raises `ValueError` for a file of another form."""
        try:
            file = TypeAdapter(_File).validate_json(self.tasks_file.read_bytes())
        except ValidationError as cause:
            first = cause.errors()[0]
            place = ".".join(map(str, first["loc"]))
            raise ValueError(f"{self.tasks_file.name}: {place or 'the file'}: {first['msg']}") from None
        found = dict[str, FileTask]()
        for entry in file.tasks:
            if entry.id in found:
                raise ValueError(f"{self.tasks_file.name}: two tasks have the id {entry.id!r}")
            fields = {name: value for name, value in entry if name != "state"}
            state = file.state if entry.state is None else entry.state
            found[entry.id] = FileTask(env=self.name, state=state, **fields)
        return found

    def _gold(self, task: FileTask) -> Any:
        """The state as the solution leaves it. Raises `ValueError` where a tool refuses a call of it."""
        if task.id not in self._golds:
            state = self.load(deepcopy(task.state))
            for call in task.actions:
                self._repeat(state, call, task)
            self._golds[task.id] = self.plain(state)
        return self._golds[task.id]

    def _repeat(self, state: StateT, call: FileCall, task: FileTask) -> None:
        known = self.offered_to(task).get(call.name)
        if known is None:
            raise ValueError(f"task {task.id!r}: the solution calls {call.name!r}, which is no tool")
        try:
            arguments: Any = known.check(call.arguments, "")
            if known.kind != "generic":  # those leave the state as it is
                known.run(state, **arguments)
        except CallError as error:
            raise ValueError(f"task {task.id!r}: {call.name} refuses: {error.message}") from None

    @cached_property
    def _golds(self) -> dict[str, Any]:
        return {}


def same_json(one: Any, other: Any) -> bool:
    """True for JSON values that mean the same: 1 is 1.0 and not true, keys have no order, lists have."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, dict) and isinstance(other, dict):
        first, second = cast("dict[str, Any]", one), cast("dict[str, Any]", other)
        return first.keys() == second.keys() and all(same_json(first[key], second[key]) for key in first)
    if isinstance(one, list) and isinstance(other, list):
        items, others = cast("list[Any]", one), cast("list[Any]", other)
        return len(items) == len(others) and all(map(same_json, items, others))
    return one == other
