"""Tool use: tools from typed functions, tool calls from text, environments whose actions are tool calls.

Names for other packages: `Call`, `CallError`, `OwnEnvironment`, `Tool`, `ToolEnvironment`, `ToolError`,
`Toolset`, `Verdict`, `own_tools`, `parse`, `tool`.
"""

from agentgym_envs.tooluse.calls import Call, parse
from agentgym_envs.tooluse.environment import ToolEnvironment
from agentgym_envs.tooluse.errors import CallError, ToolError
from agentgym_envs.tooluse.outcomes import SUCCESS, Verdict
from agentgym_envs.tooluse.own import OwnEnvironment, own_tools
from agentgym_envs.tooluse.tool import Tool, Toolset, tool

__all__ = [
    "SUCCESS",
    "Call",
    "CallError",
    "OwnEnvironment",
    "Tool",
    "ToolEnvironment",
    "ToolError",
    "Toolset",
    "Verdict",
    "own_tools",
    "parse",
    "tool",
]
