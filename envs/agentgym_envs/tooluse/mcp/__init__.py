"""Tools of a live MCP server, offered to an agent beside one's own.

Names for other packages: `McpServer`, `McpToolEnvironment`.
"""

from agentgym_envs.tooluse.mcp.environment import McpToolEnvironment
from agentgym_envs.tooluse.mcp.server import McpServer

__all__ = ["McpServer", "McpToolEnvironment"]
