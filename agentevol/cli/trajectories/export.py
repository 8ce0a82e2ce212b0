"""`agentevol trajectories export`: episodes as a data set."""

import re
from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime
from inspect import signature
from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from agentevol.cli.console.counting import counting
from agentevol.cli.console.output import AsJson, print_json
from agentevol.cli.trajectories.tables import (
    Iteration,
    OnlyPurpose,
    Table,
    WithFeedback,
    open_table,
    with_feedback,
)

if TYPE_CHECKING:
    from agentevol.data.exports.opinion_rows import Opinions
    from agentgym_store.exports import Plan, Report, Selection

Format = Literal[
    "agenttraj", "jsonl", "parquet", "preference", "prompts", "sft", "sharegpt", "sotopia", "unpaired"
]
Ending = Literal["terminated", "truncated", "failed", "cancelled"]
OF_OUTCOMES = ("pairs", "per_task", "outcome_gap", "tie_breaks", "truncated_is_loss", "seed")
"""Options by which episodes' outcomes become pairs."""
Times = ["%Y-%m-%d", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M:%S%z"]
UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9}

FormatOption = Annotated[
    Format, typer.Option("--format", help="jsonl and parquet are lossless; docs/datasets.md has all of them.")
]
Env = Annotated[str | None, typer.Option(help="Only this environment.")]
Split = Annotated[str | None, typer.Option(help="Only tasks of this split.")]
Task = Annotated[list[str] | None, typer.Option(help="Only this task; may be repeated.")]
Kind = Annotated[str | None, typer.Option(help="Only tasks of this type.")]
Run = Annotated[str | None, typer.Option(help="Only this run.")]
OnlyEnding = Annotated[Ending | None, typer.Option(help="Only episodes with this ending.")]
Policy = Annotated[str | None, typer.Option(help="Only episodes of the policy of this name.")]
Version = Annotated[int | None, typer.Option(min=0, help="Only those whose last turn these weights sampled.")]
MinReward = Annotated[float | None, typer.Option(help="Only episodes with this return or more.")]
MaxReward = Annotated[float | None, typer.Option(help="Only episodes with this return or less.")]
Since = Annotated[datetime | None, typer.Option(formats=Times, help="Only those started then or later, UTC.")]
Until = Annotated[datetime | None, typer.Option(formats=Times, help="Only those started earlier, UTC.")]
TableVersion = Annotated[int | None, typer.Option(min=0, help="Version of the table; default: the newest.")]
Valid = Annotated[float, typer.Option(min=0, max=0.99, help="Share of the tasks in the split valid.")]
Shards = Annotated[int | None, typer.Option(min=1, help="Number of files of each split.")]
ShardSize = Annotated[str, typer.Option(help="Size of a file after which the next one begins: 500MB.")]
Dedup = Annotated[
    bool | None,
    typer.Option(
        "--dedup/--no-dedup", help="Drop rows with the content of an earlier one. Default: prompts."
    ),
]
Rows = Annotated[
    Literal["episode", "turn"] | None,
    typer.Option(help="Of sft, preference and unpaired: what a row is; by default an episode in sft alone."),
]
NoMeta = Annotated[bool, typer.Option("--no-meta", help="Rows without the origin of the episode.")]
Pairs = Annotated[
    Literal["best_worst", "adjacent", "all_capped", "same_prefix"] | None,
    typer.Option(help="Of preference: as pairs.strategy of a run."),
]
PerTask = Annotated[int | None, typer.Option(min=1, help="Of preference: as pairs.per_task.")]
OutcomeGap = Annotated[float | None, typer.Option(min=0, help="Of preference: as pairs.outcome_gap.")]
TieBreaks = Annotated[bool, typer.Option("--tie-breaks", help="Of preference: as pairs.tie_breaks.")]
TruncatedIsLoss = Annotated[
    bool,
    typer.Option("--truncated-is-loss", help="Of preference and unpaired: as pairs.truncated_is_loss."),
]
Seed = Annotated[int | None, typer.Option(help="Of preference: seed of the drawn pairs.")]
ByFeedback = Annotated[
    bool,
    typer.Option("--feedback", help="Of preference: pairs of what people corrected and preferred, in place."),
]
AllowUnjudged = Annotated[
    bool, typer.Option("--allow-unjudged", help="Of sotopia, also episodes that nobody judged.")
]
PushToHub = Annotated[
    str | None, typer.Option(help="Also upload the folder to this data set of the hub, private if it is new.")
]


def export(
    path: Table,
    out: Annotated[Path, typer.Argument(help="A new folder, or a file: *.jsonl, *.json or *.parquet.")],
    format: FormatOption = "jsonl",  # noqa: A002 - the name of the option
    env: Env = None,
    split: Split = None,
    task: Task = None,
    kind: Kind = None,
    run: Run = None,
    iteration: Iteration = None,
    purpose: OnlyPurpose = None,
    ending: OnlyEnding = None,
    policy: Policy = None,
    policy_version: Version = None,
    min_reward: MinReward = None,
    max_reward: MaxReward = None,
    since: Since = None,
    until: Until = None,
    with_feedback: WithFeedback = None,
    table_version: TableVersion = None,
    valid: Valid = 0.0,
    shards: Shards = None,
    shard_size: ShardSize = "500MB",
    dedup: Dedup = None,
    rows: Rows = None,
    no_meta: NoMeta = False,
    pairs: Pairs = None,
    per_task: PerTask = None,
    outcome_gap: OutcomeGap = None,
    tie_breaks: TieBreaks = False,
    truncated_is_loss: TruncatedIsLoss = False,
    seed: Seed = None,
    feedback: ByFeedback = False,
    allow_unjudged: AllowUnjudged = False,
    push_to_hub: PushToHub = None,
    json: AsJson = False,
) -> None:
    """Write episodes as a data set with its card; it appears when it is complete.

    The same command continues an export that was killed. Format sotopia also takes a file of records of
    agentevol eval.

    Example: agentevol trajectories export runs/first wins --format sft --min-reward 1 --valid 0.1

    Example: agentevol trajectories export records.jsonl logs.jsonl --format sotopia
    """
    given = dict(locals())
    if format == "sotopia" and Path(path).is_file():
        _check_of_records(given)
        _export_records(Path(path), out, allow_unjudged)
        return
    report = _exported(given)
    address = None if push_to_hub is None else _pushed(report.out, push_to_hub)
    if json:
        uploaded = {"out": str(report.out), "card": str(report.card), "uploaded": address}
        print_json({**asdict(report), **uploaded})
    else:
        print("\n".join([*_lines(report), *([address] if address else [])]))


def _exported(given: Mapping[str, Any]) -> "Report":
    from agentevol.data.exports.registry import ALL_FORMATS
    from agentgym_store.exports import export as write
    from agentgym_store.exports import export_format

    out: Path = given["out"]
    if given["push_to_hub"] is not None and out.suffix:
        raise typer.BadParameter(f"--push-to-hub uploads a folder, and {out} is a file")
    if given["feedback"] and (idle := [name for name in OF_OUTCOMES if given[name] not in (None, False)]):
        raise typer.BadParameter(f"--{idle[0].replace('_', '-')} has no effect with --feedback")
    chosen = export_format(given["format"], _options(given), ALL_FORMATS)
    with counting("rows") as progress:
        return write(
            open_table(given["path"]),
            chosen,
            out,
            selection=_selection(given),
            version=given["table_version"],
            plan=_plan(given),
            progress=progress,
        )


def _pushed(folder: Path, repository: str) -> str:
    from agentevol.data.exports.hub import push

    return push(folder, repository)


def _selection(given: Mapping[str, Any]) -> "Selection":
    from agentgym_store.exports import Selection
    from agentgym_store.store import Where

    names = ("env", "split", "kind", "run", "iteration", "purpose", "ending", "policy")
    where = Where(
        **{name: given[name] for name in (*names, "min_reward", "max_reward")}, task_ids=given["task"] or None
    )
    rated = with_feedback(where, given["path"], given["with_feedback"])
    return Selection(rated, given["policy_version"], given["since"], given["until"])


def _plan(given: Mapping[str, Any]) -> "Plan":
    from agentgym_store.exports import Plan

    size = size_in_bytes(given["shard_size"])
    return Plan(valid=given["valid"], shards=given["shards"], shard_bytes=size, distinct=given["dedup"])


def _options(given: Mapping[str, Any]) -> dict[str, Any]:
    """Options of the format that were given."""
    found = {
        "strategy": given["pairs"],
        "meta": False if given["no_meta"] else None,
        **{name: given[name] for name in ("rows", "per_task", "outcome_gap", "seed")},
        "feedback": _opinions(given["path"]) if given["feedback"] else None,
        **{name: given[name] or None for name in ("tie_breaks", "truncated_is_loss", "allow_unjudged")},
    }
    return {name: value for name, value in found.items() if value is not None}


def _opinions(path: str) -> "Opinions":
    from agentevol.data.exports.opinion_rows import Opinions
    from agentevol.data.feedback.opinions import action_format_of, feedback_on, opinions_of, trained_split
    from agentgym_store.urls import named

    place, sources = named(path), ("human",)
    records = opinions_of(feedback_on(place).records(), sources)
    return Opinions(tuple(records), sources, trained_split(place), action_format_of(place))


def size_in_bytes(text: str) -> int:
    """The number of bytes in `500MB`, `2G` or `100000`; raises `BadParameter`."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMG]?)B?", text.strip(), re.IGNORECASE)
    size = int(float(match[1]) * UNITS[match[2].upper()]) if match else 0
    if not size:
        raise typer.BadParameter(f"--shard-size is {text!r}; it is a size such as 500MB or 2GB")
    return size


def _lines(report: "Report") -> list[str]:
    rows = ", ".join(f"{split} {count:,}" for split, count in report.rows.items())
    files = f"{len(report.files):,} files" if len(report.files) > 1 else "1 file"
    continued = ["continued an export that had been interrupted"] if report.continued else []
    left_out = [f"left out: {count:,} {reason}" for reason, count in sorted(report.left_out.items())]
    return [
        *continued,
        f"rows: {rows}; of {report.episodes:,} episodes of version {report.version} of the table",
        *left_out,
        f"{report.out}: {files}; {report.card}",
    ]


def _check_of_records(given: Mapping[str, Any]) -> None:
    """Refuse options that have no effect on a file of records."""
    effective = ("path", "out", "format", "allow_unjudged")
    for name, parameter in signature(export).parameters.items():
        if name not in effective and given[name] != parameter.default:
            raise typer.BadParameter(f"--{name.replace('_', '-')} has no effect on a file of records")


def _export_records(path: Path, out: Path, allow_unjudged: bool) -> None:
    from agentevol.data.episode_logs import episode_logs, left_out_text
    from agentevol.loop.report.evaluations.records import read_records, seat_of
    from agentgym_store.files import write_lines

    if out.exists():
        raise FileExistsError(17, "the file exists", str(out))
    logs, left_out = episode_logs(map(seat_of, read_records(path)), allow_unjudged=allow_unjudged)
    written = write_lines((dumps(log, ensure_ascii=False) for log in logs), out)
    print(f"{written} episodes in {out}{left_out_text(left_out)}")
