"""Environments as services: sessions that are safe to retry, over REST.

    from agentgym_server import ServerSettings, create_app
    app = create_app({"alfworld": Alfworld}, settings=ServerSettings())

`agentgym_server.serve` runs such an application; `agentgym_server.app` shows how its parts fit together. The
names are looked up when they are used, so that a worker process imports no web framework.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agentgym_server.app import create_app
    from agentgym_server.settings import ServerSettings

__all__ = ["ServerSettings", "create_app"]


def __getattr__(name: str) -> object:
    if name == "ServerSettings":
        from agentgym_server.settings import ServerSettings

        return ServerSettings
    if name != "create_app":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        from agentgym_server.app import create_app
    except ImportError as cause:  # the bare wheel has no server
        if (cause.name or "").split(".")[0] in ("fastapi", "starlette", "uvicorn"):
            raise ImportError(
                "agentgym_server needs its extra: pip install 'agentevol[server]'", name=cause.name
            ) from cause
        raise
    return create_app
