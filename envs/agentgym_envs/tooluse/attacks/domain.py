"""Material of the attacks: the experts' calls of many tasks of one environment."""

import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

from agentgym_envs.core import Task
from agentgym_envs.tools import example
from agentgym_envs.tooluse.calls import Call, parse
from agentgym_envs.tooluse.environment import ToolEnvironment
from agentgym_envs.tooluse.errors import CallError
from agentgym_envs.tooluse.tool import Kind, Tool

MEMBER = 'x" = 1, "done'
"""Name of a member that is in no schema, and that ends a quoted name in SQL."""
AnyEnvironment = ToolEnvironment[Any, Any]


@dataclass
class Domain:
    """An environment under attack, the tasks that are attacked, and the experts of all of them."""

    environment: AnyEnvironment
    tasks: Sequence[Task]
    plans: Mapping[str, Sequence[str]]
    """The expert's actions by the id of the task."""
    known: Sequence[str]
    """Ids of tasks whose solutions an attacker may know: those of the training split."""
    played: Mapping[str, tuple[int, int]]
    """By split, the number of tasks that are attacked, and of all that it has."""
    seed: int = 0

    def random(self, task: Task, purpose: str) -> random.Random:
        """Random numbers for one policy on one task."""
        return random.Random(f"{self.seed}/{purpose}/{task.id}")

    def plan(self, task: Task) -> list[str]:
        """The expert's actions for a task."""
        return list(self.plans[task.id])

    def kind(self, action: str) -> Kind | None:
        """The kind of the only tool that an action calls; None for messages and several calls."""
        called = self.called(action)
        return called[0].kind if called is not None else None

    def called(self, action: str) -> tuple[Tool, Call] | None:
        """The tool and the call of an action; None for messages, several calls and unknown tools."""
        try:
            calls = parse(action, python=self.environment.python_calls)
        except CallError:
            return None
        tool = self.environment.toolset.get(calls[0].name)
        return (tool, calls[0]) if len(calls) == 1 and tool is not None else None

    @cached_property
    def writes(self) -> list[str]:
        """Distinct writing calls of all experts."""
        return self._calls_of("write")

    @cached_property
    def finals(self) -> list[str]:
        """Distinct last actions of the experts of known tasks, the most frequent first."""
        counted = Counter(self.plans[task_id][-1] for task_id in self.known if self.plans[task_id])
        return [action for action, _ in counted.most_common()]

    def _calls_of(self, kind: Kind) -> list[str]:
        found = dict.fromkeys(action for plan in self.plans.values() for action in plan)
        return [action for action in found if self.kind(action) == kind]


def filled(schema: Mapping[str, Any], text: str, choice: int = 0) -> Any:
    """A value of a schema with `text` in place of every string; of alternatives, the one numbered `choice`,
    counted around.
    """
    if "anyOf" in schema:
        alternatives = schema["anyOf"]
        return filled(alternatives[choice % len(alternatives)], text, choice)
    kinds = schema.get("type", "string")
    kind = cast("str", kinds if isinstance(kinds, str) else kinds[0])
    if kind == "string":
        return text
    if kind == "object":
        members: Mapping[str, Any] = schema.get("properties", {})
        return {name: filled(member, text, choice) for name, member in members.items()}
    if kind == "array":
        return [filled(schema.get("items", {}), text, choice)]
    return example(schema)


def beyond_schema(parameters: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Arguments of which one has a number of more than 64 bits, or a member that its schema does not have."""
    members: Mapping[str, Any] = parameters.get("properties", {})
    plain = {name: example(member) for name, member in members.items()}
    for name, member in members.items():
        yield from ({**plain, name: value} for value in _beyond(member))


def _beyond(schema: Mapping[str, Any]) -> Iterator[Any]:
    kinds = schema.get("type", ())
    for kind in (kinds,) if isinstance(kinds, str) else kinds:
        if kind in ("integer", "number"):
            yield from (10**30, -(10**30))
        elif kind == "array":
            yield from ([value] for value in _beyond(schema.get("items", {})))
        elif kind == "object":
            plain, members = example(schema), cast("Mapping[str, Any]", schema.get("properties", {}))
            yield {**plain, MEMBER: 1}
            for name, member in members.items():
                yield from ({**plain, name: value} for value in _beyond(member))


def strings_of(schema: Mapping[str, Any]) -> Iterator[str]:
    """Names of the arguments in which a string can be given."""
    for name, member in cast("Mapping[str, Any]", schema.get("properties", {})).items():
        kinds = member.get("type", "string" if "anyOf" not in member else "object")
        if kinds not in ("integer", "number", "boolean", "null"):
            yield name


def leads_elsewhere(domain: Domain, task: Task, more: Sequence[str], own: Sequence[str]) -> bool:
    """True if other actions before a task's own lead to another state than its own alone, within the
    budget.
    """
    return _state_after(domain, task, own) != _state_after(domain, task, [*more, *own])


def _state_after(domain: Domain, task: Task, actions: Sequence[str]) -> object:
    domain.environment.reset(task, domain.seed)
    for action in actions:
        domain.environment.step(action)
    return domain.environment.net_change()


def changes_state(domain: Domain, task: Task, actions: Sequence[str], after: Sequence[str] = ()) -> bool:
    """True if actions change the state, after others, and do not end the episode."""
    environment = domain.environment
    state = _state_after(domain, task, after)
    results = [environment.step(one) for one in actions]
    ended = any(result.terminated or result.truncated for result in results)
    return not ended and environment.net_change() != state
