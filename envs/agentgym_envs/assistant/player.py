"""A player with an agent's view, who makes mistakes.

It reads what an instruction says and what tools return. A careless one acts on another item than it was asked
to, leaves out an action, or submits the wrong thing.
"""

from collections.abc import Iterator
from random import Random
from typing import Any, cast

from agentgym_envs.assistant.calls import UNAVAILABLE
from agentgym_envs.assistant.session import REASONS, Session
from agentgym_envs.assistant.tasks.drafts import Final, Program, Step
from agentgym_envs.assistant.tasks.programs import checked, submission, written
from agentgym_envs.assistant.tools import TOOLSET
from agentgym_envs.tooluse import CallError

MOST_TRIES = 3


def played(program: Program, session: Session, random: Random, care: float) -> list[str]:
    """The actions of a player; each decision is right with probability `care`, apart from slips that do not
    matter.
    """
    actions, ids = list[str](), list[int]()
    try:
        step = next(program)
        while True:
            decides = TOOLSET[step.tool].kind == "write"
            chosen = step if not decides or random.random() < care else _slip(step, ids, random)
            result: Any = {} if chosen is None else tried(session, chosen, actions)
            ids += _ids(result)
            step = program.send(result)
    except StopIteration as stop:
        final = cast("Final", stop.value)
    except (CallError, LookupError, TypeError, ValueError, RuntimeError):
        final = Final()  # something is not as expected: it stops here
    last = final if random.random() < care else _other_end(final, random)
    return [*actions, written(submission(last))]


def tried(session: Session, step: Step, actions: list[str]) -> Any:
    """The result of a call, tried again while the tool is not available."""
    for _ in range(MOST_TRIES):
        actions.append(written(step))
        try:
            return checked(session, step)
        except CallError as error:
            if not error.message.startswith(UNAVAILABLE):
                raise
    raise LookupError("the tool is not available")


def _slip(step: Step, ids: list[int], random: Random) -> Step | None:
    """Another id that was read, or no call at all."""
    keys = [name for name in step.arguments if name.endswith("_id")]
    others = [one for one in ids if keys and one != step.arguments[keys[0]]]
    if others and random.random() < 0.6:
        return Step(step.tool, {**step.arguments, keys[0]: random.choice(others)})
    return None


def _other_end(final: Final, random: Random) -> Final:
    """The submission of somebody who did not look."""
    if final.status == "cannot":
        return random.choice((Final(), Final("cannot", reason_code=random.choice(REASONS))))
    if final.status == "answer":
        return Final()
    return random.choice((final, Final("cannot", reason_code=random.choice(REASONS))))


def _ids(result: Any) -> Iterator[int]:
    """Ids of the items of a result."""
    if isinstance(result, dict):
        items = cast("dict[str, Any]", result).get("items", [])
        yield from (item["id"] for item in items if "id" in item)
