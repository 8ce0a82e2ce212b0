"""Checks of tools: their schemas, and calls of a tool that an episode no longer offers."""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, cast

from agentgym_envs.core import Environment, Task
from agentgym_envs.episodes import Episode, follow, spray
from agentgym_envs.testing.subject import Subject
from agentgym_envs.tools import EXAMPLES, simplest_call

TOOL_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


def check_tools(subject: Subject) -> Iterator[str]:
    """Offered tools are valid function schemas, declared, and change only in an environment that says so.

    The call of a tool that was offered before and is not now is an invalid action, which changes nothing.
    """
    environment = subject.factory()
    yield from _schema_problems(environment.tools)
    for task in subject.drawn:
        plan = environment.expert(task)
        for choose in (spray, *((follow(plan),) if plan is not None else ())):
            episode = subject.player.play(environment, task, choose, seed=subject.seed)
            yield from _episode_problems(subject, environment, task, episode)
    environment.close()


def _episode_problems(
    subject: Subject, environment: Environment[Any], task: Task, episode: Episode
) -> Iterator[str]:
    seen = [episode.first, *(result.observation for result in episode.results)]
    if episode.over:
        seen.pop()  # the tools go with the episode
    problems = list(dict.fromkeys(problem for one in seen for problem in _schema_problems(one.tools)))
    subject.cases += sum(one.tools is not None for one in seen)
    yield from problems
    if problems:
        return
    if episode.first.tools is not None and environment.tools is None and not environment.changing_tools:
        yield f"{task.id!r}: the first observation offers tools, but `tools` of the environment is None"
    if environment.tools is not None and environment.deterministic:  # others may learn their tools later
        declared = {tool["function"]["name"] for tool in environment.tools}
        offered = {tool["function"]["name"]: None for one in seen for tool in one.tools or ()}
        yield from (
            f"{task.id!r}: {name!r} is offered, but not among `tools` of the environment"
            for name in offered
            if name not in declared
        )
    changed = [
        number for number, (one, next_one) in enumerate(pairwise(seen), 1) if one.tools != next_one.tools
    ]
    if changed and not environment.changing_tools:
        yield f"{task.id!r}: the tools change in turn {changed[0]}, but changing_tools is False"
    for number in changed:
        for tool in _withdrawn(seen[number - 1].tools, seen[number].tools):
            yield from _withdrawn_problems(subject, task, episode.actions[:number], tool)


def _withdrawn(
    before: Sequence[dict[str, Any]] | None, after: Sequence[dict[str, Any]] | None
) -> list[dict[str, Any]]:
    left = {tool["function"]["name"] for tool in after or ()}
    return [tool for tool in before or () if tool["function"]["name"] not in left]


def _withdrawn_problems(
    subject: Subject, task: Task, actions: Sequence[str], tool: dict[str, Any]
) -> Iterator[str]:
    reached = subject.play(task, follow([*actions, simplest_call(tool)]))
    what = f"{task.id!r}: the call of {tool['function']['name']!r}, which is no longer offered,"
    if len(reached.results) <= len(actions):
        return  # the turn limit comes first
    before, result = reached.results[-2].observation, reached.results[-1]
    if result.info.get("invalid_action") is not True:
        yield f"{what} is not answered as an invalid action"
    elif result.reward or result.terminated or result.truncated or result.observation.tools != before.tools:
        yield f"{what} changes the episode"


def _schema_problems(tools: Sequence[Mapping[str, Any]] | None) -> Iterator[str]:
    seen: set[str] = set()
    for tool in tools or ():
        function: Any = tool.get("function")
        if tool.get("type") != "function" or not isinstance(function, dict):
            yield f"tool {str(tool)[:80]} is not {{'type': 'function', 'function': {{...}}}}"
            continue
        yield from _function_problems(cast("dict[str, Any]", function), seen)


def _function_problems(function: Mapping[str, Any], seen: set[str]) -> Iterator[str]:
    name: object = function.get("name")
    if not isinstance(name, str) or not TOOL_NAME.fullmatch(name):
        yield f"tool name {str(name)[:80]!r} is not 1 to 64 letters, digits, - and _"
        return
    if name in seen:
        yield f"tool {name!r} is offered twice"
    seen.add(name)
    if not isinstance(function.get("description", ""), str):
        yield f"tool {name!r}: the description is not text"
    schema: Any = function.get("parameters", {"type": "object"})
    if not isinstance(schema, dict) or cast("dict[str, Any]", schema).get("type") != "object":
        yield f"tool {name!r}: the parameters are not a schema of type 'object'"
        return
    yield from (
        f"tool {name!r}: {problem}" for problem in _value_problems(cast("dict[str, Any]", schema), "")
    )


def _value_problems(schema: Mapping[str, Any], path: str) -> Iterator[str]:
    """Errors of a JSON schema in the keywords that servers check: see `agentgym_server.dialects`."""
    kinds: Any = schema.get("type", [])
    unknown = [kind for kind in ([kinds] if isinstance(kinds, str) else kinds) if kind not in EXAMPLES]
    if unknown:
        yield f"{path or '/'} has the unknown type {unknown[0]!r}"
    if not isinstance(schema.get("enum", []), list):
        yield f"{path or '/'} has an enum that is not a list"
    members: Any = schema.get("properties", {})
    if not isinstance(members, dict):
        yield f"{path or '/'} has properties that are not an object"
        return
    named = cast("dict[str, Any]", members)
    missing = [name for name in schema.get("required", ()) if name not in named]
    if missing:
        yield f"{path or '/'} requires {missing[0]!r}, which is not among its properties"
    nested = {f"{path}/{name}": member for name, member in named.items()}
    if "items" in schema:
        nested[f"{path}/items"] = schema["items"]
    for place, member in nested.items():
        if not isinstance(member, dict):
            yield f"{place} is not a schema"
        else:
            yield from _value_problems(cast("dict[str, Any]", member), place)
