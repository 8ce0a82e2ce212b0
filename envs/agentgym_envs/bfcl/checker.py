"""The verdict on an episode, by the semantics of BFCL's multi-turn checker.

A second world executes the solution. After each turn in which the solution has calls: the agent has made one
too; all public attributes of its world equal those of the solution's; and the results of the solution's calls
are among those that the agent has had so far, each as often. A turn in which the solution has none is not
checked: what the agent changes there shows in the next. The order of calls does not matter.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Literal

from agentgym_envs.bfcl.apis import fresh
from agentgym_envs.bfcl.dialogues import Dialogue
from agentgym_envs.bfcl.world import Maker, State, World

Fault = Literal["no_call", "state", "result"]
Results = Counter[bytes]
"""Digests of results, and how often each occurred."""

ABSENT = object()


@dataclass(frozen=True)
class TurnRecord:
    """A turn of an episode at its end."""

    called: bool
    """True if the agent has called a tool in this turn."""
    state: dict[str, State]
    """State of the agent's world."""
    results: Results
    """Results of all calls so far."""


@dataclass(frozen=True)
class Judgement:
    """Result of the check."""

    checked: int
    """Turns that are checked."""
    passed: int
    fault: Fault | None
    """Fault of the first turn that does not pass; None if all pass."""


def judge(dialogue: Dialogue, turns: Sequence[TurnRecord], make: Maker = fresh) -> Judgement:
    """The judgement of an episode; turns that it has not reached do not pass."""
    world = World(dialogue.classes, dialogue.config, dialogue.long_context, make)
    owners = {name: owner for owner in dialogue.classes for name in dir(world.instances[owner])}
    faults = list[Fault | None]()
    for number, calls in enumerate(dialogue.gold):
        wanted = Counter(digest(world.call(owners[one.name], one.name, one.arguments)) for one in calls)
        if calls:
            faults.append(_fault(turns[number], world, wanted) if number < len(turns) else "no_call")
    return Judgement(len(faults), faults.count(None), next(filter(None, faults), None))


def digest(result: str) -> bytes:
    """16 bytes that are equal for equal results."""
    return blake2b(result.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _fault(turn: TurnRecord, world: World, wanted: Results) -> Fault | None:
    if not turn.called:
        return "no_call"
    if not _equal(turn.state, world.state()):
        return "state"
    return None if wanted <= turn.results else "result"


def _equal(found: dict[str, State], wanted: dict[str, State]) -> bool:
    """True if all attributes of the wanted state have equal values in the other."""
    attributes: list[tuple[Any, Any]] = [
        (found[owner].get(name, ABSENT), value)
        for owner, state in wanted.items()
        for name, value in state.items()
    ]
    return all(one == other for one, other in attributes)
