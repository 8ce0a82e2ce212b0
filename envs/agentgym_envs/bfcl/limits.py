"""Bounds of what a call may cost, beyond those of arguments: numbers, and trees of files.

A call beyond them is refused with the code `limit`, and leaves the state as it was.
"""

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from decimal import localcontext
from typing import Any, NoReturn, cast

from agentgym_envs.tooluse import CallError

MAX_OPERAND = 1e100
MAX_EXPONENT = 1000
MAX_PRECISION = 50
"""Of logarithms and roots, and of the number of decimal places; in digits."""
MAX_NODES = 1000
"""Files and folders that calls may bring a tree to; a larger one from the start may stay as large."""
MAX_DEPTH = 32
MAX_RESULT = 1_000_000
"""Characters of a result. What is written into one file is far less: an action has 65,536."""
MAX_CALLS = 50
"""Calls of one message."""

NUMBERS = {"exponent": MAX_EXPONENT, "precision": MAX_PRECISION, "decimal_places": MAX_PRECISION}
GROWING = frozenset({"cp", "mv", "mkdir", "touch"})
"""Functions after which a tree can be larger or deeper, or contain itself."""


def check_numbers(arguments: Mapping[str, Any]) -> None:
    """Raise `CallError` for numbers with which a calculation takes long or much memory."""
    for name, value in arguments.items():
        bound = NUMBERS.get(name, MAX_OPERAND)
        values = cast("list[Any]", value) if isinstance(value, list) else [value]
        if any(isinstance(one, int | float) and abs(one) > bound for one in values):
            _refuse(f"argument {name!r} must be from {-bound:g} to {bound:g}", name, {"maximum": bound})


@contextmanager
def calculation() -> Generator[None]:
    """A block whose precision of decimal numbers ends with it."""
    with localcontext():
        yield


def check_result(text: str) -> None:
    """Raise `CallError` for a result that is too long."""
    if len(text) > MAX_RESULT:
        _refuse(f"the result has more than {MAX_RESULT:,} characters", None, None)


@contextmanager
def bounded_tree(files: Any) -> Generator[None]:
    """Surrounds a call that may let the tree of `files` grow; undoes it and raises `CallError` beyond the
    bounds.

    Folders may share contents after `cp` and `mv`, so that few calls make a tree of any size, or a circle.
    """
    before = [(folder, dict(folder)) for folder in _folders(files)]
    allowed = max(MAX_NODES, _size(files, 10 * MAX_NODES))
    yield
    if _size(files, allowed) > allowed:
        for folder, contents in before:
            folder.clear()
            folder.update(contents)
        _refuse(
            f"the tree would have more than {allowed:,} files, or more than {MAX_DEPTH} levels", None, None
        )


def _tops(files: Any) -> list[Any]:
    """The root, and the current folder's ancestors that are in no folder: they can be reached by `cd ..`."""
    found, folder = [files.root], files._current_dir
    while folder is not None and len(found) <= MAX_DEPTH:
        above = folder.parent
        if above is None or above.contents.get(folder.name) is not folder:
            found.append(folder)
        folder = above
    return found


def _folders(files: Any) -> list[dict[str, Any]]:
    """The contents of all folders, each once."""
    found = dict[int, dict[str, Any]]()
    waiting = _tops(files)
    while waiting:
        contents: dict[str, Any] = waiting.pop().contents
        if id(contents) not in found:
            found[id(contents)] = contents
            waiting += [item for item in contents.values() if hasattr(item, "contents")]
    return list(found.values())


def _size(files: Any, most: int) -> int:
    """Number of files and folders of the largest tree, one of each that is found on several paths; `most` + 1
    if there are more, or if one is too deep.
    """
    depth, folder = 0, files._current_dir
    while folder is not None:
        depth, folder = depth + 1, folder.parent
    if depth > MAX_DEPTH:
        return most + 1
    return max(_size_below(top, most) for top in _tops(files))


def _size_below(top: Any, most: int) -> int:
    count, waiting = 0, [(top, 0)]
    while waiting:
        folder, depth = waiting.pop()
        count += len(folder.contents)
        if count > most or depth > MAX_DEPTH:
            return most + 1
        waiting += [(item, depth + 1) for item in folder.contents.values() if hasattr(item, "contents")]
    return count


def _refuse(message: str, argument: str | None, expected: object) -> NoReturn:
    raise CallError("limit", message, argument=argument, expected=expected)
