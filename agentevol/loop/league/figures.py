"""Figures of a league: lines of the console, and numbers for sinks of metrics."""

from collections.abc import Iterator, Sequence

from agentevol.core.summaries import LeagueEntry
from agentevol.loop.league.draws import LATEST

BEGINNING = "league_"
"""Beginning of the names of figures."""


def lines(entries: Sequence[LeagueEntry]) -> Iterator[str]:
    """A line for each partner that was met: `league, 0001: 12 episodes, won 58 %, mean reward 0.310, ...`."""
    for one in entries:
        if not one.episodes:
            continue
        won = "" if one.win_rate is None else f", won {one.win_rate:.0%}"
        drawn = f"probability {one.probability:.2f}"
        if one.estimate is not None and one.weight is not None:
            drawn = f"w {one.estimate:.2f}, weight {one.weight:.2f}, {drawn}"
        reward = f"mean reward {one.mean_reward:.3f}"
        yield f"league, {one.partner}: {one.episodes} episodes{won}, {reward} ({drawn})"


def figures(entries: Sequence[LeagueEntry]) -> dict[str, float]:
    """Win rate and mean reward beside each script, and beside the checkpoint against which the policy won
    least: in self-play the mean reward of a zero-sum world is 0 whatever the policy learns.
    """
    named = {f"beside_{one.partner}": one for one in entries if one.episodes and _is_script(one)}
    lowest = worst(entries)
    if lowest is not None:
        named["worst"] = lowest
    found: dict[str, float] = {}
    for name, one in named.items():
        found[f"{BEGINNING}win_rate_{name}"] = one.win_rate or 0.0
        found[f"{BEGINNING}reward_{name}"] = one.mean_reward or 0.0
    return found


def worst(entries: Sequence[LeagueEntry]) -> LeagueEntry | None:
    """The checkpoint against which the policy won least, and then earned least; None where it met none."""
    met = [one for one in entries if one.episodes and one.partner != LATEST and not _is_script(one)]
    return min(met, key=lambda one: (one.win_rate or 0.0, one.mean_reward or 0.0), default=None)


def _is_script(entry: LeagueEntry) -> bool:
    return entry.partner != LATEST and not entry.partner.isdecimal()
