"""`agentevol feedback judge`: opinions of judges on the episodes of a run or table."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from agentevol.cli.console.counting import counting
from agentevol.cli.console.output import AsJson, print_json, print_table
from agentevol.cli.judge import (
    Aggregated,
    ApiKeyEnv,
    Cache,
    CallTimeout,
    Concurrency,
    ItemTimeout,
    Limit,
    MaxTokens,
    Prices,
    Profiles,
    Retries,
    Samples,
    Temperature,
    Url,
)
from agentevol.cli.judge.batch import usage_text
from agentevol.cli.judge.setup import Setup
from agentevol.cli.trajectories.export import Env, Kind, MaxReward, MinReward, Policy, Run, Split, Task
from agentevol.cli.trajectories.tables import Iteration, OnlyPurpose, Table, open_table

if TYPE_CHECKING:
    from agentevol.data.judgements.feedback.asking import Asking, Outcome
    from agentevol.data.judgements.feedback.plans import Plan
    from agentevol.data.judgements.feedback.subjects import Subject
    from agentevol.data.judgements.judges.interface import ItemJudge
    from agentgym_store.store import Store, Where

FILTERS = ("env", "split", "kind", "run", "iteration", "purpose", "policy", "min_reward", "max_reward")

Judges = Annotated[
    list[str],
    typer.Option("--judge", help="openai:NAME[@URL], rule, rule:moves or replay:FILE; repeatable."),
]
Sets = Annotated[
    str | None,
    typer.Option(
        help="rubric, sotopia, or a file of JSON; default: rubric, for conversations sotopia, and for turns"
        " relevance, correctness and progress."
    ),
]
Episode = Annotated[list[str] | None, typer.Option(help="Only this episode; may be repeated.")]
Most = Annotated[int | None, typer.Option("--limit", min=1, help="At most this many new opinions a judge.")]
Turns = Annotated[bool, typer.Option("--turns", help="Score each turn, in place of the episode.")]
Pairs = Annotated[
    int | None, typer.Option(min=1, help="Compare up to this many pairs of episodes of each task.")
]
Probabilities = Annotated[
    bool, typer.Option("--probabilities", help="Of pairs: by the log-probabilities of the answers.")
]
PrinciplesFile = Annotated[
    Path | None,
    typer.Option("--principles", exists=True, dir_okay=False, help="Revise turns by these, one a line."),
]
HideOutcome = Annotated[
    bool, typer.Option("--hide-outcome", help="Without the last observation, which tells the result.")
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Print what would be asked, and stop.")]


def judge_stored(
    path: Table,
    judges: Judges,
    dimensions: Sets = None,
    turns: Turns = False,
    pairs: Pairs = None,
    probabilities: Probabilities = False,
    principles: PrinciplesFile = None,
    hide_outcome: HideOutcome = False,
    env: Env = None,
    split: Split = None,
    task: Task = None,
    kind: Kind = None,
    run: Run = None,
    iteration: Iteration = None,
    purpose: OnlyPurpose = None,
    policy: Policy = None,
    min_reward: MinReward = None,
    max_reward: MaxReward = None,
    episode: Episode = None,
    limit: Most = None,
    dry_run: DryRun = False,
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
    json: AsJson = False,
) -> None:
    """Write judges' scores of the episodes into the table of feedback.

    Each judge is asked about what it has not judged by this rubric. A failure is counted, and never a score;
    exit code 1 if there is one, and the same command asks about it again.

    Example: agentevol feedback judge runs/first --judge openai:NAME --split valid --hide-outcome

    Example: agentevol feedback judge runs/first --judge openai:NAME --pairs 4 --probabilities
    """
    given = dict(locals())
    _check(given)
    setup = Setup(**{name: value for name, value in given.items() if name in Setup.__dataclass_fields__})
    raise typer.Exit(_judged(path, setup, given))


def _check(given: Mapping[str, Any]) -> None:
    """Refuse options that have no effect together."""
    kinds = [name for name in ("turns", "pairs", "principles") if given[name]]
    if len(kinds) > 1:
        raise typer.BadParameter(f"--{kinds[0]} or --{kinds[1]}: run the command once for each")
    kind = kinds[0] if kinds else ""
    useless = {"pairs": ("dimensions", "samples"), "principles": ("dimensions", "samples", "hide_outcome")}
    defaults = {"dimensions": None, "samples": 1, "hide_outcome": False}
    for name in useless.get(kind, ()):
        if given[name] != defaults[name]:
            raise typer.BadParameter(f"--{name.replace('_', '-')} has no effect with --{kind}")
    if given["probabilities"] and kind != "pairs":
        raise typer.BadParameter("--probabilities has no effect without --pairs")


def _judged(path: str, setup: Setup, given: Mapping[str, Any]) -> int:
    """Ask every judge, and print what came of it; the exit code."""
    from agentevol.data.feedback.opinions import feedback_on
    from agentevol.data.judgements.feedback.plans import carry_out, plan
    from agentgym_store.urls import named

    store, table = open_table(path), feedback_on(named(path))
    where = _where(given)
    askings = [_asking(judge, setup, given) for judge in setup.panel().judges]
    subjects, records = _subjects(store, where, given), table.records()
    plans = [plan(one, subjects, records, given["limit"]) for one in askings]
    what = "pairs" if given["pairs"] else "turns" if given["turns"] or given["principles"] else "episodes"
    if given["dry_run"]:
        _show_plans(plans, what, as_json=given["json"])
        return 0
    outcomes: list[Outcome] = []
    for one in plans:
        with counting(f"{one.asking.origin.source}, of {len(one.left):,} {what}") as tell:
            outcomes.append(
                carry_out(
                    one,
                    store,
                    table,
                    concurrency=setup.concurrency,
                    timeout_s=setup.item_timeout_s,
                    tell=lambda found, tell=tell: tell(found.judged + found.failures.total()),
                )
            )
    figures = [] if what != "episodes" else _figures(plans, store, table.records(), where)
    _show(plans, outcomes, figures, what, as_json=given["json"])
    return 1 if any(one.failures for one in outcomes) else 0


def _where(given: Mapping[str, Any]) -> "Where":
    from agentgym_store.store import Where

    where = Where(**{name: given[name] for name in FILTERS})
    return replace(where, task_ids=given["task"] or None, ids=given["episode"] or None)


def _asking(judge: "ItemJudge", setup: Setup, given: Mapping[str, Any]) -> "Asking":
    """The kind of question that the options ask for. Raises `ConfigError`."""
    from agentevol.data.judgements.feedback.comparisons import Comparisons
    from agentevol.data.judgements.feedback.episodes import EpisodeScores
    from agentevol.data.judgements.feedback.principles import Principles, read_principles
    from agentevol.data.judgements.feedback.turns import TurnScores

    hide = given["hide_outcome"]
    if given["pairs"]:
        return Comparisons(judge, probabilities=given["probabilities"], hide_outcome=hide)
    if given["principles"]:
        return Principles(judge, read_principles(given["principles"]))
    if given["turns"]:
        return TurnScores(judge, setup.asked(), hide_outcome=hide)
    return EpisodeScores(judge, setup.asked(), hide_outcome=hide, timeout_s=setup.item_timeout_s)


def _subjects(store: "Store", where: "Where", given: Mapping[str, Any]) -> "list[Subject]":
    from agentevol.core.errors import ConfigError
    from agentevol.data.judgements.feedback.subjects import check_ids, episodes, pairs, turns

    check_ids(store, given["episode"] or ())
    if given["pairs"]:
        found = pairs(store, where, given["pairs"])
    elif given["turns"] or given["principles"]:
        found = turns(store, where)
    else:
        found = episodes(store, where)
    if not found:
        raise ConfigError(f"{store.place} has nothing to judge that matches: episodes need a return")
    return found


def _figures(
    plans: "Sequence[Plan]", store: "Store", records: Sequence[Any], where: "Where"
) -> list[dict[str, Any]]:
    from agentevol.data.judgements.feedback.figures import figures_of

    return [figures_of(records, one.asking.origin, store, where).model_dump() for one in plans]


def _show_plans(plans: "Sequence[Plan]", what: str, *, as_json: bool) -> None:
    told = [
        {
            "source": one.asking.origin.source,
            "rubric_version": one.asking.origin.version,
            what: one.chosen,
            "to judge": len(one.left),
            "calls at most": one.calls,
        }
        for one in plans
    ]
    if as_json:
        print_json([{name.replace(" ", "_"): value for name, value in one.items()} for one in told])
        return
    print_table(tuple(told[0]), [tuple(one.values()) for one in told])


def _show(
    plans: "Sequence[Plan]",
    outcomes: "Sequence[Outcome]",
    figures: Sequence[Mapping[str, Any]],
    what: str,
    *,
    as_json: bool,
) -> None:
    told = [
        {
            "source": one.asking.origin.source,
            "rubric_version": one.asking.origin.version,
            what: one.chosen,
            "judged": found.judged,
            "failed": dict(found.failures),
            "records": found.records + len(one.known.again),
            "usage": found.usage.model_dump(),
            **({"figures": figures[place]} if figures else {}),
        }
        for place, (one, found) in enumerate(zip(plans, outcomes, strict=True))
    ]
    if as_json:
        print_json(told)
        return
    header = ("source", "rubric", what, "judged", "failed", "records")
    print_table(
        header, [(*list(one.values())[:4], sum(one["failed"].values()), one["records"]) for one in told]
    )
    if figures:
        _show_figures(plans, figures)
    for one in outcomes:
        _show_failures(one)
        if one.usage.requests or one.usage.cached:
            print(usage_text(one.usage))


def _show_figures(plans: "Sequence[Plan]", figures: Sequence[Mapping[str, Any]]) -> None:
    header = ("source", "scores", "mean", "correlation with tokens", "won", "AUC for success")
    rows = [
        (
            plan.asking.origin.source,
            one["n"],
            _number(one["mean"]),
            _number(one["correlation_with_tokens"]),
            one["won"],
            _number(one["auc"]),
        )
        for plan, one in zip(plans, figures, strict=True)
    ]
    print_table(header, rows)


def _show_failures(outcome: "Outcome") -> None:
    if outcome.failures:
        print(", ".join(f"failed({kind}): {count:,}" for kind, count in sorted(outcome.failures.items())))
    for line in outcome.told:
        print(line)


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"
