"""Counters and metrics of one learner call."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from agentevol.core.protocols import TrainingSequence
from agentevol.learn.algorithms.episode_weights import effective_sample_size
from agentevol.learn.batches.trainable_sequences import Fitting
from agentevol.learn.gradients import MAXIMUM, Step, merge_sums


@dataclass
class Figures:
    """Counters of one call of the learner."""

    losses: list[float] = field(default_factory=list[float])
    grad_norms: list[float] = field(default_factory=list[float])
    tokens_trained: int = 0
    tokens_read: int = 0
    correct: int = 0
    last_nll: float = math.nan
    """Mean negative log-probability of the trained tokens of the last step, unweighted."""
    seconds: float = 0.0
    """Time spent in optimiser steps."""
    sums: dict[str, float] = field(default_factory=dict[str, float])
    """The algorithm's metrics, summed over steps; the maximum for names that end in `_max`."""
    by_environment: dict[str, list[float]] = field(default_factory=dict[str, list[float]])
    """Sums of the negative log-probabilities and of the number of trained tokens over all steps, by
    environment.
    """

    def add(self, step: Step, grad_norm: float, trained: int, read: int) -> None:
        """Count an optimiser step."""
        self.losses.append(step.loss)
        self.grad_norms.append(grad_norm)
        self.tokens_trained += trained
        self.tokens_read += read
        self.correct += step.correct
        self.last_nll = step.nll / trained
        merge_sums(self.by_environment, step.by_environment)
        for name, value in step.metrics.items():
            before = self.sums.get(name, value if name.endswith(MAXIMUM) else 0.0)
            self.sums[name] = max(before, value) if name.endswith(MAXIMUM) else before + value

    def report(self, fitting: Fitting, seconds: float) -> dict[str, float]:
        """Return all metrics; `seconds` is the time of everything but saving."""
        sequences = fitting.sequences
        steps = len(self.losses)
        dropped = {
            "overflow": fitting.dropped_overflow,
            "empty": fitting.dropped_empty,
            "weightless": fitting.dropped_weightless,
            "incomplete": fitting.dropped_incomplete,
            "identical": fitting.dropped_identical,
        }
        own = {name: value if name.endswith(MAXIMUM) else value / steps for name, value in self.sums.items()}
        return {
            "loss_first": self.losses[0],
            "loss_last": self.losses[-1],
            "loss_mean": float(np.mean(self.losses)),
            "ppl": math.exp(min(self.last_nll, 700.0)),
            "token_accuracy": self.correct / self.tokens_trained,
            "steps": float(steps),
            "sequences": float(len(sequences)),
            "sequences_dropped": float(sum(dropped.values())),
            **{f"sequences_dropped_{reason}": float(count) for reason, count in dropped.items()},
            "sequences_empty_mask": float(fitting.dropped_empty),
            "sequences_cut_left": float(fitting.cut_left),
            "drift_events": float(fitting.drift_events),
            "tokens_trained": float(self.tokens_trained),
            "tokens_read": float(self.tokens_read),
            "mask_fraction": self.tokens_trained / self.tokens_read,
            "effective_sample_size": effective_sample_size([sequence.weight for sequence in sequences]),
            "grad_norm_first": self.grad_norms[0],
            "grad_norm_last": self.grad_norms[-1],
            "grad_norm_max": max(self.grad_norms),
            "seconds": seconds,
            "tokens_per_s": self.tokens_read / max(self.seconds, 1e-9),
            **{f"nll_{name}": nll / tokens for name, (nll, tokens) in sorted(self.by_environment.items())},
            **_replayed(sequences),
            **own,
        }


def _replayed(sequences: Sequence[TrainingSequence]) -> dict[str, float]:
    """Number of replayed training sequences, and their share of the learnt tokens; empty where there are
    none.
    """
    tokens = [int(sequence.mask.sum()) for sequence in sequences if sequence.replayed]
    if not tokens:
        return {}
    whole = sum(int(sequence.mask.sum()) for sequence in sequences)
    return {"replay_sequences": float(len(tokens)), "replay_fraction": sum(tokens) / whole}
