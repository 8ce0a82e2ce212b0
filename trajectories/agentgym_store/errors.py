"""Exceptions of the store."""

import re

_LINK = re.compile(r"\s*\n\s*(?:\x1b\[[0-9;]*m)*↳(?:\x1b\[[0-9;]*m)*\s*")
"""Separator between an error of delta-rs and its cause: a line each, with a coloured arrow."""


class StoreError(Exception):
    """A table or a data set cannot be read or written; the text is one line: the operation, the place, the
    remedy.
    """


class StatementError(StoreError):
    """A statement of SQL cannot be run, or takes more than its limits; the text is one line."""


def one_line(cause: BaseException) -> str:
    """The message of an exception in one line of at most 300 characters; its type if it has no message.

    It has the first line, with the chain of causes that delta-rs writes below it.
    """
    lines = _LINK.sub(": ", str(cause).strip()).splitlines()
    return lines[0][:300] if lines else type(cause).__name__
