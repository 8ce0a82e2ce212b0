"""`agentevol serve`: a policy behind an OpenAI-compatible endpoint that records its samples."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from agentevol.cli.envs.options import (
    ExitWithStdin,
    Host,
    InsecureNoAuth,
    MaxSessions,
    Port,
    TokenFile,
    settings_of,
    stop_when_stdin_ends,
)

if TYPE_CHECKING:
    from agentevol.config.sections.engine import EmbeddedConfig, VllmConfig

RECORDING = {"name": "serve", "temperature": 1.0, "max-sessions": 1024, "lease-ttl-s": 600.0}
"""Defaults of the options for recording."""


def register(parent: typer.Typer) -> None:
    """Add the command to the command line."""
    parent.command()(serve)


Model = Annotated[str, typer.Argument(help="starter, a model folder, or a run's folder.")]
Out = Annotated[
    str | None,
    typer.Option(
        help="Table that episodes are appended to, which may be a URL; without one nothing is recorded."
    ),
]
Name = Annotated[str, typer.Option(help="Name of the run under which episodes are stored.")]
Engine = Annotated[
    Literal["embedded", "vllm"], typer.Option(help="Engine that samples; vllm has to be installed.")
]
Slots = Annotated[int, typer.Option(min=1, help="Conversations that are sampled at the same time.")]
Context = Annotated[
    int | None, typer.Option(min=32, help="Maximum tokens of a conversation; default: the model's own.")
]
Threads = Annotated[int | None, typer.Option(min=1, help="CPU threads of the embedded engine; default 1.")]
Dtype = Annotated[
    Literal["float32", "bfloat16", "float16"],
    typer.Option(help="Number format of the model's computations."),
]
CacheGib = Annotated[float | None, typer.Option(min=0.001, help="For vllm: memory of the key/value cache.")]
TensorParallel = Annotated[int, typer.Option(min=1, help="For vllm: GPUs that hold the weights together.")]
MaxNewTokens = Annotated[int, typer.Option(min=1, help="Maximum tokens of a reply.")]
Temperature = Annotated[
    float,
    typer.Option(min=0.01, max=2, help="Temperature of all recorded replies; clients cannot change it."),
]
LeaseTtl = Annotated[
    float, typer.Option(min=1, max=86400, help="Idle seconds after which a session is cancelled.")
]
Token = Annotated[
    str | None,
    typer.Option(help="The bearer token. Other users of this machine can read it: see --token-file."),
]


def serve(
    model: Model,
    out: Out = None,
    name: Name = "serve",
    host: Host = "127.0.0.1",
    port: Port = 8000,
    engine: Engine = "embedded",
    slots: Slots = 48,
    context: Context = None,
    threads: Threads = None,
    dtype: Dtype = "float32",
    cache_gib: CacheGib = None,
    tensor_parallel: TensorParallel = 1,
    max_new_tokens: MaxNewTokens = 512,
    temperature: Temperature = 1.0,
    max_sessions: MaxSessions = 1024,
    lease_ttl_s: LeaseTtl = 600.0,
    token: Token = None,
    token_file: TokenFile = None,
    insecure_no_auth: InsecureNoAuth = False,
    exit_with_stdin: ExitWithStdin = False,
) -> None:
    """Serve a policy to agents that speak OpenAI's chat API, and record what it says, token for token.

    Prints `ready http://HOST:PORT`. The token may also be given as AGENTEVOL_TOKEN; AGENTEVOL_TRAINER_TOKEN
    and AGENTEVOL_AGENT_TOKEN are further ones, that may do less.

    Example: agentevol serve starter --out served --port 8000
    """
    recording = {"name": name, "temperature": temperature, "max-sessions": max_sessions}
    _check_engine(engine, threads, cache_gib, tensor_parallel)
    _check_recording(out, recording | {"lease-ttl-s": lease_ttl_s})
    _check_token(token, token_file)
    server = settings_of(
        None,
        token_file,
        host=host,
        max_sessions=max_sessions,
        insecure_no_auth=insecure_no_auth,
        lease_ttl_s=lease_ttl_s,
    )
    if token is not None:
        server = server.model_copy(update={"token": token.strip()})
    if exit_with_stdin:
        stop_when_stdin_ends()

    from agentevol.service.serve import serve as run
    from agentevol.service.settings import BODY_BYTES, ServiceSettings
    from agentgym_store.urls import named

    settings = ServiceSettings(
        server=server.model_copy(update={"max_body_bytes": BODY_BYTES}),
        run=name,
        max_new_tokens=max_new_tokens,
        temperature=temperature,
    )
    shared = {"slots": slots, "context": context, "dtype": dtype}
    chosen = _engine_config(engine, threads, cache_gib, tensor_parallel, **shared)
    raise typer.Exit(run(model, chosen, out and named(out), port, settings))


def _check_engine(engine: str, threads: int | None, cache_gib: float | None, tensor_parallel: int) -> None:
    if engine == "vllm" and threads is not None:
        raise typer.BadParameter("--threads has no effect with --engine vllm: set OMP_NUM_THREADS")
    if engine != "vllm" and cache_gib is not None:
        raise typer.BadParameter("--cache-gib has no effect without --engine vllm")
    if engine != "vllm" and tensor_parallel > 1:
        raise typer.BadParameter("--tensor-parallel has no effect without --engine vllm")


def _engine_config(
    engine: str, threads: int | None, cache_gib: float | None, tensor_parallel: int, **shared: Any
) -> "EmbeddedConfig | VllmConfig":
    """The engine's configuration; `shared` are the settings that both engines have."""
    from agentevol.config.sections.engine import EmbeddedConfig, VllmConfig

    if engine == "vllm":
        return VllmConfig(cache_gib=cache_gib, tensor_parallel=tensor_parallel, **shared)
    return EmbeddedConfig(threads=threads or 1, **shared)


def _check_recording(out: str | None, options: Mapping[str, str | float]) -> None:
    for option, value in options.items():
        if out is None and value != RECORDING[option]:
            raise typer.BadParameter(f"--{option} has no effect without --out: nothing is recorded")
    if not str(options["name"]).strip():
        raise typer.BadParameter("--name is empty; give one, or leave it out")


def _check_token(token: str | None, token_file: Path | None) -> None:
    if token is not None and token_file is not None:
        raise typer.BadParameter("--token and --token-file both name the token")
    if token is not None and not token.strip():
        raise typer.BadParameter("the token is empty; give one, or none at all")
