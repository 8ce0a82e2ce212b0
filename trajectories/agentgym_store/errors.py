"""The one error of the store."""


class StoreError(Exception):
    """A table or a data set cannot be read or written; the text is one line: what, where, and what to do."""


def one_line(cause: BaseException) -> str:
    """The first line of an exception's text, at most 300 characters; its type where it has none."""
    lines = str(cause).strip().splitlines()
    return lines[0][:300] if lines else type(cause).__name__
