"""Table of a mixed run by environment: before and after, as in AgentEvol's paper (arXiv:2406.04151, table 2).

environment    tasks   start     iteration 3 (best)   gain    95 % interval    mean return
alfworld         200   21.0 %    83.0 %              +62.0    +53.5 to +68.8   0.210 to 0.830
textcraft        100   ...
"""

from collections.abc import Sequence

from agentevol.core.summaries import EvaluationSummary, IterationSummary, RunSummary, best
from agentevol.loop.report.document import Table
from agentevol.loop.report.intervals import newcombe
from agentevol.loop.report.rates import mean_text, rate_text

_TITLE = "Before and after, by environment"
_NOTE = (
    "Held-out tasks of each environment, at the start and with the best checkpoint. The gain is in points of"
    " success, its interval is Newcombe's."
)


def environments_table(summary: RunSummary) -> Table:
    """Table with a line for each environment of a mixed run; without lines for other runs."""
    evaluated = [one for one in summary.iterations if one.evaluation and one.evaluation.environments]
    leader = best(summary)
    if not evaluated or leader is None or leader.evaluation is None:
        return Table(_TITLE, _NOTE, [], [])
    start, last = evaluated[0].evaluation, leader.evaluation
    header = ["environment", "tasks", _stage(evaluated[0]), f"{_stage(leader)} (best)"]
    rows = [
        _row(name, start.environments[name], own)
        for name, own in last.environments.items()
        if start is not None and name in start.environments
    ]
    return Table(_TITLE, _NOTE, [*header, "gain", "95 % interval", "mean return", "turns"], rows)


def _stage(one: IterationSummary) -> str:
    return f"iteration {one.iteration}" if one.iteration else "start"


def _row(name: str, first: EvaluationSummary, last: EvaluationSummary) -> list[str]:
    return [
        name,
        f"{last.n}",
        rate_text(first.successes, first.n),
        rate_text(last.successes, last.n),
        *_gain(first, last),
        _both(first.mean_reward, last.mean_reward, ".3f"),
        _both(first.mean_turns, last.mean_turns, ".1f"),
    ]


def _gain(first: EvaluationSummary, last: EvaluationSummary) -> Sequence[str]:
    if not (first.n and last.n):
        return ("–", "–")
    low, high = newcombe(last.successes, last.n, first.successes, first.n)
    gain = last.successes / last.n - first.successes / first.n
    return (f"{100 * gain:+.1f}", f"{100 * low:+.1f} to {100 * high:+.1f}")


def _both(first: float | None, last: float | None, pattern: str) -> str:
    return f"{mean_text(first, pattern)} to {mean_text(last, pattern)}"
