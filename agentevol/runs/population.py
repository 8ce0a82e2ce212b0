"""Populations: launches of their members' runs, the choices among them, and the judgement of the result.

Each member is played by the one loop, up to the end of the present span. Every choice is a function of the
members' folders: a population that was killed repeats its choices, finishes what is missing, and ends equal.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass

import polars as pl

from agentevol.config.self_evolution.population import PopulationConfig, Span, spans
from agentevol.core.protocols import Checkpoint
from agentevol.core.summaries import RunSummary
from agentevol.loop.population.judgement import RESULT, Judgement, clear_trials
from agentevol.loop.population.members import Leg, copied, first_legs, latest, leg_config
from agentevol.loop.population.ranking import Scores, Standing, ranked
from agentevol.loop.population.records import MemberRecord, PopulationRecord, SpanRecord, write_record
from agentevol.loop.state.context import RunContext
from agentevol.loop.state.held_out_tasks import splits_of
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
    settings = folder.config.population
    if settings is None:
        raise ValueError(f"{folder.path} is no population")
    if folder.summaries.of(RESULT) is None:
        population = _Population(folder, settings, progress)
        order, record = population.played(launch_member)
        population.judged(order, record, judging)
    clear_trials(folder)
    summary = folder.summaries.run()
    conclude(folder.path, summary)
    return summary


@dataclass(frozen=True)
class _Population:
    """Members of one population, and the choices among them."""

    folder: RunFolder
    settings: PopulationConfig
    progress: Progress

    @property
    def spans(self) -> list[Span]:
        """Spans of the whole population."""
        explore = self.folder.config.explore
        return spans(self.settings, self.folder.config.iterations, explore.tasks * explore.samples)

    def played(self, launch_member: Launch) -> tuple[list[Leg], PopulationRecord]:
        """Runs of the last span, the best first, and the record of all choices."""
        planned = self.spans
        legs, record = first_legs(self.folder.config, self.settings), PopulationRecord()
        order = list[Leg]()
        for span, more in zip(planned, [*planned[1:], None], strict=True):
            for leg in legs:
                self._play(leg, span, planned[-1].until, launch_member)
            standings = ranked({leg.name: self._scores(leg, span) for leg in legs})
            by_name = {leg.name: leg for leg in legs}
            order = [by_name[standing.member] for standing in standings]
            legs = self._following(order, standings, span, more)
            one = self._noted(span, standings, by_name, legs, more)
            record = record.model_copy(update={"spans": (*record.spans, one)})
            write_record(self.folder.path, record)
            best = standings[0].member
            self.progress.say(f"population, after {span.until} iterations: {best} is the best")
        return order, record

    def judged(self, order: Sequence[Leg], record: PopulationRecord, judging: Running) -> None:
        """Make the result of the weights of the last members, the best first, and judge it beside the
        start.
        """
        last = self.spans[-1]
        weights = [self._weights(leg, last) for leg in order]
        with judging(self.folder, self.progress) as context:
            judgement = Judgement(context)
            out, kept, trials = judgement.result(weights, self.settings.merge)
            merged = tuple(order[place].name for place in kept)
            done = {"merged": merged, "trials": tuple(trials)}
            write_record(self.folder.path, record.model_copy(update=done))
            judgement.judge(0, context.base)
            judgement.judge(RESULT, out)

    def _play(self, leg: Leg, span: Span, most: int, launch_member: Launch) -> None:
        """Play a member's run to the end of the span, unless it has been."""
        path, limit = leg.folder(self.folder.path), span.until - leg.begun
        own = leg_config(self.folder.config, leg).model_copy(update={"iterations": most})
        if not (path / "config.toml").is_file():
            path.parent.mkdir(exist_ok=True)
            RunFolder.create(path, own, resolve(own.base)).close()
        with RunFolder.resume(path, iterations=limit) as run:
            if run.summaries.of(limit) is None:
                self.progress.say(f"population, member {leg.name}: to iteration {limit} of its run")
                launch_member(run, self.progress)
            elif not (path / "best.json").is_file():  # killed in its last moment
                conclude(path, run.summaries.run())

    def _scores(self, leg: Leg, span: Span) -> Scores:
        """Success or return of the member's latest weights on its validation tasks."""
        config, number = self.folder.config, self._weights(leg, span).version
        with RunFolder.resume(leg.folder(self.folder.path)) as run:
            where = Where(purpose="evaluate", iteration=number, split=splits_of(config, "validation"))
            has_return = pl.col("total_reward").is_not_null() & (pl.col("turn_count") > 0)
            measure = pl.col("total_reward" if config.evaluate.measure == "reward" else "succeeded")
            task = pl.format("{}/{}", "env", "task_id").alias("task")
            by_task = run.store.scan(where).filter(has_return).group_by(task)
            found = by_task.agg(measure.cast(pl.Float64).mean().alias("score")).collect()
        return dict(zip(found["task"].to_list(), found["score"].to_list(), strict=True))

    def _weights(self, leg: Leg, span: Span) -> Checkpoint:
        """Weights of a member at the end of a span."""
        path = leg.folder(self.folder.path)
        finished = [int(file.stem) for file in (path / "iterations").glob("[0-9]*.json")]
        return latest(path, finished, span.until - leg.begun)

    def _following(
        self, order: Sequence[Leg], standings: Sequence[Standing], span: Span, more: Span | None
    ) -> list[Leg]:
        """Runs of the next span, of members in the `order` of their standings; all of them after the last
        one.
        """
        if more is None or self.settings.rule == "halving":
            return list(order if more is None else order[: more.members])
        best, weights = order[0], self._weights(order[0], span)
        worst = [
            standing.member
            for standing in standings[-max(1, self.settings.size // 4) :]
            if standing.mean < standings[0].mean
        ]
        seed = self.folder.config.seed
        return [copied(leg, best, weights, span.until, seed) if leg.name in worst else leg for leg in order]

    def _noted(
        self,
        span: Span,
        standings: Sequence[Standing],
        legs: Mapping[str, Leg],
        following: Sequence[Leg],
        more: Span | None,
    ) -> SpanRecord:
        """The members of a span, by name, and their standings."""
        names = {leg.name for leg in following}
        copies = {leg.member for leg in following if more is not None and leg.begun == span.until}
        members = tuple(
            MemberRecord(
                run=leg.name,
                seed=leg_config(self.folder.config, leg).seed,
                learning_rate=leg.rate,
                selection=leg.selection,
                standing=standing,
                goes_on=leg.name in names,
                copies=standings[0].member if leg.member in copies else None,
            )
            for standing in standings
            for leg in [legs[standing.member]]
        )
        return SpanRecord(until=span.until, members=members)
