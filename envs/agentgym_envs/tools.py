"""Tools of an observation: as text, for agents that read messages, and their simplest calls.

    The lid opens.

    Tools, called by {"name": ..., "arguments": {...}}:
    {"name": "open", "description": "Open the box.", "parameters": {"type": "object", "properties": {}}}

They follow the first observation, and any later one that changes them, so that the latest list is the current
one.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from agentgym_envs.core import Observation

Tools = Sequence[Mapping[str, Any]]
HEADING = 'Tools, called by {"name": ..., "arguments": {...}}:'
EXAMPLES: dict[str, Any] = {
    "object": {},
    "array": [],
    "string": "",
    "integer": 0,
    "number": 0,
    "boolean": False,
    "null": None,
}
"""JSON types, and a plain value of each."""
NO_TOOLS = "There are no tools now."


def with_tools(observation: Observation, before: Tools | None = None) -> str:
    """The text of an observation, followed by its tools if they differ from those that the agent knows.

    `before`: the tools of the previous observation, None at the start of an episode.
    """
    return with_changed_tools(observation.text, observation.tools, before)


def with_changed_tools(text: str, tools: Tools | None, before: Tools | None = None) -> str:
    """See `with_tools`."""
    if list(tools or ()) == list(before or ()):
        return text
    told = "\n".join([HEADING, *map(_line, tools)]) if tools else NO_TOOLS
    return f"{text}\n\n{told}"


def texts_with_tools(observations: Iterable[Observation]) -> list[str]:
    """The texts of successive observations of an episode, the first of them its opening."""
    texts, before = list[str](), None
    for observation in observations:
        texts.append(with_tools(observation, before))
        before = observation.tools
    return texts


def names(tools: Tools | None) -> tuple[str, ...]:
    """Names of the tools, in their order."""
    return tuple(str(tool["function"]["name"]) for tool in tools or ())


def mcp_tool(function: Mapping[str, Any], reads_only: bool | None = None) -> dict[str, Any]:
    """The entry of a tool in MCP's `tools/list`.

    `function`: the description of a tool under its key `function`. `reads_only`: whether the tool leaves the
    world as it is; None where that is not known.
    """
    schema: Mapping[str, Any] = function.get("parameters") or {"type": "object", "properties": {}}
    hints = {} if reads_only is None else {"annotations": {"readOnlyHint": reads_only}}
    return {
        "name": function["name"],
        "description": function.get("description", ""),
        "inputSchema": dict(schema),
        **hints,
    }


def simplest_call(tool: Mapping[str, Any]) -> str:
    """A call of a tool as text, with a plain value for each required argument."""
    return json.dumps({"name": tool["function"]["name"], "arguments": simplest_arguments(tool)})


def simplest_arguments(tool: Mapping[str, Any]) -> dict[str, Any]:
    """A plain value for each required argument of a tool."""
    return example({**tool["function"].get("parameters", {}), "type": "object"})


def example(schema: Mapping[str, Any]) -> Any:
    """A plain value that a JSON schema allows; patterns are not regarded."""
    if "const" in schema or schema.get("enum"):
        return schema.get("const", (schema.get("enum") or [None])[0])
    if schema.get("anyOf"):
        return example(schema["anyOf"][0])
    kinds = schema.get("type", "string")
    kind = cast("str", kinds if isinstance(kinds, str) else kinds[0])
    if kind == "object":
        members: Mapping[str, Any] = schema.get("properties", {})
        return {name: example(members.get(name, {})) for name in schema.get("required", ())}
    if kind in ("integer", "number"):
        return max(EXAMPLES[kind], schema.get("minimum", EXAMPLES[kind]))
    if kind == "array":
        return [example(schema.get("items", {}))] * int(schema.get("minItems", 0))
    return "x" * int(schema.get("minLength", 0)) if kind == "string" else EXAMPLES[kind]


def _line(tool: Mapping[str, Any]) -> str:
    """A tool on one line: JSON has no line breaks, so that a description cannot imitate another tool."""
    return json.dumps(tool["function"], ensure_ascii=False)
