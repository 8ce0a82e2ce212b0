"""Outcomes of trials: figures of a run by round."""

from agentevol.cli.benchmarks.rlhf.arms import Trial
from agentevol.core.summaries import EvaluationSummary, IterationSummary
from agentgym_envs.core import Record


class Rate(Record):
    """Questions with a right answer."""

    wins: int
    n: int

    @property
    def percent(self) -> float | None:
        """Share in percent; None where nothing was asked."""
        return 100 * self.wins / self.n if self.n else None


class Round(Record):
    """Figures after an iteration of a run; number 0 is the clone."""

    iteration: int
    test: Rate
    validation: Rate
    score: float | None = None
    """Mean score of the validation replies by the run's reward model; None before it is trained."""
    kl: float | None = None
    """Divergence from the clone that the learner measured, in nats a token."""
    pair_accuracy: float | None = None
    """Share of the pairs of this round's samples that the reward model orders rightly."""
    samples: int = 0
    """Explored episodes."""


class Outcome(Record):
    """Figures of an arm with a seed."""

    arm: str
    seed: int
    minutes: float
    """Wall clock of the run and its measurements."""
    base: Rate
    """Held-out questions before cloning."""
    sampled: tuple[Rate, Rate]
    """Held-out questions at temperature 1, of the clone and of the last policy. Other rates are greedy."""
    rounds: tuple[Round, ...]
    preference_rounds: int = 0
    """First rounds whose pairs trained the reward model; 0 without one."""
    planned: int
    """Rounds that the run would have without a stop."""
    kl: float | None = None
    """Divergence of the last policy from the clone on held-out questions, in nats a sampled token."""

    @property
    def trial(self) -> Trial:
        """The trial."""
        return Trial(self.arm, self.seed)

    @property
    def samples(self) -> int:
        """Explored episodes of all rounds."""
        return sum(one.samples for one in self.rounds)

    @property
    def labels(self) -> int:
        """Explored episodes whose outcome something learnt from."""
        labelled = self.rounds[: self.preference_rounds + 1] if self.preference_rounds else self.rounds
        return sum(one.samples for one in labelled)

    @property
    def held_out_pairs(self) -> float | None:
        """Accuracy of the reward model on pairs of the clone's samples that it was not trained on, in
        percent: those of the first round after it.
        """
        after = self.preference_rounds + 1
        if not self.preference_rounds or after >= len(self.rounds):
            return None
        found = self.rounds[after].pair_accuracy
        return None if found is None else 100 * found

    @property
    def stopped_after(self) -> int | None:
        """Round after which the run stopped by itself; None where it played all of them."""
        last = self.rounds[-1].iteration
        return last if last < self.planned else None


def round_of(summary: IterationSummary) -> Round:
    """Figures of an iteration."""
    learnt = summary.learn
    return Round(
        iteration=summary.iteration,
        test=_rate(summary.evaluation),
        validation=_rate(summary.validation),
        score=summary.proxy,
        kl=learnt.get("kl"),
        pair_accuracy=learnt.get("reward_pair_accuracy"),
        samples=sum(summary.explored.values()),
    )


def _rate(evaluation: EvaluationSummary | None) -> Rate:
    return Rate(wins=0, n=0) if evaluation is None else Rate(wins=evaluation.successes, n=evaluation.n)
