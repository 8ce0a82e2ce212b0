"""`agentevol judge`: judgements of a file, or of the requests to a service."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from agentevol.cli.console.output import AsJson
from agentevol.cli.envs.options import (
    ExitWithStdin,
    Host,
    InsecureNoAuth,
    Port,
    TokenFile,
    settings_of,
    stop_when_stdin_ends,
)
from agentevol.cli.judge.setup import Setup

SERVING: dict[str, object] = {
    "host": "127.0.0.1",
    "port": 8000,
    "max-items": 256,
    "token-file": None,
    "insecure-no-auth": False,
    "exit-with-stdin": False,
}
"""Defaults of the options of a service."""
BATCH: dict[str, object] = {"out": None, "resume": False, "attack-set": False, "json": False}
"""Defaults of the options for a file."""

File = Annotated[
    str | None,
    typer.Argument(
        help="Episodes or items, a run, or a table of episodes; without one, a service is started."
    ),
]
Judges = Annotated[
    list[str] | None,
    typer.Option(
        "--judge", help="rule, rule:moves, openai:NAME[@URL] or replay:FILE; repeatable. Default: rule."
    ),
]
Out = Annotated[Path | None, typer.Option(help="File of judgements; default: NAME.judgements.jsonl here.")]
Resume = Annotated[bool, typer.Option("--resume", help="Keep what is ok in the file of judgements.")]
AttackSet = Annotated[
    bool,
    typer.Option(
        "--attack-set", help="Judge transcripts with and without texts that ask for high scores, and compare."
    ),
]
Dimensions = Annotated[
    str | None,
    typer.Option(
        help="sotopia, rubric, or a file of JSON; default: sotopia for conversations, rubric for transcripts."
    ),
]
Samples = Annotated[int, typer.Option(min=1, max=32, help="Judgements of each model.")]
Aggregated = Annotated[Literal["mean", "median"], typer.Option(help="Of samples and judges.")]
Profiles = Annotated[
    Path | None, typer.Option(exists=True, help="Folder of Sotopia's profiles; default: those imported.")
]
Url = Annotated[str, typer.Option(help="Address of the models; default: $OPENAI_BASE_URL, or OpenAI's.")]
ApiKeyEnv = Annotated[str, typer.Option(help="Environment variable with the key of the models.")]
Temperature = Annotated[float, typer.Option(min=0, max=2, help="Of the models.")]
MaxTokens = Annotated[int, typer.Option(min=1, help="Maximum tokens of a model's answer.")]
CallTimeout = Annotated[float, typer.Option(min=0.001, help="Seconds for one call of a model.")]
ItemTimeout = Annotated[float, typer.Option(min=0.001, help="Seconds of one judge for one item.")]
Retries = Annotated[int, typer.Option(min=0, max=10, help="Further attempts after a call that failed.")]
Concurrency = Annotated[int, typer.Option(min=1, max=4096, help="Calls of a model, and items, at a time.")]
Cache = Annotated[Path | None, typer.Option(help="Folder that keeps the models' answers.")]
Prices = Annotated[
    Path | None,
    typer.Option(
        exists=True, dir_okay=False, help="JSON: dollars of a million prompt and completion tokens."
    ),
]
Limit = Annotated[str | None, typer.Option("--budget", help="For example 2.50usd, or 100000tokens.")]
MaxItems = Annotated[int, typer.Option(min=1, max=4096, help="Items of one request to the service.")]


def register(parent: typer.Typer) -> None:
    """Add the command to the command line."""
    parent.command()(judge)


def judge(
    file: File = None,
    judges: Judges = None,
    out: Out = None,
    resume: Resume = False,
    attack_set: AttackSet = False,
    dimensions: Dimensions = None,
    samples: Samples = 1,
    aggregate: Aggregated = "mean",
    profiles: Profiles = None,
    url: Url = "",
    api_key_env: ApiKeyEnv = "OPENAI_API_KEY",
    temperature: Temperature = 0.0,
    max_tokens: MaxTokens = 2048,
    call_timeout_s: CallTimeout = 60.0,
    item_timeout_s: ItemTimeout = 600.0,
    retries: Retries = 2,
    concurrency: Concurrency = 64,
    cache: Cache = None,
    prices: Prices = None,
    budget: Limit = None,
    host: Host = "127.0.0.1",
    port: Port = 8000,
    max_items: MaxItems = 256,
    token_file: TokenFile = None,
    insecure_no_auth: InsecureNoAuth = False,
    exit_with_stdin: ExitWithStdin = False,
    json: AsJson = False,
) -> None:
    """Judge the items of a file, or serve judgements: by rules, by models, or from records.

    An item has scores, or has failed for a stated reason; a failure is never a score. Exit code 1 if an item
    of the file has failed; `--resume` judges those again. Without a file, it prints `ready http://HOST:PORT`.

    Example: agentevol judge episodes.jsonl --judge openai:NAME --samples 3 --out judgements.jsonl

    Example: agentevol judge --judge openai:NAME --judge rule --port 8000

    Example: agentevol judge runs/first --judge openai:NAME --attack-set
    """
    given = dict(locals())
    _check_mode(given, [*BATCH] if file is None else [*SERVING])
    setup = Setup(**{name: value for name, value in given.items() if name in Setup.__dataclass_fields__})
    if file is None:
        raise typer.Exit(_serve(setup, given))
    if attack_set:
        from agentevol.cli.judge.attacks import attack_file

        raise typer.Exit(attack_file(file, setup, json=json))
    from agentevol.cli.judge.batch import judge_file

    raise typer.Exit(judge_file(file, setup, out, resume=resume, json=json))


def _check_mode(given: Mapping[str, Any], without_effect: Sequence[str]) -> None:
    """Refuse options of the other mode that are not at their defaults."""
    for option in without_effect:
        if given[option.replace("-", "_")] != {**SERVING, **BATCH}[option]:
            when = (
                "with FILE: nothing is served" if option in SERVING else "without FILE: a service is started"
            )
            raise typer.BadParameter(f"--{option} has no effect {when}")
    if given["attack_set"] and (given["out"] is not None or given["resume"]):
        raise typer.BadParameter("--out and --resume have no effect with --attack-set: nothing is written")


def _serve(setup: Setup, given: Mapping[str, Any]) -> int:
    """Run the service until it is stopped; the exit code."""
    server = settings_of(
        None, given["token_file"], host=given["host"], insecure_no_auth=given["insecure_no_auth"]
    )
    panel, asked = setup.panel(), setup.asked()
    if given["exit_with_stdin"]:
        stop_when_stdin_ends()

    from agentevol.service.judge.serve import serve
    from agentevol.service.judge.settings import BODY_BYTES, JudgeSettings

    settings = JudgeSettings(
        server=server.model_copy(update={"max_body_bytes": BODY_BYTES}),
        asked=asked,
        max_items=given["max_items"],
    )
    return serve(panel, given["port"], settings)
