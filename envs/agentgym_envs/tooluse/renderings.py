"""Renderings of tools: OpenAI function schemas, MCP tools, Python stubs, a ReAct block, signatures.

Each is made from the `Tool`s alone, so that none can differ from the others.
"""

from collections.abc import Iterable, Mapping
from typing import Any, cast

from agentgym_envs.tools import mcp_tool
from agentgym_envs.tooluse.tool import Tool

PYTHON_TYPES = {
    "string": "str",
    "integer": "int",
    "number": "float",
    "boolean": "bool",
    "array": "list",
    "object": "dict",
    "null": "None",
}


def openai_functions(tools: Iterable[Tool]) -> list[dict[str, Any]]:
    """`{"type": "function", "function": {...}}` of each tool."""
    return [tool.function for tool in tools]


def mcp_tools(tools: Iterable[Tool]) -> list[dict[str, Any]]:
    """The entries of MCP's `tools/list`."""
    return [_mcp_tool(tool) for tool in tools]


def reads_only(tool: Tool) -> bool:
    """True for a tool that leaves the state as it is."""
    return tool.kind in ("read", "generic")


def python_stubs(tools: Iterable[Tool], name: str = "Tools") -> str:
    """Source of a class whose typed methods, with docstrings, are the tools."""
    methods = "\n".join(_stub(tool) for tool in tools)
    return f"class {name}:\n{methods}" if methods else f"class {name}:\n    ..."


def react_block(tools: Iterable[Tool]) -> str:
    """Name, description, parameters and result of each tool, as text for a prompt."""
    return "\n\n".join(_react_entry(tool) for tool in tools)


def signatures(tools: Iterable[Tool]) -> str:
    """Name and arguments of each tool on a line, those that may be left out with a question mark."""
    return "\n".join(map(_signature, tools))


def _signature(tool: Tool) -> str:
    names = [name if name in tool.required else f"{name}?" for name, _ in _ordered(tool)]
    return f"{tool.name}({', '.join(names)})"


def _mcp_tool(tool: Tool) -> dict[str, Any]:
    entry = mcp_tool(tool.function["function"], reads_only(tool))
    if tool.returns is not None and tool.returns.get("type") == "object":
        entry["outputSchema"] = dict(tool.returns)
    return entry


def _stub(tool: Tool) -> str:
    arguments = "".join(
        f", {name}: {python_type(schema)}"
        + ("" if name in tool.required else f" = {schema.get('default')!r}")
        for name, schema in _ordered(tool)
    )
    result = python_type(tool.returns) if tool.returns else "object"
    lines = [tool.description, *_argument_lines(tool)]
    # A description is data: quoted as a literal, it cannot end the docstring.
    docstring = repr("\n".join(lines))
    return f"    def {tool.name}(self{arguments}) -> {result}:\n        {docstring}\n        ..."


def _react_entry(tool: Tool) -> str:
    names = ", ".join(name for name, _ in _ordered(tool))
    lines = [f"Name: {tool.name}({names})", f"Description: {tool.description}"]
    if names:
        lines += ["Parameters:", *_argument_lines(tool)]
    if tool.returns:
        lines.append(f"Returns: {python_type(tool.returns)}")
    return "\n".join(lines)


def _argument_lines(tool: Tool) -> list[str]:
    return [
        f"- {name} (Type: {python_type(schema)}{'' if name in tool.required else ', optional'}): "
        f"{schema.get('description', '')}"
        for name, schema in _ordered(tool)
    ]


def _ordered(tool: Tool) -> list[tuple[str, Mapping[str, Any]]]:
    """The arguments, required ones first, as Python's signatures need them."""
    members: Mapping[str, Any] = tool.parameters.get("properties", {})
    return sorted(members.items(), key=lambda member: member[0] not in tool.required)


def python_type(schema: Mapping[str, Any]) -> str:
    """The Python annotation of a JSON schema."""
    if "enum" in schema:
        return f"Literal[{', '.join(map(repr, schema['enum']))}]"
    if "anyOf" in schema:
        return " | ".join(python_type(choice) for choice in schema["anyOf"])
    kinds = schema.get("type", "object")
    if isinstance(kinds, list):
        return " | ".join(PYTHON_TYPES[kind] for kind in cast("list[str]", kinds))
    if kinds == "array" and isinstance(schema.get("items"), Mapping):
        return f"list[{python_type(schema['items'])}]"
    return PYTHON_TYPES[kinds]
