"""The steps of the loop, each of them safe to repeat: what is on disk is not done again.

Explored episodes are in the table, checkpoints in their folders, figures in `iterations/`. A stage that finds
its result there returns it; one that finds half of it does the other half.
"""

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from statistics import fmean

from agentevol.cluster import Cluster
from agentevol.config.run import RunConfig
from agentevol.errors import RunStopped
from agentevol.learn.algorithms import objective
from agentevol.learn.config import LearnConfig
from agentevol.learn.fitting import NothingToLearn
from agentevol.loop.controllers import kl_coefficient, multipliers, turns_allowed
from agentevol.loop.demonstrations import demonstrate, demonstration_rows
from agentevol.loop.episodes import Episodes
from agentevol.loop.evaluate import endings, summarise
from agentevol.loop.explore import EpisodeRequest
from agentevol.loop.remarks import remarks
from agentevol.loop.retention import play_protected, verdict_on
from agentevol.loop.select import fresh, informative, select
from agentevol.loop.solved import group_figures, selection_figures, sentence
from agentevol.progress import Progress
from agentevol.protocols import Anchor, Checkpoint, Sampling, TrainingSequence
from agentevol.report.curves import write_curves
from agentevol.report.summary import EvaluationSummary, IterationSummary, RunSummary, best
from agentevol.rewards.judging import is_exploited, judged, judged_figures, rewarded
from agentevol.rewards.process_heads import agreements, counted_by_head, pooled_by_head, process_rewards
from agentevol.rewards.reward_model import rows_to_judge
from agentevol.rewards.shaping import episodes_of, length_correlation, shaped
from agentevol.rewards.values import Counted, chosen_states, continuations, is_mismatch
from agentevol.rows.examples import rows_of, valued
from agentevol.rows.memory import Old, copied, replayed, retained_episodes, retained_rows
from agentevol.run_folder import RunFolder, append_metrics
from agentevol.tasks import drawn, spread
from agentgym_store.records import Trajectory


class Stages:
    """One run's steps. `url` is the environment server's."""

    def __init__(
        self, folder: RunFolder, cluster: Cluster, url: str, base: Checkpoint, progress: Progress
    ) -> None:
        self.config: RunConfig = folder.config
        self._folder, self._cluster, self._url = folder, cluster, url
        self._base, self._progress = base, progress
        explore = self.config.explore
        self._sampling = Sampling(temperature=explore.temperature, max_new_tokens=explore.max_new_tokens)
        self._objective = objective(self.config.learn.algorithm, self.config.learn.options)
        self._episodes = Episodes(folder, cluster, url, base, progress)
        self._draft: dict[int, IterationSummary] = {}

    def base(self) -> Checkpoint:
        """The policy that the run begins with; what is retained is there before anything is played."""
        self._retained()
        return self._base

    def explore(self, iteration: int, policy: Checkpoint) -> list[Trajectory]:
        """K sampled episodes of every task of this iteration, from the table, in the order of their ids."""
        if self._folder.summary(iteration) is not None:
            return self._episodes.of("explore", iteration)
        tasks, requested, replayed, rounds = self.config.explore.tasks, 0, 0, 0
        explored: list[Trajectory] = []
        limit = turns_allowed(self.config.horizon, iteration, self._earlier(iteration))
        if limit is not None:
            self._progress.say(f"iteration {iteration}: episodes of at most {limit} turns")
        for _ in range(1 + self.config.explore.resample):
            requests = self._explored(iteration, requested // self.config.explore.samples, tasks, limit)
            with self._timed(iteration, "explore"):
                played = self._episodes.play("explore", iteration, policy, requests, self._sampling)
            requested, replayed = requested + len(requests), replayed + played.replayed
            rounds += 1
            explored = self._episodes.of("explore", iteration)
            self._episodes.stop_if_too_many_failed(explored)
            tasks = self.config.explore.tasks - len({t.task_id for t in informative(explored)})
            if tasks <= 0:
                break
        self._note(iteration, requested=requested, explored=endings(explored), replayed=replayed)
        if self.config.explore.resample:
            self._note(iteration, selection={"gen_batches_used": float(rounds), **group_figures(explored)})
        return explored

    def select(self, iteration: int, explored: Sequence[Trajectory]) -> list[TrainingSequence]:
        """Rows to learn from: the selection of this iteration, joined with what `select.merge` says."""
        if self._folder.summary(iteration) is not None:
            return []
        rows = self._rows(iteration, explored)
        learnt = {row.trajectory_id for row in rows if row.weight > 0 and row.mask.any()}
        chosen = [trajectory for trajectory in explored if trajectory.id in learnt]
        figures = selection_figures(explored, chosen, self._episodes.solved_before(iteration))
        self._progress.say(f"iteration {iteration}: {sentence(figures)}")
        match self.config.select.merge:
            case "replay":
                old = self._old(iteration) + self._retained()
                environment = self.config.environment.name
                seed = self.config.seed * 1000 + iteration
                rows += replayed(rows, old, environment, self.config.replay, seed)
            case "cumulative":
                rows += [one.row for one in self._old(iteration)]
            case "expert":
                rows += self._demonstrations()
            case "none":
                pass
        known = self._draft[iteration].selection if iteration in self._draft else {}
        self._note(iteration, selected=len(chosen), rows=len(rows), selection={**known, **figures})
        return rows

    def shape(
        self,
        iteration: int,
        policy: Checkpoint,
        explored: Sequence[Trajectory],
        rows: list[TrainingSequence],
    ) -> list[TrainingSequence]:
        """The rows with rewards of single turns (`agentevol.rewards.shaping`) or of a reward model
        (`agentevol.rewards.judging`); as they are without `process.*` and `reward.*`.
        """
        process = self.config.process
        if self._folder.checkpoint(iteration).path.is_dir():
            return rows
        if self.config.reward.model is not None:
            return self._judged(iteration, rows)
        if not process.on:
            return rows
        counted = self._count_values(iteration, policy, explored)
        values_of = (one.values for one in counted.values())
        labelled = valued(explored, *values_of, kind=self.config.select.rows)
        start, model = self._folder.process(iteration - 1), self._folder.process(iteration)
        self._learn_values(iteration, start, model, labelled)
        values = self._cluster.values(model, rows)
        steps = process_rewards(
            explored, episodes_of(rows), values, process.model_heads, process.rules, discount=process.discount
        )
        # the model of the iteration before has not seen these labels
        held_out = agreements(self._cluster.values(start, labelled), counted)
        figures = {
            **next(iter(counted.values())).figures,
            **agreements(self._cluster.values(model, labelled), counted),
            **{f"{name}_before": value for name, value in held_out.items()},
            "process_length_correlation": length_correlation(steps),
        }
        self._folder.note_process(iteration, {k: v for k, v in figures.items() if math.isfinite(v)})
        return shaped(rows, steps, alpha=process.alpha, beta=process.beta)

    def learn(self, iteration: int, start: Checkpoint, rows: Sequence[TrainingSequence]) -> Checkpoint:
        """The checkpoint of this iteration. Where nothing can be learnt from, it is the one before."""
        checkpoint = self._folder.checkpoint(iteration)
        if self.config.protect and not checkpoint.path.is_dir():
            checkpoint = self._folder.candidate(iteration)
        if checkpoint.path.is_dir():
            if self._folder.summary(iteration) is None:
                self._note_learning(iteration, self._folder.metrics_of(self._folder.update(iteration)))
            return checkpoint
        prices = self._prices(iteration)
        with self._timed(iteration, "learn"), self._progress.learning(iteration) as step:
            try:
                report = self._cluster.learn(
                    start,
                    rows,
                    checkpoint.path,
                    seed=self.config.seed * 1000 + iteration,
                    version=iteration,
                    reference=self._base if self.config.learn.reference == "base" else None,
                    multipliers=prices,
                    anchor=self._anchor(),
                    learn=self._learn_config(iteration),
                    table_version=self._folder.store.version(),
                    progress=step,
                )
            except NothingToLearn as reason:
                self._progress.say(f"iteration {iteration}: no update, {reason}")
                self._note_learning(iteration, {})
                return self._folder.repeat(self._folder.checkpoint(iteration - 1), checkpoint)
        for remark in remarks(report.metrics):
            self._progress.say(f"iteration {iteration}: {remark}")
        self._note_learning(iteration, report.metrics)
        return checkpoint

    def accept(self, iteration: int, update: Checkpoint) -> Checkpoint:
        """The checkpoint of this iteration: the update, or the one before where it forgot (`protect.*`)."""
        if not self.config.protect or self._folder.summary(iteration) is not None:
            return update
        earlier = self._earlier(iteration)
        with self._timed(iteration, "protect"):
            after = play_protected(self._episodes, self.config, iteration, update)
        verdict = verdict_on(self.config.protect, earlier[0].protected, after, earlier)
        learnt = {**self._draft[iteration].learn, **verdict.figures}
        self._note(iteration, protected=after, rejected=verdict.reason, learn=learnt)
        if verdict.reason is None:
            return self._folder.accept(iteration)
        self._progress.say(f"iteration {iteration}: update rejected, {verdict.reason}")
        return self._folder.reject(iteration)

    def evaluate(self, iteration: int, policy: Checkpoint) -> None:
        """Play the held-out tasks and the validation tasks, then declare the iteration finished."""
        if self._folder.summary(iteration) is not None:
            return
        config = self.config.evaluate
        if self.config.protect and iteration == 0:
            with self._timed(iteration, "protect"):
                before = play_protected(self._episodes, self.config, iteration, policy)
            self._note(iteration, protected=before)
        test = self._evaluation(iteration, policy, self.config.evaluate_split, config.episodes)
        validation = self._evaluation(
            iteration, policy, self.config.validate_split, config.validation_episodes
        )
        self._note(
            iteration,
            checkpoint=policy.path.name,
            table_version=self._folder.store.version(),
            evaluation=test,
            validation=validation,
            proxy=self._proxy(iteration),
        )
        summary = self._draft.pop(iteration)
        write_curves(self._folder.path / "tensorboard", summary)
        self._folder.finish(summary)
        append_metrics(self._folder.path, summary.model_dump(mode="json"))
        self._progress.finished(summary)

    def has_stalled(self, iteration: int) -> bool:
        """Whether `evaluate.patience` iterations have passed without a better checkpoint on the validation
        tasks, or the reward model is exploited (`reward.patience`).
        """
        if self._is_exploited(iteration):
            return True
        patience = self.config.evaluate.patience
        if patience is None:
            return False
        leader = best(self._folder.run_summary())
        return leader is not None and iteration - leader.iteration >= patience

    def finish(self) -> RunSummary:
        """Point to the best checkpoint and write the report."""
        summary = self._folder.run_summary()
        self._folder.conclude(summary)
        return summary

    def _evaluation(
        self, iteration: int, policy: Checkpoint, split: str, episodes: int | None
    ) -> EvaluationSummary:
        config = self.config.evaluate
        tasks = self._episodes.tasks(split, config.difficulty, spread(episodes))
        purpose = f"evaluate {split}"
        requests = [self._episodes.request("evaluate", iteration, task, 0) for task in tasks]
        sampling = Sampling(temperature=config.temperature, max_new_tokens=self.config.explore.max_new_tokens)
        with self._timed(iteration, purpose):
            self._episodes.play("evaluate", iteration, policy, requests, sampling)
        wanted = {request.id for request in requests}
        evaluated = [t for t in self._episodes.of("evaluate", iteration) if t.id in wanted]
        self._episodes.stop_if_too_many_failed(evaluated)
        return summarise(evaluated, split)

    def _explored(self, iteration: int, first: int, count: int, limit: int | None) -> list[EpisodeRequest]:
        """Requests of `count` tasks of this iteration, from its task number `first` on."""
        config = self.config.explore
        most = config.tasks * (1 + config.resample)  # of any iteration, so that none meets another's tasks
        choice = drawn(self.config.seed, (iteration - 1) * most + first, count)
        return [
            self._episodes.request("explore", iteration, task, attempt, limit)
            for task in self._episodes.tasks(self.config.explore_split, config.difficulty, choice)
            for attempt in range(config.samples)
        ]

    def _prices(self, iteration: int) -> dict[str, float]:
        """What a unit of each constrained cost is worth in this iteration."""
        constraints = self.config.constraints
        earlier = [self._episodes.of("explore", m) for m in range(1, iteration)] if constraints else []
        found = multipliers(constraints, earlier)
        for name, multiplier in sorted(found.items()):
            note = ", its maximum (constraint_infeasible)" if multiplier.infeasible else ""
            self._progress.say(f"iteration {iteration}: price of {name} {multiplier.value:.3g}{note}")
        return {name: multiplier.value for name, multiplier in found.items()}

    def _learn_config(self, iteration: int) -> LearnConfig:
        """How this iteration learns: as configured, but for a KL coefficient that follows its target."""
        learn, target = self.config.learn, self.config.kl
        if target is None:
            return learn
        begun = float(self._objective.options["kl_coef"])
        coefficient = kl_coefficient(begun, target, self._earlier(iteration))
        self._progress.say(f"iteration {iteration}: kl_coef {coefficient:.3g}")
        return learn.model_copy(update={"options": {**learn.options, "kl_coef": coefficient}})

    def _earlier(self, iteration: int) -> list[IterationSummary]:
        found = [self._folder.summary(m) for m in range(iteration)]
        return [summary for summary in found if summary is not None]

    def _judged(self, iteration: int, rows: Sequence[TrainingSequence]) -> list[TrainingSequence]:
        """The rows with what the reward model says in place of the world's rewards, or beside them."""
        config, model = self.config.reward, self._folder.reward_model
        with self._timed(iteration, "judge"):
            found = judged(model.path, self._cluster.scores(model, rows), config)
        self._folder.note_process(iteration, judged_figures(rows, found))
        return rewarded(rows, found, alpha=config.alpha, beta=config.beta)

    def _proxy(self, iteration: int) -> float | None:
        """What the reward model says of the validation episodes, on average."""
        if self.config.reward.model is None:
            return None
        played = [
            t for t in self._episodes.of("evaluate", iteration) if t.split == self.config.validate_split
        ]
        model = self._folder.reward_model
        found = judged(model.path, self._cluster.scores(model, rows_to_judge(played)), self.config.reward)
        return fmean(one.score for one in found.values()) if found else None

    def _is_exploited(self, iteration: int) -> bool:
        """Whether the reward model's scores rose while the returns fell, up to this iteration."""
        patience = self.config.reward.patience
        if self.config.reward.model is None or patience is None:
            return False
        earlier = self._earlier(iteration + 1)
        if not is_exploited(earlier, patience):
            return False
        kl = earlier[-1].learn.get("kl")
        self._progress.say(
            f"iteration {iteration}: the reward model's score rose and the return fell {patience} times in a"
            f" row, so the run stops; KL {'not known' if kl is None else format(kl, '.3g')}"
        )
        return True

    def _count_values(
        self, iteration: int, policy: Checkpoint, explored: Sequence[Trajectory]
    ) -> dict[str, Counted]:
        """By head: values of some states of the explored episodes, by playing on from them, or of those that
        several of them passed through.
        """
        config = self.config.process
        if config.pooled:
            return pooled_by_head(explored, list(config.model_heads))
        states = chosen_states(explored, share=config.share, per_episode=config.states, seed=self.config.seed)
        requests = [
            request
            for state in states
            for request in continuations(
                state, config.continuations, self.config.seed, self.config.environment.max_turns
            )
        ]
        with self._timed(iteration, "value"):
            self._episodes.play("value", iteration, policy, requests, self._sampling)
        played = self._episodes.of("value", iteration)
        self._episodes.stop_if_too_many_failed([t for t in played if not is_mismatch(t)])
        counted = counted_by_head(states, explored, played, config.continuations, list(config.model_heads))
        if states and all(one.mismatched == len(states) for one in counted.values()):
            raise RunStopped(
                f"no state of {self.config.environment.name} was reached again by the same seed and actions:"
                " process.continuations needs a world that can be replayed; process.pooled does not"
            )
        return counted

    def _learn_values(
        self, iteration: int, start: Checkpoint, model: Checkpoint, rows: Sequence[TrainingSequence]
    ) -> None:
        """Train the process reward model of this iteration; without a label it is the one before."""
        if model.path.is_dir():
            return
        what = "learn values"
        with self._timed(iteration, what), self._progress.learning(iteration, what) as step:
            try:
                self._cluster.learn(
                    start,
                    rows,
                    model.path,
                    seed=self.config.seed * 1000 + iteration,
                    version=iteration,
                    reference=None,
                    table_version=self._folder.store.version(),
                    progress=step,
                    learn=self.config.process_learn,
                )
            except NothingToLearn as reason:
                self._progress.say(f"iteration {iteration}: no new values, {reason}")
                self._folder.repeat(start, model)

    def _rows(self, iteration: int, explored: Sequence[Trajectory]) -> list[TrainingSequence]:
        seed = self.config.seed * 1000 + iteration
        chosen = select(explored, self.config.select, seed)
        if self.config.explore.resample:
            chosen = informative(chosen)
        try:
            return rows_of(chosen, self._objective, self.config, seed)
        except NothingToLearn as reason:
            self._progress.say(f"iteration {iteration}: {reason}")
            return []

    def _old(self, iteration: int) -> list[Old]:
        """Rows of what the run has learnt before this iteration: of earlier ones, of demonstrations."""
        rows: list[TrainingSequence] = []
        stale = 0
        for earlier in range(1, iteration):
            explored = self._episodes.of("explore", earlier)
            current = fresh(explored, iteration - 1, self.config.select.max_lag)
            stale += len(explored) - len(current)
            rows += self._rows(earlier, current)
        self._note(iteration, stale=stale)
        environment = self.config.environment.name
        return [Old(environment, row) for row in (*rows, *self._demonstrations())]

    def _retained(self) -> list[Old]:
        """Rows of `retained.data`, whose episodes are copied into the run's own table once."""
        config = self.config
        if config.retained.data is None:
            return []
        there = self._episodes.of("retain", 0)
        if not there:
            there = copied(retained_episodes(config), config.name)
            commit = {"run": config.name, "purpose": "retain", "first": there[0].id}
            self._folder.store.append(there, commit=commit)
        return retained_rows(there, self._objective, config, self._base)

    def _anchor(self) -> Anchor:
        """What learning holds on to, with rows for the Fisher information where it is asked for."""
        if self.config.learn.ewc is None:
            return Anchor(self._base)
        rows = [*self._demonstrations(), *(one.row for one in self._retained())]
        return Anchor(self._base, rows, self._folder.path / "ewc.safetensors")

    def _demonstrations(self) -> list[TrainingSequence]:
        config = self.config
        if not config.demonstrations.tasks:
            return []
        shown = self._episodes.of("demonstrate", 0)
        if len(shown) < config.demonstrations.tasks:
            choice = drawn(config.seed, 0, config.demonstrations.tasks)
            tasks = self._episodes.tasks(config.explore_split, config.explore.difficulty, choice)
            there = {t.id for t in shown}
            requests = [self._episodes.request("demonstrate", 0, task, 0) for task in tasks]
            played = demonstrate(config.environment, self._url, [r for r in requests if r.id not in there])
            if played:
                commit = {"run": config.name, "purpose": "demonstrate", "first": played[0].id}
                self._folder.store.append(played, commit=commit)
            shown = self._episodes.of("demonstrate", 0)
        return demonstration_rows(shown, self._base, config)

    def _note(self, iteration: int, **values: object) -> None:
        draft = self._draft.get(iteration) or IterationSummary(
            iteration=iteration, checkpoint="", table_version=0
        )
        self._draft[iteration] = draft.model_copy(update=values)

    def _note_learning(self, iteration: int, figures: Mapping[str, float | None]) -> None:
        found = {**self._folder.process_figures(iteration), **figures}
        metrics = {name: value for name, value in found.items() if value is not None and math.isfinite(value)}
        self._note(iteration, learn=metrics, trained_tokens=int(metrics.get("tokens_trained", 0)))

    @contextmanager
    def _timed(self, iteration: int, phase: str) -> Iterator[None]:
        began = time.perf_counter()
        yield
        seconds = dict(self._draft[iteration].seconds) if iteration in self._draft else {}
        self._note(
            iteration, seconds={**seconds, phase: seconds.get(phase, 0.0) + time.perf_counter() - began}
        )
