"""Stages of the training loop, each safe to repeat: results on disk are reused.

Explored episodes are in the table, checkpoints in their folders, metrics in `iterations/`. A stage that finds
its result there returns it; one that finds a part of it completes the rest.
"""

from collections.abc import Mapping, Sequence
from functools import partial

from agentevol.cluster.cluster import Cluster
from agentevol.config.learner import LearnConfig
from agentevol.config.run import RunConfig
from agentevol.core.algorithms.registry import objective
from agentevol.core.protocols import Checkpoint, LearnerJob, TrainingSequence
from agentevol.core.splits import spread
from agentevol.core.summaries import EvaluationSummary, RunSummary, best
from agentevol.data.composition import learnt_figures, staleness, version_lag
from agentevol.data.selection.statistics import outcomes, selection_figures, sentence, since_previous
from agentevol.learn.batches.trainable_sequences import NothingToLearn
from agentevol.loop.control.controllers import kl_coefficient, price_figures
from agentevol.loop.control.diagnostics import remarks
from agentevol.loop.control.lagrange_multipliers import Prices
from agentevol.loop.stages.acceptance import play_protected, verdict_on
from agentevol.loop.stages.async_exploration import AsyncExploration
from agentevol.loop.stages.cloning import Cloning
from agentevol.loop.stages.data_mixture import DataMixture
from agentevol.loop.stages.exploration import Exploration
from agentevol.loop.stages.interpolation_search import WHOLE, best_share, tried
from agentevol.loop.stages.learned_rewards import Rewarding
from agentevol.loop.state.cache import CacheKeys
from agentevol.loop.state.episodes import Episodes
from agentevol.loop.state.manifest_writer import ManifestWriter
from agentevol.loop.state.progress import Progress
from agentevol.loop.state.run_folder import RunFolder, append_metrics
from agentevol.loop.state.summary_builder import SummaryBuilder
from agentevol.report.tensorboard import write_curves
from agentevol.rollout.faults import FaultLog
from agentevol.rollout.metrics import compared, summarise
from agentgym_store.records import Trajectory


class Stages:
    """Stages of one run. `url` is the environment server's."""

    def __init__(
        self,
        folder: RunFolder,
        cluster: Cluster,
        url: str,
        base: Checkpoint,
        progress: Progress,
        faults: FaultLog | None = None,
    ) -> None:
        self.config: RunConfig = folder.config
        self._faults = faults or FaultLog()
        self._folder, self._cluster = folder, cluster
        self._base, self._progress = base, progress
        self._objective = objective(self.config.learn.algorithm, self.config.learn.options)
        self._ahead = AsyncExploration(self.config.rollout.rounds_ahead, self.config.iterations)
        self._episodes = Episodes(folder, cluster, url, base, progress, self._ahead.given_up)
        self._drafts = SummaryBuilder()
        self._rewarding = Rewarding(folder, cluster, self._episodes, self._drafts, progress)
        keys = CacheKeys(self.config, base)
        self._sources = DataMixture(folder, url, base, self._episodes, self._drafts, progress, keys)
        self._prices = Prices(folder.path / "prices", self.config, self._episodes, keys)
        self._ledger = ManifestWriter(folder)
        self._cloning = Cloning(folder, cluster, self._sources, self._drafts, self._ledger, progress)
        self._exploring = Exploration(folder, self._episodes, self._drafts, self._ledger, progress)

    def base(self) -> Checkpoint:
        """Model that the run begins with; retained episodes are copied before anything is played."""
        self._sources.retained()
        self._sources.probe()
        return self._base

    def clone(self, base: Checkpoint) -> Checkpoint:
        """Policy of the first round: the base, cloned where `demonstrations.clone` says so."""
        return self._cloning.policy(base)

    def update(self, iteration: int, policy: Checkpoint) -> None:
        """Load the weights of this iteration into the engines, where they will sample again."""
        if self._folder.summary(iteration) is None:
            with self._drafts.timed(iteration, "update"):
                self._episodes.load(policy)
        elif iteration < self.config.iterations and self._folder.summary(iteration + 1) is None:
            self._episodes.load(policy)  # a resumed run

    def explore(self, iteration: int, policy: Checkpoint) -> list[Trajectory]:
        """K sampled episodes of every task of this iteration, from the table, in the order of their ids.

        Empty for an iteration that has finished: no further step reads its episodes.
        """
        if self._folder.summary(iteration) is not None:
            return []
        if iteration not in self._ahead:
            if self.config.rollout.mode == "one_step_off" and iteration > 1:  # a resumed run
                policy = self._folder.checkpoint(iteration - 2)
            return self._exploring.round(iteration, policy)
        with self._drafts.timed(iteration, "wait"):
            return self._ahead.episodes(iteration)

    def explore_ahead(self, iteration: int, policy: Checkpoint) -> None:
        """Begin later rounds that may be explored while this one is trained on (`rollout.*`)."""
        rounds = self._ahead.missing(iteration)
        if not rounds or self._folder.summary(iteration) is not None:
            return
        for number in rounds:
            self._ahead.begin(number, partial(self._exploring.round, number, policy, ahead=True))

    def select(self, iteration: int, explored: Sequence[Trajectory]) -> list[TrainingSequence]:
        """Training sequences: the selection of this iteration, joined with those of `select.merge`."""
        if self._folder.summary(iteration) is not None:
            return []
        own = self._sources.own(iteration, explored)
        rows = list(own.rows)
        learnt = {row.trajectory_id for row in rows if row.weight > 0 and row.mask.any()}
        chosen = [trajectory for trajectory in explored if trajectory.id in learnt]
        figures = selection_figures(explored, chosen, self._episodes.solved_before(iteration))
        self._progress.say(f"iteration {iteration}: {sentence(figures)}")
        figures |= since_previous(self._episodes.outcomes("explore", iteration - 1), outcomes(explored))
        self._ledger.filtered(iteration, own.digest)
        beside = self._sources.beside(iteration, rows)
        self._ledger.merged(iteration, own.digest, [part.digest for part in beside])
        rows += [row for part in beside for row in part.rows]
        parts = [own, *beside]
        lag = version_lag([part.turns for part in parts], iteration - 1)
        if lag and self.config.rollout.mode != "synchronous":
            self._progress.say(f"iteration {iteration}: {staleness(lag)}")
        figures |= lag
        data = learnt_figures(share for part in parts for share in part.shares)
        known = self._drafts.of(iteration).selection
        self._drafts.note(
            iteration, selected=len(chosen), rows=len(rows), selection={**known, **figures}, data=data
        )
        self._prices.update(iteration, explored)
        return rows

    def shape(
        self,
        iteration: int,
        policy: Checkpoint,
        explored: Sequence[Trajectory],
        rows: list[TrainingSequence],
    ) -> list[TrainingSequence]:
        """The training sequences with the rewards of `process.*` and `reward.*`."""
        if self._folder.checkpoint(iteration).path.is_dir():
            return rows
        given = self._rewarding.shape(iteration, policy, explored, rows)
        if given is not rows:
            by_turn = self.config.process.on
            model = self._folder.process(iteration) if by_turn else self._folder.reward_model(iteration)
            self._ledger.rewarded(iteration, given, model)
        return given

    def learn(self, iteration: int, start: Checkpoint, rows: Sequence[TrainingSequence]) -> Checkpoint:
        """Checkpoint of this iteration. Without training data, it is the previous one.

        `one_step_off` waits here for the exploration under way: the engines load the new weights then.
        """
        update = self._learnt(iteration, start, rows)
        if self.config.rollout.mode == "one_step_off":
            with self._drafts.timed(iteration, "wait"):
                self._ahead.settle()
        return update

    def mix(self, iteration: int, update: Checkpoint) -> Checkpoint:
        """The share of an update that validates best (`interpolate.*`), mixed with the anchor checkpoint;
        without a choice of shares the update is returned unchanged.
        """
        learnt, config = self._folder.learnt(iteration), self.config
        if update != learnt or self._folder.summary(iteration) is not None:
            return update
        previous = self._sources.anchor_checkpoint(iteration)

        def between(share: float) -> Checkpoint:
            mixed = self._folder.mixed(iteration, share)
            if not mixed.path.is_dir():
                self._cluster.interpolate(previous, learnt, share, mixed)
            return mixed

        with self._drafts.timed(iteration, "interpolate"):
            success = tried(self._episodes, config, iteration, learnt, between)
            share = best_share(success)
            place = self._place(iteration)
            if not (place.path.is_dir() or self._folder.update(iteration).path.is_dir()):
                self._folder.repeat(learnt if share == WHOLE else between(share), place)
        figures = {f"interpolation_success_{one:g}": value for one, value in success.items()}
        chosen = {**self._drafts.of(iteration).learn, "interpolation_share": share, **figures}
        self._drafts.note(iteration, learn=chosen)
        self._progress.say(f"iteration {iteration}: {share:g} of the update stays, by validation")
        return self._place(iteration)

    def accept(self, iteration: int, update: Checkpoint) -> Checkpoint:
        """Checkpoint of this iteration: the update, or the previous one where it regressed (`protect.*`)."""
        if not self.config.protect or self._folder.summary(iteration) is not None:
            return update
        earlier = self._folder.earlier(iteration)
        with self._drafts.timed(iteration, "protect"):
            after = play_protected(self._episodes, self.config, iteration, update)
        verdict = verdict_on(self.config.protect, earlier[0].protected, after, earlier)
        learnt = {**self._drafts.of(iteration).learn, **verdict.figures}
        self._drafts.note(iteration, protected=after, rejected=verdict.reason, learn=learnt)
        if verdict.reason is None:
            return self._folder.accept(iteration)
        self._progress.say(f"iteration {iteration}: update rejected, {verdict.reason}")
        return self._folder.reject(iteration)

    def evaluate(self, iteration: int, policy: Checkpoint) -> None:
        """Play the held-out tasks and the validation tasks, then mark the iteration as finished."""
        if self._folder.summary(iteration) is not None:
            return
        if self._episodes.loaded != policy:
            raise RuntimeError(f"the engines hold {self._episodes.loaded.path}, not {policy.path}")
        config = self.config.evaluate
        if self.config.protect and iteration == 0:
            with self._drafts.timed(iteration, "protect"):
                before = play_protected(self._episodes, self.config, iteration, policy)
            self._drafts.note(iteration, protected=before)
        test = self._evaluation(iteration, self.config.evaluate_split, config.episodes)
        validation = self._evaluation(iteration, self.config.validate_split, config.validation_episodes)
        figures = {**self._probed(iteration, policy), **self._rewarding.watched(iteration)}
        self._drafts.note(
            iteration,
            checkpoint=policy.path.name,
            table_version=self._folder.store.version(),
            evaluation=test,
            validation=validation,
            proxy=self._rewarding.proxy(iteration),
            learn={**self._drafts.of(iteration).learn, **figures},
            faults=self._faults.take(),
        )
        self._ledger.evaluated(iteration, policy, self._episodes.of("evaluate", iteration))
        summary = self._drafts.take(iteration)
        write_curves(self._folder.path / "tensorboard", summary)
        self._folder.finish(summary)
        self._folder.forget_shares()
        append_metrics(self._folder.path, summary.model_dump(mode="json"))
        self._progress.finished(summary)

    def has_stalled(self, iteration: int) -> bool:
        """Return whether `evaluate.patience` iterations have passed without a better checkpoint on the
        validation tasks, or the reward model is exploited (`reward.patience`).
        """
        if self._rewarding.is_exploited(iteration, self._folder.earlier(iteration + 1)):
            return True
        patience = self.config.evaluate.patience
        if patience is None:
            return False
        leader = best(self._folder.run_summary())
        return leader is not None and iteration - leader.iteration >= patience

    def __enter__(self) -> "Stages":
        return self

    def __exit__(self, *_: object) -> None:
        """End the exploration of later rounds."""
        self._ahead.close()

    def finish(self) -> RunSummary:
        """Mark the best checkpoint and write the report."""
        summary = self._folder.run_summary()
        self._folder.conclude(summary)
        return summary

    def _learnt(self, iteration: int, start: Checkpoint, rows: Sequence[TrainingSequence]) -> Checkpoint:
        checkpoint = self._place(iteration)
        learnt = self._folder.learnt(iteration)
        for done in (learnt, checkpoint):
            if done.path.is_dir():
                if self._folder.summary(iteration) is None:
                    own = done if done == learnt else self._folder.update(iteration)
                    self._ledger.trained(iteration, start, own)
                    self._note_learning(iteration, self._folder.metrics_of(own))
                return done
        out = learnt if self.config.interpolate.shares else checkpoint
        prices = self._priced(iteration)
        with self._drafts.timed(iteration, "learn"), self._progress.learning(iteration) as step:
            try:
                job = LearnerJob(
                    start,
                    rows,
                    out.path,
                    seed=self.config.seed * 1000 + iteration,
                    version=iteration,
                    reference=self._folder.checkpoint(0) if self.config.learn.reference == "base" else None,
                    multipliers=prices,
                    anchor=self._sources.anchor(iteration),
                    sampler=self._sampler(rows),
                    table_version=self._folder.store.version(),
                )
                report = self._cluster.learn(job, step, self._learn_config(iteration))
            except NothingToLearn as reason:
                self._progress.say(f"iteration {iteration}: no update, {reason}")
                self._note_learning(iteration, {})
                repeated = self._folder.repeat(self._folder.checkpoint(iteration - 1), checkpoint)
                self._ledger.trained(iteration, start, repeated)
                return repeated
        for remark in remarks(report.metrics):
            self._progress.say(f"iteration {iteration}: {remark}")
        self._ledger.trained(iteration, start, out)
        self._note_learning(iteration, report.metrics)
        return out

    def _sampler(self, rows: Sequence[TrainingSequence]) -> Checkpoint | None:
        """Weights that sampled the newest training sequences; None where none is of one version alone."""
        own = self.config.name + "/"  # retained episodes of other runs have versions of those runs
        found = {row.policy_version for row in rows if row.trajectory_id.startswith(own)} - {None}
        return self._folder.checkpoint(max(v for v in found if v is not None)) if found else None

    def _evaluation(self, iteration: int, split: str, episodes: int | None) -> EvaluationSummary:
        config = self.config.evaluate
        tasks = self._episodes.tasks(split, config.difficulty, spread(episodes))
        purpose = f"evaluate {split}"
        requests = [self._episodes.request("evaluate", iteration, task, 0) for task in tasks]
        with self._drafts.timed(iteration, purpose):
            self._episodes.play("evaluate", iteration, None, requests, self.config.evaluate_sampling)
        wanted = {request.id for request in requests}
        evaluated = [t for t in self._episodes.of("evaluate", iteration) if t.id in wanted]
        self._episodes.stop_if_too_many_failed(evaluated)
        return compared(
            summarise(evaluated, split),
            since_previous(self._episodes.outcomes("evaluate", iteration - 1, split), outcomes(evaluated)),
        )

    def _priced(self, iteration: int) -> dict[str, float]:
        """Price of a unit of each constrained cost in this iteration."""
        found = self._prices.before(iteration)
        for name, multiplier in sorted(found.items()):
            note = ", its maximum (constraint_infeasible)" if multiplier.infeasible else ""
            self._progress.say(f"iteration {iteration}: price of {name} {multiplier.value:.3g}{note}")
        return {name: multiplier.value for name, multiplier in found.items()}

    def _learn_config(self, iteration: int) -> LearnConfig:
        """Learning configuration of this iteration: as configured, except for a KL coefficient that follows
        its target.
        """
        learn, target = self.config.learn, self.config.kl
        if target is None:
            return learn
        begun = float(self._objective.options["kl_coef"])
        coefficient = kl_coefficient(begun, target, self._folder.earlier(iteration))
        self._progress.say(f"iteration {iteration}: kl_coef {coefficient:.3g}")
        return learn.model_copy(update={"options": {**learn.options, "kl_coef": coefficient}})

    def _place(self, iteration: int) -> Checkpoint:
        """Folder of an iteration's update: it may have to be accepted before it is a checkpoint."""
        checkpoint = self._folder.checkpoint(iteration)
        if self.config.protect and not checkpoint.path.is_dir():
            return self._folder.candidate(iteration)
        return checkpoint

    def _probed(self, iteration: int, policy: Checkpoint) -> dict[str, float]:
        """Perplexity of the policy on the sequences of `probe.data`."""
        rows = self._sources.probe()
        if not rows:
            return {}
        with self._drafts.timed(iteration, "probe"):
            return {"probe_ppl": self._cluster.perplexity(policy, rows)}

    def _note_learning(self, iteration: int, figures: Mapping[str, float | None]) -> None:
        prices = price_figures(self._prices.before(iteration))
        found = {**self._folder.process_figures(iteration), **prices, **figures}
        self._drafts.learnt(iteration, found)
