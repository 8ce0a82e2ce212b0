"""A round of learning in a comparison: what `agentevol run` does with the episodes that it explored."""

import contextlib
from collections.abc import Sequence
from pathlib import Path

from agentevol.config.run import RunConfig
from agentevol.learn.algorithms import objective
from agentevol.learn.fitting import NothingToLearn
from agentevol.learn.learner import GradientLearner
from agentevol.loop.select import select
from agentevol.protocols import Checkpoint
from agentevol.rows.examples import rows_of
from agentgym_store.records import Trajectory


def learnt(
    policy: Checkpoint,
    explored: Sequence[Trajectory],
    config: RunConfig,
    number: int,
    out: Path,
    base: Checkpoint,
) -> Checkpoint:
    """The policy after round `number`; the same one where there is nothing to learn.

    Writes `out`. `base` is what the first round began with.
    """
    chosen, seed = objective(config.learn.algorithm, config.learn.options), config.seed * 1000 + number
    with contextlib.suppress(NothingToLearn):
        rows = rows_of(select(explored, config.select, seed), chosen, config, config.seed)
        reference = base if config.learn.reference == "base" else None
        return GradientLearner(config.learn).learn(policy, rows, out, seed, reference=reference).checkpoint
    return policy
