"""`agentevol trajectories import`: foreign data sets as episodes."""

import json as json_module
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from agentevol.cli.console.counting import counting
from agentevol.cli.console.output import AsJson, print_json, printable
from agentgym_store.purposes import Purpose

if TYPE_CHECKING:
    from agentgym_store.imports import ImportReport
    from agentgym_store.imports.writing.replay import ReplayReport

SHOWN = 5
"""Maximum number of differences that are printed; --json has more."""

Format = Literal["auto", "jsonl", "parquet", "agenttraj", "sharegpt", "openai", "react", "webshop"]

Files = Annotated[list[Path], typer.Argument(help="JSON, JSON Lines, Parquet, or a text of transcripts.")]
Out = Annotated[str, typer.Option(help="A new table, or one to add to, which may be a URL.")]
FormatOption = Annotated[
    Format, typer.Option("--format", help="auto: the first record of each file tells it.")
]
Env = Annotated[str | None, typer.Option(help="Environment of the episodes; default: what records tell.")]
Reward = Annotated[float | None, typer.Option(help="Return of the records that tell none; 1 is success.")]
Split = Annotated[str, typer.Option(help="Split of the tasks of which none is told.")]
Run = Annotated[str, typer.Option(help="Name of the run in the table.")]
Policy = Annotated[str | None, typer.Option(help="Who acted; default: what records tell, or the format.")]
PurposeOption = Annotated[Purpose, typer.Option(help="Purpose of the episodes.")]
ActionFormat = Annotated[
    Literal["auto", "plain", "react", "modes"],
    typer.Option(help="Action format of the messages; auto: react where every message has an Action."),
]
Replay = Annotated[
    bool, typer.Option("--replay", help="Play the actions in our environments, and compare what happens.")
]
EnvOption = Annotated[
    list[str] | None, typer.Option(help="With --replay: KEY=VALUE, an option of the environment; repeatable.")
]
Strict = Annotated[bool, typer.Option("--strict", help="End with exit code 1 if a record was dropped.")]


def import_episodes(
    files: Files,
    out: Out,
    format: FormatOption = "auto",  # noqa: A002 - the name of the option
    env: Env = None,
    reward: Reward = None,
    split: Split = "train",
    run: Run = "imported",
    policy: Policy = None,
    purpose: PurposeOption = "demonstrate",
    action_format: ActionFormat = "auto",
    replay: Replay = False,
    env_option: EnvOption = None,
    strict: Strict = False,
    json: AsJson = False,
) -> None:
    """Read episodes from foreign data sets into a table, and say what was dropped and why.

    A new table appears when it is complete; the same command continues an import that was killed. Rewards are
    never invented: a record without one is dropped unless --reward gives it one.

    Example: agentevol trajectories import webshop.json --out demos --env webshop --reward 1

    Example: agentevol trajectories import episodes.parquet --out copy --replay
    """
    from agentgym_store.imports import Replayer, Supplied, import_files
    from agentgym_store.urls import named

    if env_option and not replay:
        raise typer.BadParameter("--env-option has no effect without --replay")
    for file in files:
        if not file.is_file():
            raise FileNotFoundError(2, "no such file", str(file))
    supplied = Supplied(
        env=env,
        split=split,
        run=run,
        policy=policy,
        purpose=purpose,
        reward=reward,
        form=action_format,
    )
    replayer = Replayer(_options(env_option or ())) if replay else None
    try:
        with counting("records") as progress:
            report = import_files(
                files, named(out), supplied, format_name=format, replayer=replayer, progress=progress
            )
    finally:
        if replayer is not None:
            replayer.close()
    if json:
        print_json(asdict(report))
    else:
        print(printable("\n".join(_lines(report))))
    if strict and report.dropped:
        raise typer.Exit(1)


def _options(given: Sequence[str]) -> dict[str, Any]:
    """Options of an environment from `KEY=VALUE`, whose values are JSON or else text."""
    found: dict[str, Any] = {}
    for one in given:
        name, equals, value = one.partition("=")
        if not (name and equals):
            raise typer.BadParameter(f"--env-option is {one!r}; it is KEY=VALUE")
        try:
            found[name] = json_module.loads(value)
        except json_module.JSONDecodeError:
            found[name] = value
    return found


def _lines(report: "ImportReport") -> Iterator[str]:
    for file, name in report.formats.items():
        yield f"{file}: {name}"
    for reason, dropped in report.dropped.items():
        yield f"dropped {dropped.count:,}: {reason}"
        yield from (f"  {place}" for place in dropped.places)
    for note, count in report.notes.items():
        yield f"{count:,} {note}"
    envs = ", ".join(f"{env} {count:,}" for env, count in sorted(report.environments.items()))
    there = f", {report.already:,} of them before" if report.already else ""
    yield f"{report.imported:,} of {report.read:,} records are in {report.out}{there}: {envs}"
    yield f"won: {report.successes:,}"
    if report.replay is not None:
        yield from _replayed(report.replay)


def _replayed(report: "ReplayReport") -> Iterator[str]:
    different, unplayed = (sum(counts.values()) for counts in (report.different, report.not_replayed))
    yield f"replay: {report.same:,} the same, {different:,} different, {unplayed:,} not replayed"
    yield from _counted("different", report.different)
    yield from _counted("not replayed", report.not_replayed)
    for one in report.differences[:SHOWN]:
        yield f"  {one.episode}: {one.where}: recorded {one.recorded!r}, replayed {one.replayed!r}"


def _counted(what: str, counts: Mapping[str, int]) -> Iterator[str]:
    for reason, count in sorted(counts.items()):
        yield f"  {what}, {reason}: {count:,}"
