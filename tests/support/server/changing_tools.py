"""Environment whose tools change: a safe is unlocked with a code, and only then it can be opened."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from agentgym_envs.core import Environment, Observation, StepResult, Task, TaskNotFound

CODES = {"train": (3, 5), "test": (7,)}


def tool(name: str, **arguments: str) -> dict[str, Any]:
    """A tool that requires arguments of these JSON types."""
    parameters = {
        "type": "object",
        "properties": {argument: {"type": kind} for argument, kind in arguments.items()},
        "required": list(arguments),
        "additionalProperties": False,
    }
    return {
        "type": "function",
        "function": {"name": name, "description": f"To {name}.", "parameters": parameters},
    }


READ, UNLOCK, LOCK, OPEN = tool("read"), tool("unlock", code="integer"), tool("lock"), tool("open")
LOCKED, UNLOCKED = (READ, UNLOCK), (READ, LOCK, OPEN)
"""The tools before and after `unlock`."""


class SafeTask(Task):
    """`code` opens the safe."""

    code: int


class Safe(Environment[SafeTask]):
    """Reward 1 for the open safe. A tool that is not offered now is an invalid action."""

    name = "safe"
    max_turns = 6
    blocking = False
    changing_tools = True
    forkable = True

    def __init__(self) -> None:
        self._code = 0
        self._unlocked = False

    @property
    def splits(self) -> tuple[str, ...]:
        """Train and test."""
        return tuple(CODES)

    def tasks(self, split: str, difficulty: str | None = None) -> Sequence[SafeTask]:
        """One task for each code."""
        if split not in CODES:
            raise TaskNotFound(split)
        if difficulty is not None:
            raise ValueError(difficulty)
        return [self.task(f"safe-{code}") for code in CODES[split]]

    def task(self, task_id: str) -> SafeTask:
        """`safe-3`, ..."""
        for split, code in ((split, code) for split, codes in CODES.items() for code in codes):
            if task_id == f"safe-{code}":
                text = f"Open the safe. The code is {code}."
                return SafeTask(env=self.name, id=task_id, split=split, instruction=text, code=code)
        raise TaskNotFound(task_id)

    def reset(self, task: SafeTask, seed: int) -> Observation:
        """Lock the safe."""
        self._code, self._unlocked = task.code, False
        return self._seen(task.instruction)

    def step(self, action: str) -> StepResult:
        """Call a tool."""
        name, arguments = _call(action)
        if name not in [offered["function"]["name"] for offered in self._tools]:
            return StepResult(observation=self._seen("No such tool."), info={"invalid_action": True})
        if name == "open":
            return StepResult(observation=Observation(text="It is open."), reward=1.0, terminated=True)
        if name == "unlock" and arguments.get("code") != self._code:
            return StepResult(observation=self._seen("Wrong code."), info={"invalid_action": True})
        if name != "read":
            self._unlocked = name == "unlock"
        return StepResult(observation=self._seen("unlocked" if self._unlocked else "locked"))

    def expert(self, task: SafeTask) -> list[str]:
        """Unlock it, then open it."""
        return [call("unlock", code=task.code), call("open")]

    def snapshot(self) -> object:
        """Code and lock."""
        return self._code, self._unlocked

    def restore(self, snapshot: Any) -> None:
        """Continue from these."""
        self._code, self._unlocked = snapshot

    @property
    def _tools(self) -> tuple[dict[str, Any], ...]:
        return UNLOCKED if self._unlocked else LOCKED

    def _seen(self, text: str) -> Observation:
        return Observation(text=text, tools=self._tools)


class WorkerSafe(Safe):
    """As `Safe`, in workers."""

    name: ClassVar[str] = "worker-safe"
    blocking = True


def call(name: str, **arguments: object) -> str:
    """A call of a tool as text."""
    return json.dumps({"name": name, "arguments": arguments})


def _call(action: str) -> tuple[str, Mapping[str, Any]]:
    """Name and arguments; empty for any other text."""
    try:
        value = json.loads(action)
        return str(value["name"]), dict(value["arguments"])
    except (ValueError, TypeError, KeyError, RecursionError):
        return "", {}
