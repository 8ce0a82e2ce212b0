"""Figures of the selection by their table in a run's report."""

from collections.abc import Mapping

from agentevol.loop.control.collapse import WATCHED

OWN = "self_"
"""Beginning of the names of figures of self-evaluation."""


def solved_figures(selection: Mapping[str, float]) -> dict[str, float]:
    """Figures of solved tasks and selected episodes: all that are in no other table."""
    apart = own_figures(selection).keys() | variety(selection).keys()
    return {name: value for name, value in selection.items() if name not in apart}


def own_figures(selection: Mapping[str, float]) -> dict[str, float]:
    """Figures of self-evaluation."""
    return {name: value for name, value in selection.items() if name.startswith(OWN)}


def variety(selection: Mapping[str, float]) -> dict[str, float]:
    """Figures that are watched for a collapse."""
    return {name: selection[name] for name in WATCHED if name in selection}
