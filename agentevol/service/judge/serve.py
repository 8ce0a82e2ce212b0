"""Runner of a judge service.

`serve` prints `ready http://HOST:PORT` once it accepts requests. SIGTERM refuses new requests; running ones
go on for a while; SIGINT, or a second signal, stops at once. What is not judged then is refused with 503.
"""

import socket

from agentevol.data.judgements.panel import Panel
from agentevol.service.judge.app import application
from agentevol.service.judge.service import JudgeService
from agentevol.service.judge.settings import JudgeSettings
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


def serve(panel: Panel, port: int, settings: JudgeSettings) -> int:
    """Serve until a signal; returns the exit code."""
    try:
        check_exposure(settings.server)
        sock = listening_socket(settings.server.host, port)
    except CannotServe as cause:
        return refuse(str(cause))
    with sock:
        configure(settings.server.log_level)
        try:
            return run(_live(panel, sock, settings))
        except KeyboardInterrupt:  # uvicorn raises the signal again once it has stopped
            return 0


async def _live(panel: Panel, sock: socket.socket, settings: JudgeSettings) -> int:
    service = JudgeService(panel, settings)
    config = uvicorn_config(application(service), settings.server)
    await DrainingServer(config, service, settings.server.drain_s).serve([sock])
    return 0
