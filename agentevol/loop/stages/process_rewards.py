"""Rewards of turns by a process reward model of the run, which may be trained in every iteration."""

import math
from collections.abc import Sequence

from agentevol.config.rewards.process import (
    ContinuationProcess,
    ModelProcess,
    TrainedProcess,
    ValueProcess,
)
from agentevol.config.sections.learner import LearnConfig
from agentevol.core.errors import RunStopped
from agentevol.core.protocols import Checkpoint, LearnerJob, TrainingSequence
from agentevol.data.feedback.turns import of_own_turns
from agentevol.data.groups import own_part
from agentevol.data.rewards.process_rewards import (
    agreements,
    counted_by_head,
    pooled_by_head,
    process_rewards,
    watched,
)
from agentevol.data.rewards.reward_model import sequences_to_judge
from agentevol.data.rewards.shaping import episodes_of, length_correlation, shaped
from agentevol.data.rewards.state_values import Counted, chosen_states, is_mismatch
from agentevol.data.training_sequences import valued
from agentevol.learn.batches.trainable_sequences import NothingToLearn
from agentevol.loop.stages.opinions import Opinions
from agentevol.loop.state.context import RunContext
from agentevol.loop.state.held_out_tasks import splits_of
from agentevol.loop.state.reward_figures import note_reward_figures
from agentevol.rollout.continuations import continuations
from agentgym_store.records import Trajectory


class ProcessRewards:
    """Process rewards of one run (`process.*`). Safe to repeat: results on disk are reused."""

    def __init__(self, context: RunContext, opinions: Opinions) -> None:
        self._context, self.config, self._opinions = context, context.config, opinions
        self._folder, self._cluster, self._episodes = context.folder, context.cluster, context.episodes

    def shaped(
        self,
        process: ModelProcess,
        iteration: int,
        policy: Checkpoint,
        explored: Sequence[Trajectory],
        sequences: Sequence[TrainingSequence],
    ) -> list[TrainingSequence]:
        """The training sequences with turns rewarded by the model's values."""
        trained = isinstance(process, TrainedProcess)
        figures = self._refresh_values(process, iteration, policy, explored) if trained else {}
        values = self._cluster.values(self._process_model(iteration), sequences)
        steps = process_rewards(
            explored,
            episodes_of(sequences),
            values,
            process.value_heads,
            process.rules,
            process.opinion_heads,
            discount=process.discount if isinstance(process, ValueProcess) else 1.0,
        )
        figures["process_length_correlation"] = length_correlation(steps)
        finite = {name: value for name, value in figures.items() if math.isfinite(value)}
        note_reward_figures(self._folder.path, iteration, finite)
        return shaped(sequences, steps, alpha=process.alpha, beta=process.beta)

    def watched(self, iteration: int) -> dict[str, float]:
        """Scores of the process reward model on the validation episodes, compared with their outcomes."""
        model = self._process_model(iteration)
        base = self._folder.checkpoints.accepted(0)  # as a model, it says 0.5 for everything
        if not self.config.process.on or model == base:
            return {}
        values = self._cluster.values(
            model, sequences_to_judge(validation_episodes(self._context, iteration))
        )
        return watched(validation_episodes(self._context, iteration), values, self.config.process.model_heads)

    def _process_model(self, iteration: int) -> Checkpoint:
        """Process reward model of an iteration: one that is not trained is the same in all."""
        return self._folder.checkpoints.process_model(
            iteration if isinstance(self.config.process, TrainedProcess) else 0
        )

    def _refresh_values(
        self,
        process: TrainedProcess,
        iteration: int,
        policy: Checkpoint,
        explored: Sequence[Trajectory],
    ) -> dict[str, float]:
        """Train the process reward model on the current policy; returns its fit to the labels."""
        counted = self._count_values(process, iteration, policy, explored)
        known, said = self._opinions.labelled_turns(iteration)
        now = {t.id for t in explored}
        episodes = [*explored, *(t for t in known if t.id not in now)]
        labels = {name: one.values for name, one in counted.items()}
        labels |= {name: said.get(name, {}) for name in process.opinion_heads}
        labelled = valued(episodes, *labels.values(), kind=self.config.select.sequences)
        models = self._folder.checkpoints
        start, model = models.process_model(iteration - 1), models.process_model(iteration)
        names = list(process.model_heads)
        train_reward_model(
            self._context, iteration, "learn values", self.config.process_learn, start, model, labelled, names
        )
        # the model of the iteration before has not seen the labels of these episodes
        new = {name: of_own_turns(one, explored) for name, one in labels.items()}
        held_out = agreements(self._cluster.values(start, labelled), new)
        return {
            **(next(iter(counted.values())).figures if counted else {}),
            **agreements(self._cluster.values(model, labelled), labels),
            **{f"{name}_before": value for name, value in held_out.items()},
        }

    def _count_values(
        self,
        process: TrainedProcess,
        iteration: int,
        policy: Checkpoint,
        explored: Sequence[Trajectory],
    ) -> dict[str, Counted]:
        """Estimated values by head: of some states of the explored episodes, by rollouts from them, or of
        states that several of the episodes passed through; none where opinions alone are learnt.
        """
        heads = list(process.value_heads)
        if not isinstance(process, ContinuationProcess):
            return pooled_by_head(explored, heads)
        share, most = process.share, process.states
        # a continuation replays its episode from the start, which one with given turns does not have here
        whole = [t for t in explored if t.parent is None]
        states = chosen_states(whole, share=share, per_episode=most, seed=self.config.seed)
        alone = self.config.by_environment
        limits = {name: own.environment.max_turns for name, own in alone.items()}
        requests = [
            request
            for state in states
            for request in continuations(
                state, process.continuations, self.config.seed, limits[state.episode.env]
            )
        ]
        with self._context.drafts.timed(iteration, "value"):
            self._episodes.play("value", iteration, policy, requests, self.config.explore_sampling)
        played = self._episodes.of("value", iteration)
        self._episodes.stop_if_too_many_failed([t for t in played if not is_mismatch(t)])
        counted = counted_by_head(states, explored, played, process.continuations, heads)
        if states and all(one.mismatched == len(states) for one in counted.values()):
            raise RunStopped(
                f"no state of {self.config.environment.name} was reached again by the same seed and actions:"
                " process.continuations needs an environment that can be replayed; process.pooled does not"
            )
        return counted


def validation_episodes(context: RunContext, iteration: int) -> list[Trajectory]:
    """Episodes of an iteration's evaluation on the validation split, without given turns."""
    splits = splits_of(context.config, "validation")
    return [own_part(t) for t in context.episodes.of("evaluate", iteration) if t.split in splits]


def train_reward_model(
    context: RunContext,
    iteration: int,
    what: str,
    how: LearnConfig,
    start: Checkpoint,
    model: Checkpoint,
    sequences: Sequence[TrainingSequence],
    heads: Sequence[str] = (),
) -> None:
    """Train the reward model of this iteration; without training data it is the previous one."""
    if model.path.is_dir():
        return
    job = LearnerJob(
        start,
        sequences,
        model.path,
        seed=context.seed(iteration),
        version=iteration,
        table_version=context.folder.store.version(),
        objectives=heads,
    )
    with (
        context.drafts.timed(iteration, what),
        context.progress.learning(iteration, what) as step,
    ):
        try:
            context.cluster.learn(job, step, how)
        except NothingToLearn as reason:
            context.say(iteration, f"cannot {what}, {reason}")
            context.folder.checkpoints.repeat(start, model)
