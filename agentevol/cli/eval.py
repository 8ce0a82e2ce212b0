"""`agentevol eval`: evaluation of a model on a split."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from agentevol.cli.console.evaluations import print_scores, score_members
from agentevol.cli.console.output import AsJson, print_json
from agentevol.cli.console.reports import By, Reports, check_reports, write_reports
from agentevol.cli.console.suites import evaluate_suite

if TYPE_CHECKING:
    from rich.console import Console

    from agentevol.core.summaries import EvaluationSummary
    from agentevol.loop.report.evaluations.evaluation_report import EvaluationReport
    from agentevol.runs.evaluation import Trial
    from agentevol.runs.seating import Seating


def register(parent: typer.Typer) -> None:
    """Add the command to the command line."""
    parent.command("eval")(evaluate)


Model = Annotated[
    str,
    typer.Option(
        help="starter, a model's or run's folder, owner/name of the Hugging Face hub, vllm:FOLDER,"
        " openai:NAME of an endpoint, or expert, random, idle, spray."
    ),
]
Settings = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[KEY=VALUE]...",
        help="Settings as a run has them: engine.KEY=VALUE and environment.options.KEY=VALUE.",
    ),
]
Env = Annotated[str, typer.Option(help="The environment.")]
Split = Annotated[str, typer.Option(help="Split whose tasks are played.")]
Difficulty = Annotated[str | None, typer.Option(help="Only tasks of this level.")]
Episodes = Annotated[int | None, typer.Option(min=1, help="Number of tasks, evenly spread over the split.")]
Repeats = Annotated[
    int,
    typer.Option(min=1, help="Episodes of each task, with other seeds; more than 1 give pass^k and pass@k."),
]
MaxTurns = Annotated[int | None, typer.Option(min=1, help="Maximum actions of an episode.")]
Temperature = Annotated[float, typer.Option(min=0, help="0 is greedy.")]
MaxNewTokens = Annotated[
    int | None, typer.Option(min=1, help="Tokens of a turn; default as in runs, of an endpoint 1,024.")
]
Seed = Annotated[int, typer.Option(help="Seed of environments and samples.")]
Format = Annotated[
    str,
    typer.Option(
        "--format", help="Format in which the model writes actions: plain, react, modes, or module:attribute."
    ),
]
Url = Annotated[str | None, typer.Option(help="A running server; default: one is started.")]
Partner = Annotated[
    str | None,
    typer.Option(
        help="Player of the other seats: self (the model), environment or rule (its own partner), or a model"
        " as for --model, beside which each task is played once in each seat.  [default: self]"
    ),
]
PartnerFormat = Annotated[str | None, typer.Option(help="Format of a partner's messages; default: --format.")]
Seats = Annotated[
    str, typer.Option(help="Seats that the model plays beside a partner that is a model: 0, 1, ... or both.")
]
Records = Annotated[
    Path | None, typer.Option(help="A new file for a record of each episode and seat, as JSON Lines.")
]


Suite = Annotated[
    Path | None,
    typer.Option(
        help="A TOML file of several models and environments, which takes the place of all options but --out,"
        " --dry-run, --json and settings such as episodes=20."
    ),
]
Out = Annotated[
    Path | None,
    typer.Option(help="Folder of a suite; an interrupted one is continued.  [default: runs/NAME]"),
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Print the plan of a suite, and stop.")]


def evaluate(
    context: typer.Context,
    model: Model = "starter",
    settings: Settings = None,
    env: Env = "alfworld",
    split: Split = "test",
    difficulty: Difficulty = None,
    episodes: Episodes = None,
    repeats: Repeats = 1,
    max_turns: MaxTurns = None,
    temperature: Temperature = 0.0,
    max_new_tokens: MaxNewTokens = None,
    seed: Seed = 0,
    action_format: Format = "plain",
    url: Url = None,
    partner: Partner = None,
    partner_format: PartnerFormat = None,
    seats: Seats = "both",
    by: By = None,
    records: Records = None,
    report: Reports = None,
    suite: Suite = None,
    out: Out = None,
    dry_run: DryRun = False,
    json: AsJson = False,
) -> None:
    """Play a split with one model and print success, reward, scores, turns and tokens with intervals; or,
    with --suite, several models in several environments.

    Example: agentevol eval --model starter engine=vllm engine.url=http://host:8000

    Example: agentevol eval --model starter --env tau-telecom --repeats 4 --temperature 1

    Example: agentevol eval --model starter --env assistant environment.options.all_tools=true

    Example: OPENAI_API_KEY=... agentevol eval --model openai:NAME --env guess --episodes 20

    Example: agentevol eval --model A --partner B --env social --by kind --records a-beside-b.jsonl

    Example: agentevol eval --model starter --env guess --report guess.html --report guess.json

    Example: agentevol eval --suite small.toml --out runs/small
    """
    if evaluate_suite(context, suite, settings or (), out, dry_run, json):
        return
    from agentevol.config.sections.environment import EnvironmentConfig
    from agentevol.core.action_formats.registry import ACTION_FORMATS
    from agentevol.loop.report.evaluations.evaluation_report import document_of, report_of
    from agentevol.loop.report.evaluations.summary import groups_of
    from agentevol.loop.state.progress import Progress
    from agentevol.runs.evaluation import trial

    check_reports(report)
    progress = Progress(_console(stderr=True))
    form = ACTION_FORMATS.checked(action_format)
    seating, groups = _seating(partner, partner_format, seats), groups_of(by or ())
    title = model if seating.model is None else f"{model} beside {partner}"
    with progress.playing_once(f"{title} on {env}/{split}") as started:
        played = trial(
            model,
            EnvironmentConfig(name=env, max_turns=max_turns, format=form, url=url),
            split,
            difficulty=difficulty,
            episodes=episodes,
            temperature=temperature,
            seed=seed,
            started=started,
            engine=settings or [],
            max_new_tokens=max_new_tokens,
            repeats=repeats,
            seating=seating,
            records=records,
        )
    for remark in played.remarks():
        progress.say(remark)
    summary, found = played.summary(split), report_of(played.records(), groups)
    write_reports(report, document_of(found), found.model_dump(mode="json"))
    if json:
        told = {"model": model, "env": env, "partner": played.seats.partner}
        _print_json(told, summary, found, played)
    else:
        _print(title, summary, found, played)
    if summary.n == 0:
        raise typer.Exit(1)


def _seating(partner: str | None, partner_format: str | None, seats: str) -> "Seating":
    """Players of the seats; `seats` is `both`, or the policy's seat. Raises `ConfigError`."""
    from agentevol.core.action_formats.registry import ACTION_FORMATS
    from agentevol.core.errors import ConfigError
    from agentevol.runs.seating import Seating

    if seats != "both" and not seats.isdecimal():
        raise ConfigError(f"--seats {seats!r} is no seat: give 0, 1, ... or both")
    form = None if partner_format is None else ACTION_FORMATS.checked(partner_format)
    return Seating(partner, form, None if seats == "both" else (int(seats),))


def _print_json(
    told: dict[str, Any], summary: "EvaluationSummary", found: "EvaluationReport", played: "Trial"
) -> None:
    """Print the summary, the figures beside it and the use of endpoints as one JSON object after `told`."""
    rates = found.model_dump(mode="json", include={"losses", "pass_rates"})
    usages = {"usage": played.usage, "partner_usage": played.partner and played.partner.usage}
    print_json(
        {
            **told,
            **summary.model_dump(mode="json"),
            **score_members(found.figures),
            "options": played.options,
            "losses": rates["losses"],
            **rates["pass_rates"],
            **{name: usage.figures() for name, usage in usages.items() if usage is not None},
        }
    )


def _print(title: str, summary: "EvaluationSummary", found: "EvaluationReport", played: "Trial") -> None:
    """Print the table, rates of repeated tasks, losses, scores and the use of endpoints."""
    from agentevol.loop.report.evaluations.evaluation_report import success_intervals
    from agentevol.loop.state.progress import evaluation_table

    _console().print(evaluation_table(title, summary, success_intervals(found)))
    _print_rates(found)
    print_scores(found.figures, played.seats.partner, thinking=summary.thinking)
    _print_usage(played)


def _print_rates(found: "EvaluationReport") -> None:
    from agentevol.loop.report.rates import mean_text

    for kind in ("pass^", "pass@"):
        told = [
            f"{name} {mean_text(one.mean, '.3f')} [{mean_text(one.low, '.3f')}, {mean_text(one.high, '.3f')}]"
            for name, one in found.pass_rates.items()
            if name.startswith(kind)
        ]
        if told:
            print(", ".join(told))
    if found.losses:
        classes = ", ".join(f"{name} {one.episodes:,}" for name, one in found.losses.items())
        print(f"lost episodes by class: {classes}")


def _print_usage(played: "Trial") -> None:
    if played.usage is not None:
        print(played.usage.text())
    if played.partner is not None and played.partner.usage is not None:
        print(f"of the partner: {played.partner.usage.text()}")


def _console(*, stderr: bool = False) -> "Console":
    from rich.console import Console

    return Console(highlight=False, stderr=stderr)
