"""`agentevol envs serve`: environments in one server process. `agentevol envs up`: one process for each."""

import sys
from typing import Annotated

import typer

from agentevol.cli.envs.options import (
    ExitWithStdin,
    Host,
    InsecureNoAuth,
    MaxSessions,
    Names,
    Options,
    Port,
    Settings,
    TokenFile,
    Workers,
    options_of,
    served_of,
    settings_of,
    stop_when_stdin_ends,
)


def serve(
    names: Names = None,
    host: Host = "127.0.0.1",
    port: Port = 8000,
    workers: Workers = None,
    max_sessions: MaxSessions = 1024,
    option: Options = None,
    setting: Settings = None,
    instance: Annotated[
        int | None,
        typer.Option(
            min=0,
            max=(1 << 20) - 1,
            help="Instance number of this server behind a gateway; random by default.",
        ),
    ] = None,
    token_file: TokenFile = None,
    insecure_no_auth: InsecureNoAuth = False,
    exit_with_stdin: ExitWithStdin = False,
) -> None:
    """Serve environments in one process until stopped; prints `ready http://HOST:PORT` once healthy.

    The bearer token may also be given as AGENTEVOL_TOKEN; AGENTEVOL_TRAINER_TOKEN and AGENTEVOL_AGENT_TOKEN
    are further ones, that may do less.

    Example: agentevol envs serve alfworld --port 8001
    """
    served, option = served_of(names, option)
    options = options_of(option, served)
    import secrets

    from agentgym_server.serve import serve as run

    if exit_with_stdin:
        stop_when_stdin_ends()
    settings = settings_of(
        setting,
        token_file,
        host=host,
        max_sessions=max_sessions,
        insecure_no_auth=insecure_no_auth,
        instance=secrets.randbelow(1 << 20) if instance is None else instance,
    )
    raise typer.Exit(run(host, port, served, options, workers, settings))


def up(
    names: Names = None,
    host: Host = "127.0.0.1",
    port: Port = 8000,
    workers: Workers = None,
    replicas: Annotated[int, typer.Option(min=1, help="Server processes of each environment.")] = 1,
    max_sessions: MaxSessions = 1024,
    option: Options = None,
    setting: Settings = None,
    token_file: TokenFile = None,
    insecure_no_auth: InsecureNoAuth = False,
    exit_with_stdin: ExitWithStdin = False,
) -> None:
    """Serve environments behind one address until stopped; prints `ready http://HOST:PORT` once healthy.

    Each environment has a process of its own, which is started again when it dies; a gateway in front knows
    which session is whose. SIGTERM lets open sessions finish for a while, a second signal stops at once.
    Tokens as for `agentevol envs serve`.

    Example: agentevol envs up alfworld guess --port 8000
    """
    served, option = served_of(names, option)
    options_of(option, served)
    from agentgym_server.gateway.serve import serve_children
    from agentgym_server.gateway.supervisor import Role

    if exit_with_stdin:
        stop_when_stdin_ends()
    settings = settings_of(
        setting,
        token_file,
        host=host,
        max_sessions=max_sessions,
        insecure_no_auth=insecure_no_auth,
    )
    shared = [f"--setting={pair}" for pair in setting or []]
    roles = [
        Role(name, (*server_command(name, workers, max_sessions, option), *shared))
        for name in served
        for _ in range(replicas)
    ]
    raise typer.Exit(serve_children(roles, port, settings))


def server_command(name: str, workers: int | None, max_sessions: int, options: list[str]) -> tuple[str, ...]:
    """The command line of one child, without secrets, since command lines are public."""
    return (
        *(sys.executable, "-m", "agentevol", "envs", "serve", name, "--port=0", "--exit-with-stdin"),
        f"--max-sessions={max_sessions}",
        *([f"--workers={workers}"] if workers else []),
        *(f"--option={option}" for option in options if option.startswith(f"{name}.")),
    )
