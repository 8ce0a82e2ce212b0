"""Stages of the training loop, each safe to repeat: results on disk are reused.

Explored episodes are in the table, checkpoints in their folders, metrics in `iterations/`. A stage that finds
its result there returns it; one that finds a part of it completes the rest.
"""

from collections.abc import Sequence

from agentevol.core.protocols import Checkpoint, TrainingSequence
from agentevol.core.summaries import RunSummary
from agentevol.loop.control.lagrange_multipliers import Prices
from agentevol.loop.scores.episode_scores import EpisodeScores
from agentevol.loop.stages.acceptance import Acceptance
from agentevol.loop.stages.cloning import Cloning
from agentevol.loop.stages.data_mixture import DataMixture
from agentevol.loop.stages.evaluation import Evaluation
from agentevol.loop.stages.exploration import Exploration
from agentevol.loop.stages.interpolation_search import InterpolationSearch
from agentevol.loop.stages.learning import Learning
from agentevol.loop.stages.opinions import Opinions
from agentevol.loop.stages.rewards import Rewards
from agentevol.loop.stages.selection import Selection
from agentevol.loop.state.context import RunContext
from agentgym_store.records import Trajectory


class Stages:
    """Stages of one run, in the order in which `agentevol.loop.evolve` calls them."""

    def __init__(self, context: RunContext) -> None:
        self.context, self.config = context, context.config
        opinions = Opinions(context)
        self.rewards = Rewards(context, opinions)
        self.scores = EpisodeScores(context, self.rewards, opinions)
        self.mixture = DataMixture(context, self.scores, opinions)
        self.prices = Prices(
            context.folder.path / "prices", context.config, context.episodes, context.keys, opinions.costed
        )
        self._cloning = Cloning(context, self.mixture)
        self._exploration = Exploration(context)
        self._selection = Selection(context, self.mixture, self.prices, self.scores)
        self._learning = Learning(context, self.mixture, self.prices)
        self._interpolation = InterpolationSearch(context, self.mixture)
        self._acceptance = Acceptance(context)
        self._evaluation = Evaluation(context, self.mixture, self.rewards, self._acceptance)

    def base(self) -> Checkpoint:
        """Model that the run begins with; retained episodes are copied before anything is played."""
        self.mixture.retained()
        self.mixture.probe()
        return self.context.base

    def clone(self, base: Checkpoint) -> Checkpoint:
        """Policy of the first round: the base, cloned where `demonstrations.clone` says so."""
        return self._cloning.policy(base)

    def update(self, iteration: int, policy: Checkpoint) -> None:
        """Load the weights of this iteration into the engines, where they will sample again."""
        context = self.context
        if not context.has_finished(iteration):
            with context.drafts.timed(iteration, "update"):
                context.episodes.load(policy)
        elif iteration < self.config.iterations and not context.has_finished(iteration + 1):
            context.episodes.load(policy)  # a resumed run

    def explore(self, iteration: int, policy: Checkpoint) -> list[Trajectory]:
        """K sampled episodes of every task of this iteration, from the table, in the order of their ids.

        Empty for an iteration that has finished: no further step reads its episodes.
        """
        return self._exploration.episodes(iteration, policy)

    def explore_ahead(self, iteration: int, policy: Checkpoint) -> None:
        """Begin later rounds that may be explored while this one is trained on (`rollout.*`)."""
        self._exploration.begin_ahead(iteration, policy)

    def select(self, iteration: int, explored: Sequence[Trajectory]) -> list[TrainingSequence]:
        """Training sequences: the selection of this iteration, joined with those of `select.merge`."""
        return self._selection.select(iteration, explored)

    def shape(
        self,
        iteration: int,
        policy: Checkpoint,
        explored: Sequence[Trajectory],
        sequences: list[TrainingSequence],
    ) -> list[TrainingSequence]:
        """The training sequences with the rewards of `process.*`, `reward.*` and `shaping.*`."""
        return self.rewards.shape(iteration, policy, explored, sequences)

    def learn(self, iteration: int, start: Checkpoint, sequences: Sequence[TrainingSequence]) -> Checkpoint:
        """Checkpoint of this iteration. Without training data, it is the previous one.

        `one_step_off` waits here for the exploration under way: the engines load the new weights then.
        """
        update = self._learning.update(iteration, start, sequences)
        self._exploration.settle(iteration)
        return update

    def mix(self, iteration: int, update: Checkpoint) -> Checkpoint:
        """The share of an update that validates best (`interpolate.*`), mixed with the anchor checkpoint;
        without a choice of shares the update is returned unchanged.
        """
        return self._interpolation.mix(iteration, update)

    def accept(self, iteration: int, update: Checkpoint) -> Checkpoint:
        """Checkpoint of this iteration: the update, or the previous one where it regressed (`protect.*`)."""
        return self._acceptance.accept(iteration, update)

    def evaluate(self, iteration: int, policy: Checkpoint) -> None:
        """Play the held-out tasks and the validation tasks, then mark the iteration as finished."""
        self._evaluation.evaluate(iteration, policy)

    def has_stalled(self, iteration: int) -> bool:
        """Return whether `evaluate.patience` iterations have passed without a better checkpoint on the
        validation tasks, the reward model is exploited (`reward.patience`), or the policy has collapsed
        (`guards.collapse`).
        """
        return self._evaluation.has_stalled(iteration)

    def finish(self) -> RunSummary:
        """Summary of the finished iterations."""
        return self.context.folder.summaries.run()

    def __enter__(self) -> "Stages":
        return self

    def __exit__(self, *_: object) -> None:
        """End the exploration of later rounds."""
        self._exploration.close()
