"""Runs of programs through the public tools."""

import json
from typing import Any, NamedTuple

from agentgym_envs.assistant.calls import UNAVAILABLE, run_tool
from agentgym_envs.assistant.session import Session
from agentgym_envs.assistant.tasks.drafts import Final, Program, Step
from agentgym_envs.assistant.tools import TOOLSET
from agentgym_envs.tooluse import ToolError


class Solved(NamedTuple):
    """A program that was run."""

    actions: list[str]
    """Its calls, the submission included."""
    final: Final


def solved(program: Program, session: Session) -> Solved:
    """Run a program on a session, submission included.

    Raises `CallError` where a tool refuses, and `LookupError` where a result has not what the program needs.
    """
    actions = list[str]()
    try:
        step = next(program)
        while True:
            step = program.send(_result(session, step, actions))
    except StopIteration as stop:
        final: Final = stop.value
    _result(session, submission(final), actions)
    return Solved(actions, final)


def _result(session: Session, step: Step, actions: list[str]) -> Any:
    """The result of a step, which is repeated while the tool is not available."""
    while True:
        actions.append(written(step))
        try:
            return checked(session, step)
        except ToolError as error:
            if not error.message.startswith(UNAVAILABLE):
                raise


def checked(session: Session, step: Step) -> Any:
    """The result of a step, validated as an agent's call is. Raises `CallError`."""
    tool = TOOLSET[step.tool]
    arguments: Any = tool.check(step.arguments, "")
    return run_tool(session, tool, arguments)


def submission(final: Final) -> Step:
    """The call that ends an episode."""
    given = {name: value for name, value in final._asdict().items() if value is not None}
    return Step("submit", given)


def written(step: Step) -> str:
    """A call as an action, with numbers and texts written as in observations."""
    call = {"name": step.tool, "arguments": step.arguments}
    return json.dumps(call, ensure_ascii=False, separators=(",", ":"))
