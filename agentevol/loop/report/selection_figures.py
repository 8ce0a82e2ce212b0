"""Figures of the selection by their table in a run's report."""

from collections.abc import Mapping

from agentevol.loop.control.collapse import WATCHED
from agentevol.loop.league.figures import BEGINNING as LEAGUE

FEEDBACK = "feedback_"
"""Beginning of the names of counts of opinions."""
OWN = "self_"
"""Beginning of the names of figures of self-evaluation."""


def solved_figures(selection: Mapping[str, float]) -> dict[str, float]:
    """Figures of solved tasks and selected episodes: all that are in no other table."""
    apart = own_figures(selection).keys() | variety(selection).keys()
    found = {name: value for name, value in selection.items() if name not in apart}
    return {name: value for name, value in found.items() if not name.startswith((FEEDBACK, LEAGUE))}


def own_figures(selection: Mapping[str, float]) -> dict[str, float]:
    """Figures of self-evaluation."""
    return {name: value for name, value in selection.items() if name.startswith(OWN)}


def feedback_figures(selection: Mapping[str, float]) -> dict[str, float]:
    """Counts of opinions, and of what they became."""
    return {
        name.removeprefix(FEEDBACK): value for name, value in selection.items() if name.startswith(FEEDBACK)
    }


def variety(selection: Mapping[str, float]) -> dict[str, float]:
    """Figures that are watched for a collapse."""
    return {name: selection[name] for name in WATCHED if name in selection}
