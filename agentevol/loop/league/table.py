"""Table of a league in the report of a run."""

from agentevol.core.summaries import LeagueEntry, RunSummary
from agentevol.loop.league.figures import worst

TITLE = "League"
NOTE = (
    "Partners of explored episodes, their probability, and results in the iteration's episodes. w: win rate"
    " as estimated from earlier iterations; a checkpoint has the weight (1 - w)^2, a script the one that was"
    " set. Won: share of episodes with a return above the partner's, equal ones half. The worst checkpoint is"
    " the one that the policy beat least."
)
HEADER = ["iteration", "partner", "probability", "w", "weight", "episodes", "won", "mean reward"]


def league_table(summary: RunSummary) -> list[list[str]]:
    """A row for each iteration and partner; none of a run without a league."""
    return [
        _row(f"{one.iteration}", entry, is_worst=entry is worst(one.league))
        for one in summary.iterations
        for entry in one.league
    ]


def _row(iteration: str, entry: LeagueEntry, *, is_worst: bool) -> list[str]:
    return [
        iteration,
        f"{entry.partner}{' (worst)' if is_worst else ''}",
        f"{entry.probability:.3f}",
        _text(entry.estimate, ".3f"),
        _text(entry.weight, ".3f"),
        f"{entry.episodes:,}",
        _text(entry.win_rate, ".1%"),
        _text(entry.mean_reward, ".3f"),
    ]


def _text(value: float | None, pattern: str) -> str:
    return "–" if value is None else format(value, pattern)
