"""Populations: launches of their members' runs, the choices among them, and the judgement of the result.

Each member is played by the one loop, up to the end of the present span. Every choice is a function of the
members' folders: a population that was killed repeats its choices, finishes what is missing, and ends equal.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

import polars as pl

from agentevol.config.population import PopulationConfig, Span, spans
from agentevol.config.run import RunConfig
from agentevol.core.protocols import Checkpoint
from agentevol.core.summaries import RunSummary
from agentevol.loop.population.judgement import RESULT, Judgement, clear_trials
from agentevol.loop.population.members import Leg, copied, first_legs, latest, leg_config
from agentevol.loop.population.ranking import Scores, Standing, ranked
from agentevol.loop.population.records import MemberRecord, PopulationRecord, SpanRecord, write_record
from agentevol.loop.state.context import RunContext
from agentevol.loop.state.progress import Progress
from agentevol.loop.state.run_folder import RunFolder
from agentevol.models.resolution import resolve
from agentevol.runs.launch import conclude, launch, running
from agentgym_store.store import Where

Launch = Callable[[RunFolder, Progress], RunSummary]
Running = Callable[[RunFolder, Progress], AbstractContextManager[RunContext]]


def evolve_population(
    folder: RunFolder, progress: Progress, launch_member: Launch = launch, judging: Running = running
) -> RunSummary:
    """Run, or finish, the population in `folder`; its summary has the start and the result. `launch_member`
    plays a member's run, `judging` starts the processes that judge the result.
    """
    config, population = folder.config, folder.config.population
    if population is None:
        raise ValueError(f"{folder.path} is no population")
    if folder.summaries.of(RESULT) is not None:
        return _concluded(folder)
    each = config.explore.tasks * config.explore.samples
    planned = spans(population, config.iterations, each)
    legs, record = first_legs(config, population), PopulationRecord()
    last = list[Leg]()
    for number, span in enumerate(planned):
        for leg in legs:
            _play(config, folder.path, leg, span, planned[-1].until, progress, launch_member)
        standings = ranked({leg.name: _scores(config, folder.path, leg, span) for leg in legs})
        by_name = {leg.name: leg for leg in legs}
        last = [by_name[standing.member] for standing in standings]
        more = planned[number + 1] if number + 1 < len(planned) else None
        legs = _following(config, population, folder.path, last, standings, span, more)
        record = _noted(config, record, span, last, standings, legs, more)
        write_record(folder.path, record)
        progress.say(f"population, after {span.until} iterations: {standings[0].member} is the best")
    _judge(folder, population, [_weights(folder.path, leg, planned[-1]) for leg in last], record, last,
           progress, judging)  # fmt: skip
    return _concluded(folder)


def _concluded(folder: RunFolder) -> RunSummary:
    clear_trials(folder)
    summary = folder.summaries.run()
    conclude(folder.path, summary)
    return summary


def _play(
    config: RunConfig,
    place: Path,
    leg: Leg,
    span: Span,
    most: int,
    progress: Progress,
    launch_member: Launch,
) -> None:
    """Play a member's run to the end of the span, unless it has been."""
    path, limit = leg.folder(place), span.until - leg.begun
    own = leg_config(config, leg).model_copy(update={"iterations": most})
    if not (path / "config.toml").is_file():
        path.parent.mkdir(exist_ok=True)
        RunFolder.create(path, own, resolve(own.base)).close()
    with RunFolder.resume(path, iterations=limit) as run:
        if run.summaries.of(limit) is None:
            progress.say(f"population, member {leg.name}: to iteration {limit} of its run")
            launch_member(run, progress)
        elif not (path / "best.json").is_file():  # killed in its last moment
            conclude(path, run.summaries.run())


def _scores(config: RunConfig, place: Path, leg: Leg, span: Span) -> Scores:
    """Success or return of the member's latest weights on its validation tasks."""
    path = leg.folder(place)
    number = _weights(place, leg, span).version
    with RunFolder.resume(path) as run:
        where = Where(purpose="evaluate", iteration=number, split=config.validate_split)
        has_return = pl.col("total_reward").is_not_null() & (pl.col("turn_count") > 0)
        measure = pl.col("total_reward" if config.evaluate.measure == "reward" else "succeeded")
        by_task = run.store.scan(where).filter(has_return).group_by("task_id")
        found = by_task.agg(measure.cast(pl.Float64).mean().alias("score")).collect()
    return dict(zip(found["task_id"].to_list(), found["score"].to_list(), strict=True))


def _weights(place: Path, leg: Leg, span: Span) -> Checkpoint:
    path = leg.folder(place)
    finished = [int(file.stem) for file in (path / "iterations").glob("[0-9]*.json")]
    return latest(path, finished, span.until - leg.begun)


def _following(
    config: RunConfig,
    population: PopulationConfig,
    place: Path,
    order: Sequence[Leg],
    standings: Sequence[Standing],
    span: Span,
    more: Span | None,
) -> list[Leg]:
    """Runs of the next span, of members in the `order` of their standings; all of them after the last one."""
    if more is None or population.rule == "halving":
        return list(order if more is None else order[: more.members])
    best, weights = order[0], _weights(place, order[0], span)
    worst = [
        standing.member
        for standing in standings[-max(1, population.size // 4) :]
        if standing.mean < standings[0].mean
    ]
    return [
        copied(leg, best, weights, span.until, config.seed) if leg.name in worst else leg for leg in order
    ]


def _noted(
    config: RunConfig,
    record: PopulationRecord,
    span: Span,
    order: Sequence[Leg],
    standings: Sequence[Standing],
    following: Sequence[Leg],
    more: Span | None,
) -> PopulationRecord:
    """The record with the members of one more span."""
    names = {leg.name for leg in following}
    copies = {leg.member for leg in following if more is not None and leg.begun == span.until}
    members = tuple(
        MemberRecord(
            run=leg.name,
            seed=leg_config(config, leg).seed,
            learning_rate=leg.rate,
            selection=leg.selection,
            standing=standing,
            goes_on=leg.name in names,
            copies=order[0].name if leg.member in copies else None,
        )
        for leg, standing in zip(order, standings, strict=True)
    )
    one = SpanRecord(until=span.until, members=members)
    return record.model_copy(update={"spans": (*record.spans, one)})


def _judge(
    folder: RunFolder,
    population: PopulationConfig,
    weights: Sequence[Checkpoint],
    record: PopulationRecord,
    order: Sequence[Leg],
    progress: Progress,
    judging: Running,
) -> None:
    """Make the result of the members' weights, best first, and judge it beside the start."""
    with judging(folder, progress) as context:
        judgement = Judgement(context)
        out, kept, trials = judgement.result(weights, population.merge)
        merged = tuple(order[place].name for place in kept)
        done = {"merged": merged, "trials": tuple(trials)}
        write_record(folder.path, record.model_copy(update=done))
        judgement.judge(0, context.base)
        judgement.judge(RESULT, out)
