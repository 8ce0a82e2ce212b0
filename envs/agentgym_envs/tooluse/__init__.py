"""Tool use: tools from typed functions, tool calls from text, environments whose actions are tool calls.

Names for other packages: `Call`, `CallError`, `StrictHistory`, `TaskFileEnvironment`, `Tool`,
`ToolEnvironment`, `ToolError`, `Toolset`, `ToolsIn`, `ToolsInOption`, `Verdict`, `with_finish`, `parse`,
`tool`.
"""

from agentgym_envs.tooluse.calls import Call, parse
from agentgym_envs.tooluse.environment import StrictHistory, ToolEnvironment, ToolsIn, ToolsInOption
from agentgym_envs.tooluse.errors import CallError, ToolError
from agentgym_envs.tooluse.outcomes import SUCCESS, Verdict
from agentgym_envs.tooluse.task_file import TaskFileEnvironment, with_finish
from agentgym_envs.tooluse.tool import Tool, Toolset, tool

__all__ = [
    "SUCCESS",
    "Call",
    "CallError",
    "StrictHistory",
    "TaskFileEnvironment",
    "Tool",
    "ToolEnvironment",
    "ToolError",
    "ToolsIn",
    "ToolsInOption",
    "Toolset",
    "Verdict",
    "parse",
    "tool",
    "with_finish",
]
