"""Training of the policy on an iteration's training sequences."""

from collections.abc import Mapping, Sequence

from agentevol.config.sections.learner import LearnConfig
from agentevol.core.protocols import Checkpoint, LearnerJob, TrainingSequence
from agentevol.learn.batches.trainable_sequences import NothingToLearn
from agentevol.loop.control.controllers import kl_coefficient, price_figures
from agentevol.loop.control.diagnostics import remarks
from agentevol.loop.control.lagrange_multipliers import Prices
from agentevol.loop.stages.data_mixture import DataMixture
from agentevol.loop.state.context import RunContext
from agentevol.loop.state.reward_figures import reward_figures


class Learning:
    """Policy updates of one run. Safe to repeat: an update on disk is returned."""

    def __init__(self, context: RunContext, mixture: DataMixture, prices: Prices) -> None:
        self._context, self._mixture, self._prices = context, mixture, prices

    def update(self, iteration: int, start: Checkpoint, sequences: Sequence[TrainingSequence]) -> Checkpoint:
        """The update of this iteration; without training data it is a copy of the previous checkpoint."""
        folder = self._context.folder
        for done in (folder.checkpoints.learnt(iteration), folder.checkpoints.destination(iteration)):
            if done.path.is_dir():
                self._note_again(iteration, start, done)
                return done
        return self._learn(iteration, start, sequences)

    def _note_again(self, iteration: int, start: Checkpoint, done: Checkpoint) -> None:
        """Note an update of an earlier process, whose notes may have been lost."""
        folder = self._context.folder
        if self._context.has_finished(iteration):
            return
        own = done if done == folder.checkpoints.learnt(iteration) else folder.checkpoints.update(iteration)
        self._context.manifests.trained(iteration, start, own)
        self._note(iteration, folder.checkpoints.metrics_of(own))

    def _learn(self, iteration: int, start: Checkpoint, sequences: Sequence[TrainingSequence]) -> Checkpoint:
        context, folder = self._context, self._context.folder
        destination = folder.checkpoints.destination(iteration)
        out = folder.checkpoints.learnt(iteration) if context.config.interpolate.shares else destination
        prices = self._priced(iteration)
        with context.drafts.timed(iteration, "learn"), context.progress.learning(iteration) as step:
            try:
                job = self._job(iteration, start, sequences, out, prices)
                report = context.cluster.learn(job, step, self._learn_config(iteration))
            except NothingToLearn as reason:
                context.say(iteration, f"no update, {reason}")
                self._note(iteration, {})
                repeated = folder.checkpoints.repeat(folder.checkpoints.accepted(iteration - 1), destination)
                context.manifests.trained(iteration, start, repeated)
                return repeated
        for remark in remarks(report.metrics):
            context.say(iteration, remark)
        context.manifests.trained(iteration, start, out)
        self._note(iteration, report.metrics)
        return out

    def _job(
        self,
        iteration: int,
        start: Checkpoint,
        sequences: Sequence[TrainingSequence],
        out: Checkpoint,
        prices: Mapping[str, float],
    ) -> LearnerJob:
        context, folder = self._context, self._context.folder
        return LearnerJob(
            start,
            sequences,
            out.path,
            seed=context.seed(iteration),
            version=iteration,
            table_version=folder.store.version(),
            reference=folder.checkpoints.accepted(0) if context.config.learn.reference == "base" else None,
            sampler=self._sampler(sequences),
            anchor=self._mixture.anchor(iteration),
            multipliers=prices,
        )

    def _sampler(self, sequences: Sequence[TrainingSequence]) -> Checkpoint | None:
        """Weights that sampled the newest training sequences; None where none is of one version alone."""
        own = self._context.config.name + "/"  # retained episodes of other runs have versions of those runs
        found = {
            sequence.policy_version for sequence in sequences if sequence.trajectory_id.startswith(own)
        } - {None}
        newest = max((version for version in found if version is not None), default=None)
        return None if newest is None else self._context.folder.checkpoints.accepted(newest)

    def _priced(self, iteration: int) -> dict[str, float]:
        """Price of a unit of each constrained cost in this iteration."""
        found = self._prices.before(iteration)
        for name, multiplier in sorted(found.items()):
            note = ", its maximum (constraint_infeasible)" if multiplier.infeasible else ""
            self._context.say(iteration, f"price of {name} {multiplier.value:.3g}{note}")
        return {name: multiplier.value for name, multiplier in found.items()}

    def _learn_config(self, iteration: int) -> LearnConfig:
        """Learning configuration of this iteration: as configured, except for a KL coefficient that follows
        its target.
        """
        learn, target = self._context.config.learn, self._context.config.kl
        if target is None:
            return learn
        begun = float(self._context.objective.options["kl_coef"])
        coefficient = kl_coefficient(begun, target, self._context.folder.summaries.earlier(iteration))
        self._context.say(iteration, f"kl_coef {coefficient:.3g}")
        return learn.model_copy(update={"options": {**learn.options, "kl_coef": coefficient}})

    def _note(self, iteration: int, figures: Mapping[str, float | None]) -> None:
        prices = price_figures(self._prices.before(iteration))
        found = {**reward_figures(self._context.folder.path, iteration), **prices, **figures}
        self._context.drafts.learnt(iteration, found)
