"""Diagnostics of an update: remarks and warnings from its figures."""

import math
from collections.abc import Iterator, Mapping

GAP = 0.02
"""Mean difference in log-probability of the same tokens that exceeds rounding."""

FEWEST = 0.1
"""Minimum effective share of the training sequences after weighting."""

ON_POLICY = 0.9
"""Minimum effective share of the tokens after importance weighting, where the policy has not moved yet."""


def remarks(metrics: Mapping[str, float]) -> Iterator[str]:
    """One line for each remark on the learner's figures; those that need attention begin with `warning`."""
    gap, tokens = metrics.get("logp_gap", math.nan), metrics.get("logp_gap_tokens")  # none: nothing sampled
    if tokens:
        warning = "" if gap <= GAP else "warning, "
        yield f"{warning}engine and learner differ by {gap:.1g} in log-probability over {tokens:,.0f} tokens"
    elif tokens is not None:
        yield "warning, engine and learner were not compared: no training sequence is of the present weights"
    sequences = metrics.get("sequences", 0.0) + metrics.get("sequences_dropped_weightless", 0.0)
    worth = metrics.get("effective_sample_size", math.inf)
    if worth < FEWEST * sequences:
        yield (
            f"warning, the weights of {sequences:.0f} sequences have an effective sample size of {worth:.1f}"
        )
    if drifted := metrics.get("drift_events", 0.0):
        yield f"{drifted:.0f} turns did not extend the earlier turns: their episodes have several sequences"
    if metrics.get("importance_ess", 1.0) < ON_POLICY:
        worth = metrics["importance_ess"]
        yield f"warning, importance weights make the tokens worth {worth:.0%} of their number"
    if metrics.get("recurrence") == 0.0:
        yield "no state was met twice: comparing turns of the same state adds nothing here"
