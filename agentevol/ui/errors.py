"""Errors of the pages: each is a page that says what happened and what to do."""

from dataclasses import dataclass

from agentevol.core.errors import AgentEvolError
from agentgym_store.errors import StoreError


class PageError(Exception):
    """Something that cannot be shown."""

    status = 404
    title = "Not found"

    def __init__(self, message: str, advice: str = "") -> None:
        super().__init__(message)
        self.advice = advice


class NotFound(PageError):
    """No run, table or episode of this name."""


class BadQuery(PageError):
    """A filter, cursor or other parameter of the address that is not valid."""

    status = 400
    title = "This cannot be shown"


@dataclass(frozen=True)
class ErrorView:
    """View of an error."""

    status: int
    title: str
    message: str
    advice: str


UNREADABLE = (
    "Check that the folder is there and complete, and that this version of agentevol is not older than the"
    " one that wrote it. Then load this page again."
)


def error_view(cause: Exception) -> ErrorView:
    """The page of an exception; one that nobody expected is told by its type and message."""
    if isinstance(cause, PageError):
        return ErrorView(cause.status, cause.title, str(cause), cause.advice)
    if isinstance(cause, StoreError | AgentEvolError | OSError):
        return ErrorView(500, "This cannot be read", str(cause), UNREADABLE)
    advice = "This is an error of the page, not of your data. The terminal of agentevol ui has the traceback."
    return ErrorView(500, "This page failed", f"{type(cause).__name__}: {cause}", advice)
