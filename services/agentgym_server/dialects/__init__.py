"""Dialects: wire formats of other projects over the same sessions. No other package imports them.

A dialect is a function from the service to routes. Requests reach it past authentication; it operates on
sessions through `Service.episodes`, so that leases, capacity, deadlines and failures are the same everywhere.
"""

from collections.abc import Callable

from starlette.routing import BaseRoute

from agentgym_server.dialects import agentgym, openenv
from agentgym_server.dialects.mcp import endpoint as mcp
from agentgym_server.service import Service

DIALECTS: tuple[Callable[[Service], list[BaseRoute]], ...] = (agentgym.routes, mcp.routes, openenv.routes)
