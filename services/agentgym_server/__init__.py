"""Environments as services: sessions that are safe to retry, over REST.

    app = create_app({"guess": partial(make, "guess")})                          # an ASGI application
    serve_environments({"guess": partial(make, "guess")}, 8000, ServerSettings())  # until a signal

`agentgym_server.app` shows how the parts of the application fit together. The public names are imported when
they are used, so that a worker process imports no web framework.
"""

from typing import TYPE_CHECKING

from agentgym_envs.lazy_imports import lazy_names

if TYPE_CHECKING:
    from agentgym_server.app import create_app
    from agentgym_server.serve import serve_environments
    from agentgym_server.settings import ServerSettings
else:
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "ServerSettings": "agentgym_server.settings:ServerSettings",
            "create_app": "agentgym_server.app:create_app",
            "serve_environments": "agentgym_server.serve:serve_environments",
        },
        extra="server",
    )

__all__ = ["ServerSettings", "create_app", "serve_environments"]
