"""Explored episodes of a run with the score of `select.score` in place of their return."""

from collections.abc import Sequence

from agentevol.config.sections.selection import RETURN
from agentevol.data.selection.rescoring import rescored
from agentevol.loop.scores.self_evaluation import SelfEvaluation
from agentevol.loop.scores.sources import SOURCES, Scorers, Scores
from agentevol.loop.stages.opinions import Opinions
from agentevol.loop.stages.rewards import Rewards
from agentevol.loop.state.context import RunContext
from agentgym_store.records import Trajectory


class EpisodeScores:
    """Scores of one run. Safe to repeat: what a judge said is in the run's folder."""

    def __init__(self, context: RunContext, rewards: Rewards, opinions: Opinions) -> None:
        self._context = context
        self._name = context.config.select.score
        self._scorers = Scorers(rewards, SelfEvaluation(context), opinions)
        self._latest: tuple[int, Scores] | None = None

    def rescored(
        self, iteration: int, explored: Sequence[Trajectory], whole: Sequence[Trajectory] | None = None
    ) -> list[Trajectory]:
        """The episodes with their scores as returns, without those that have none; the same episodes where
        the returns are used. `whole` are all of the iteration, if `explored` is a part.
        """
        found = self.of(iteration, explored if whole is None else whole).by_episode
        return list(explored) if found is None else rescored(explored, found)

    def of(self, iteration: int, whole: Sequence[Trajectory]) -> Scores:
        """Scores of an iteration's explored episodes, of which `whole` are all."""
        if self._latest is None or self._latest[0] != iteration:
            self._latest = iteration, SOURCES[self._name](self._scorers, iteration, whole)
        return self._latest[1]

    def record(self, iteration: int, explored: Sequence[Trajectory]) -> dict[str, float]:
        """Print and note the scores of an iteration in its manifest; returns their figures."""
        if self._name == RETURN:
            return {}
        found = self.of(iteration, explored)
        for line in found.told:
            self._context.say(iteration, line)
        self._context.manifests.judged(iteration, found.by_episode, found.model, found.file)
        return dict(found.figures)
