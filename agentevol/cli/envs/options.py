"""Options that several commands of the group share, and their parsing."""

import json
import os
import signal
import sys
import threading
import time
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from agentgym_server.settings import ServerSettings

LAST_RESORT_S = 15.0
TOKENS = {"trainer_token": "AGENTEVOL_TRAINER_TOKEN", "agent_token": "AGENTEVOL_AGENT_TOKEN"}
OWN_OPTIONS = ("host", "workers", "instance", "max_sessions", "insecure_no_auth", "token", *TOKENS)
"""Settings that have their own options or environment variables."""

Names = Annotated[list[str] | None, typer.Argument(help="Environments by name; all when none is given.")]
Host = Annotated[str, typer.Option(help="Address to listen on; beyond loopback with a token.")]
Port = Annotated[int, typer.Option(min=0, max=65535, help="0 takes a free one.")]
Workers = Annotated[
    int | None, typer.Option(min=1, help="Worker processes; by default for blocking environments only.")
]
MaxSessions = Annotated[int, typer.Option(min=1, help="Open sessions of one server at one time.")]
Options = Annotated[
    list[str] | None, typer.Option(help="ENV.OPTION=VALUE, for example alfworld.dialect=put; repeatable.")
]
Settings = Annotated[
    list[str] | None,
    typer.Option("--setting", help="NAME=VALUE, for example rate_limit_per_s=100; repeatable."),
]
TokenFile = Annotated[
    Path | None, typer.Option(exists=True, dir_okay=False, help="File that holds the bearer token.")
]
InsecureNoAuth = Annotated[
    bool, typer.Option("--insecure-no-auth", help="Serve other machines without a token.")
]
ExitWithStdin = Annotated[
    bool, typer.Option("--exit-with-stdin", help="Stop when standard input ends, with the parent process.")
]


def chosen(names: list[str] | None) -> list[str]:
    """The given names, each checked, or all whose packages are installed; others are listed on stderr."""
    from agentgym_envs.registry import environment_class, lacking, with_argument
    from agentgym_envs.registry import names as all_names

    if not names:
        needs = {name: lacking(name) for name in all_names()}
        for name in filter(needs.get, needs):
            print(f"{name} is left out: it needs {needs[name]}", file=sys.stderr)
        names = [name for name in needs if not needs[name]]
    found = list(dict.fromkeys(names))
    for name in found:
        environment_class(with_argument(name)[0])
    return found


def served_of(names: list[str] | None, option: list[str] | None) -> tuple[list[str], list[str]]:
    """Names of environments to serve, and options, those of `NAME:ARGUMENT` among them."""
    from agentgym_envs.registry import with_argument

    found, options = list[str](), list(option or [])
    for text in chosen(names):
        name, given = with_argument(text)
        if name in found:
            raise typer.BadParameter(f"{name} is named twice, and a server has one of each")
        found.append(name)
        options += [f"{name}.{key}={json.dumps(value)}" for key, value in given.items()]
    return found, options


def options_of(pairs: list[str] | None, names: list[str]) -> dict[str, dict[str, Any]]:
    """`env.option=value` settings by environment; values are read as TOML, or else as text."""
    options: dict[str, dict[str, Any]] = {}
    for pair in pairs or []:
        key, separator, text = pair.partition("=")
        name, dot, option = key.partition(".")
        if not (separator and dot and name and option):
            raise typer.BadParameter(f"{pair!r} is not ENV.OPTION=VALUE, for example alfworld.dialect=put")
        options.setdefault(name, {})[option] = _value(text)
    if strangers := sorted(options.keys() - set(names)):
        raise typer.BadParameter(f"--option names {strangers[0]!r}, which is not served")
    return options


def settings_of(pairs: list[str] | None, token_file: Path | None, **given: Any) -> "ServerSettings":
    """The settings `given`, the tokens, and those of `NAME=VALUE` pairs: any setting without its own
    option.
    """
    from pydantic import ValidationError

    from agentgym_server.settings import ServerSettings

    found: dict[str, Any] = {}
    for pair in pairs or []:
        name, separator, text = pair.partition("=")
        if not separator or name in OWN_OPTIONS or name not in ServerSettings.model_fields:
            names = ", ".join(sorted(ServerSettings.model_fields.keys() - set(OWN_OPTIONS)))
            raise typer.BadParameter(f"{pair!r} is not NAME=VALUE; there are: {names}")
        found[name] = _value(text)
    try:
        return ServerSettings(**given, **_tokens(token_file), **found)
    except ValidationError as cause:
        error = cause.errors()[0]
        raise typer.BadParameter(f"--setting {error['loc'][0]}: {error['msg']}") from None


def _tokens(file: Path | None) -> dict[str, Any]:
    """Secrets as settings; an empty one is an error, and does not disable authentication."""
    admin = os.environ.get("AGENTEVOL_TOKEN") if file is None else file.read_text(encoding="utf-8")
    given = {"token": admin} | {field: os.environ.get(name) for field, name in TOKENS.items()}
    if any(text is not None and not text.strip() for text in given.values()):
        raise typer.BadParameter("the token is empty; give one, or none at all")
    return {field: text.strip() if text else None for field, text in given.items()}


def stop_when_stdin_ends() -> None:
    """Stop this server when standard input closes: a killed parent cannot send a signal, but its pipe closes.

    Open sessions have no caller left, so the server stops at once.
    """

    def wait() -> None:
        # Not `sys.stdin`: this thread would hold its lock while the interpreter shuts down.
        while os.read(0, 4096):
            pass
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(LAST_RESORT_S)
        os._exit(1)  # the shutdown hangs

    threading.Thread(target=wait, daemon=True, name="stdin").start()


def _value(text: str) -> Any:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text
