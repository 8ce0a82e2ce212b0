"""`agentevol envs gateway`: one address for servers on other machines."""

from typing import Annotated

import typer

from agentevol.cli.envs.options import (
    ExitWithStdin,
    Host,
    InsecureNoAuth,
    Port,
    Settings,
    TokenFile,
    settings_of,
    stop_when_stdin_ends,
)


def gateway(
    backend: Annotated[
        list[str],
        typer.Option(help="NAME=URL of a server; each address of the host is one; repeatable."),
    ],
    host: Host = "127.0.0.1",
    port: Port = 8000,
    published: Annotated[
        str | None,
        typer.Option(help="Address at which a container's port is published; it decides about the token."),
    ] = None,
    setting: Settings = None,
    token_file: TokenFile = None,
    insecure_no_auth: InsecureNoAuth = False,
    exit_with_stdin: ExitWithStdin = False,
) -> None:
    """Give servers that run elsewhere one address; prints `ready http://HOST:PORT` once each has answered.

    Every session stays with its server. Tokens as for `agentevol envs serve`; the servers have the same.

    Example: agentevol envs gateway --backend guess=http://127.0.0.1:8001
    """
    from agentgym_server.gateway.backends.discovery import parsed
    from agentgym_server.gateway.serve import serve_gateway

    try:
        sources = [parsed(text) for text in backend]
    except ValueError as cause:
        raise typer.BadParameter(str(cause)) from None
    if exit_with_stdin:
        stop_when_stdin_ends()
    settings = settings_of(setting, token_file, host=published or host, insecure_no_auth=insecure_no_auth)
    raise typer.Exit(serve_gateway(sources, host, port, settings))
