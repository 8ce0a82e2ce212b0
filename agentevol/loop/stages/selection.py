"""Selection of an iteration's training sequences, with figures of what was selected."""

from collections.abc import Sequence

from agentevol.config.files.merging import merged
from agentevol.core.protocols import TrainingSequence
from agentevol.data.composition import Part, explored_figures, learnt_figures, staleness, version_lag
from agentevol.data.feedback.taught import spoken
from agentevol.data.selection.statistics import outcomes, selection_figures, sentence, since_previous
from agentevol.data.selection.variety import variety_figures
from agentevol.loop.control.lagrange_multipliers import Prices
from agentevol.loop.scores.episode_scores import EpisodeScores
from agentevol.loop.stages.data_mixture import DataMixture
from agentevol.loop.state.context import RunContext
from agentgym_store.records import Trajectory


class Selection:
    """Selection of one run (`select.*`)."""

    def __init__(
        self, context: RunContext, mixture: DataMixture, prices: Prices, scores: EpisodeScores
    ) -> None:
        self._context, self._mixture, self._prices, self._scores = context, mixture, prices, scores

    def select(self, iteration: int, explored: Sequence[Trajectory]) -> list[TrainingSequence]:
        """Training sequences: the selection of this iteration, joined with those of `select.merge`.

        Empty for an iteration that has finished.
        """
        context = self._context
        if context.has_finished(iteration):
            return []
        given = self._scores.record(iteration, explored)
        own, said = self._mixture.own(iteration, explored), self._said(iteration, explored)
        sequences = list(own.sequences)
        learnt = {
            sequence.trajectory_id for sequence in sequences if sequence.weight > 0 and sequence.mask.any()
        }
        chosen = [trajectory for trajectory in explored if trajectory.id in learnt]
        figures = selection_figures(explored, chosen, context.episodes.solved_before(iteration))
        context.say(iteration, sentence(figures))
        figures |= given | variety_figures(explored) | self._mixture.seat_means.figures(iteration)
        figures |= since_previous(context.episodes.outcomes("explore", iteration - 1), outcomes(explored))
        context.manifests.filtered(iteration, own.digest, self._mixture.pair_sources(iteration))
        beside = self._mixture.beside(
            iteration, [*sequences, *(one for part in said for one in part.sequences)]
        )
        beside = [*said, *beside]
        context.manifests.merged(iteration, own.digest, [part.digest for part in beside])
        sequences += [sequence for part in beside for sequence in part.sequences]
        parts = [own, *beside]
        lag = version_lag([part.turns for part in parts], iteration - 1)
        if lag and context.config.rollout.mode != "synchronous":
            context.say(iteration, staleness(lag))
        data = learnt_figures(share for part in parts for share in part.shares)
        if len(context.config.environment.names) > 1:
            data = merged(explored_figures(explored), data)
        known = context.drafts.of(iteration).selection
        context.drafts.note(
            iteration,
            selected=len(chosen),
            sequences=len(sequences),
            selection={**known, **figures, **lag, **self._mixture.opinions.taught(iteration).figures},
            data=data,
        )
        self._prices.update(iteration, explored)
        return sequences

    def _said(self, iteration: int, explored: Sequence[Trajectory]) -> list[Part]:
        """Training sequences from opinions, where the run learns from any."""
        if not self._context.config.feedback.sources:
            return []
        part, opinions = self._mixture.said(iteration, explored), self._mixture.opinions
        counts = opinions.taught(iteration).figures
        self._context.manifests.advised(iteration, opinions.digest(iteration), part.digest, counts)
        self._context.say(iteration, spoken(counts))
        return [part]
