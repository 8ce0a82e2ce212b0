"""Runner of a policy service.

`serve` prints `ready http://HOST:PORT` once it accepts requests. SIGTERM drains: new sessions are refused,
open ones may continue for a while; SIGINT, or a second signal, stops at once. Sessions that are then open are
stored as failed.
"""

import socket
from pathlib import Path

from prometheus_client import disable_created_metrics

from agentevol.config.sections.engine import TokenEngineConfig
from agentevol.core.protocols import Checkpoint
from agentevol.engines.interfaces import TokenEngine
from agentevol.models.resolution import resolve
from agentevol.rollout.engine_factory import start_token_engine
from agentevol.service.app import App
from agentevol.service.service import Service
from agentevol.service.sessions.writer import Table
from agentevol.service.settings import ServiceSettings
from agentgym_server.draining import DrainingServer
from agentgym_server.monitoring.logs import configure
from agentgym_server.serve import (
    CannotServe,
    check_exposure,
    listening_socket,
    refuse,
    run,
    uvicorn_config,
)


def serve(
    model: str, engine: TokenEngineConfig, out: Path | str | None, port: int, settings: ServiceSettings
) -> int:
    """Serve until a signal; returns the exit code. Raises `ConfigError` and `StoreError` before it starts."""
    try:
        check_exposure(settings.server)
        sock = listening_socket(settings.server.host, port)
    except CannotServe as cause:
        return refuse(str(cause))
    disable_created_metrics()
    with sock:
        checkpoint = resolve(model)
        table = None if out is None else Table(out, settings.run)
        started = start_token_engine(engine, checkpoint)
        configure(settings.server.log_level)
        try:
            return run(_live(started, checkpoint, table, sock, settings))
        except KeyboardInterrupt:  # uvicorn raises the signal again once it has stopped
            return 0
        finally:
            started.close()


async def _live(
    engine: TokenEngine,
    checkpoint: Checkpoint,
    table: Table | None,
    sock: socket.socket,
    settings: ServiceSettings,
) -> int:
    service = Service(engine, checkpoint, table, settings)
    service.start()
    server = DrainingServer(uvicorn_config(App(service), settings.server), service, settings.server.drain_s)
    try:
        await server.serve([sock])
    finally:
        await service.abandon()
    return 0
