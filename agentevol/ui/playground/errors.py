"""Errors of the playground, each of which is a page."""

from agentevol.ui.errors import PageError


class CannotPlay(PageError):
    """The environment cannot be played on this machine."""

    status = 400
    title = "This cannot be played here"


class TooMany(PageError):
    """So many episodes or environments are open that no other one can be."""

    status = 503
    title = "Too many are playing"
