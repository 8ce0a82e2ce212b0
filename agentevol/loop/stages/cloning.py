"""Behavioural cloning: before the first round, the base model is trained on the expert's episodes D_s.

The first stage of AgentEvol (arXiv:2406.04151, algorithm 1), which maximises the sum of log pi_theta(tau)
over D_s. A base that is an agent already does not need it.
"""

from pathlib import Path

from agentevol.config.run import RunConfig
from agentevol.config.sections.exploration import DemonstrationConfig
from agentevol.core.errors import RunStopped
from agentevol.core.protocols import Checkpoint, LearnerJob, TrainingSequence
from agentevol.data.hashes import of_sequences
from agentevol.learn.batches.trainable_sequences import NothingToLearn
from agentevol.loop.control.diagnostics import remarks
from agentevol.loop.stages.data_mixture import DataMixture
from agentevol.loop.state.context import RunContext
from agentevol.models.checkpoints import read_lineage


def settled(config: RunConfig, base: Path) -> RunConfig:
    """The configuration with `demonstrations.clone` as true or false, depending on the base in this folder;
    without demonstrations where an agent would not learn from them.

    A base with a lineage was already trained in an environment; others, such as a hub's, were not.
    """
    shown = config.demonstrations
    if shown.clone is not None:
        return config
    clone = shown.tasks > 0 and read_lineage(base) is None
    read = config.select.merge != "none" or config.learn.ewc is not None or config.pairs.demonstrations
    if clone or read:
        chosen = shown.model_copy(update={"clone": clone})
        if not clone:
            chosen = chosen.model_copy(update={"epochs": None, "learning_rate": None})
    else:
        chosen = DemonstrationConfig(clone=False)
    return config.model_copy(update={"demonstrations": chosen})


class Cloning:
    """Behavioural cloning of one run. Safe to repeat: results on disk are reused."""

    def __init__(self, context: RunContext, mixture: DataMixture) -> None:
        self._context, self._mixture = context, mixture

    def policy(self, base: Checkpoint) -> Checkpoint:
        """Checkpoint 0: the base itself, or the result of cloning.

        Raises `RunStopped` where the demonstrations contain nothing to train on.
        """
        context = self._context
        first = context.folder.checkpoints.accepted(0)
        if base == first or context.has_finished(0):
            return first
        sequences = list(self._mixture.demonstrations())
        context.manifests.merged(0, of_sequences([]), [of_sequences(sequences)])
        if not first.path.is_dir():
            self._learn(base, sequences, first)
        context.manifests.trained(0, base, first)
        context.drafts.note(0, sequences=len(sequences))
        context.drafts.learnt(0, context.folder.checkpoints.metrics_of(first))
        return first

    def _learn(self, base: Checkpoint, sequences: list[TrainingSequence], first: Checkpoint) -> None:
        context = self._context
        context.progress.say(f"cloning: {context.config.base} trains on {len(sequences)} demonstrations")
        job = LearnerJob(
            base,
            sequences,
            first.path,
            seed=context.seed(0),
            version=first.version,
            table_version=context.folder.store.version(),
        )
        with context.drafts.timed(0, "clone"), context.progress.learning(0) as step:
            try:
                report = context.cluster.learn(job, step, context.config.clone_learn)
            except NothingToLearn as reason:
                raise RunStopped(f"the base cannot be cloned from its demonstrations: {reason}") from reason
        for remark in remarks(report.metrics):
            context.progress.say(f"cloning: {remark}")
