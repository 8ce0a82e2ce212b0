"""AgentGym dialect: its unmodified clients use `{server}/agentgym/{env}` as their base URL.

POST /agentgym/alfworld/create                               {"id": 0}
POST /agentgym/alfworld/reset   {"id": 0, "game": 17, ...}   {"id": 0, "observation": "You are ...", ...}
POST /agentgym/alfworld/step    {"id": 0, "action": "look"}  {"observation": "...", "done": false, ...}

router (paths) > mount (one environment) > environments (message shapes, as data) > reply_fields
                                         > environment_ids  request_fields  errors
"""

from starlette.routing import BaseRoute

from agentgym_server.dialects.agentgym.router import Router
from agentgym_server.service import Service


def routes(service: Service) -> list[BaseRoute]:
    """The route for all paths below `/agentgym`."""
    return [Router(service)]
