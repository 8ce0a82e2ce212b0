"""Progress of long commands: `counting`."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def counting(what: str) -> Iterator[Callable[[int], None]]:
    """Progress line on a terminal with count and elapsed time; yields the function that takes the count."""
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    text = TextColumn("{task.description}: {task.completed:.0f}")
    columns = (SpinnerColumn(), text, TimeElapsedColumn())
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task(what, total=None)
        yield lambda number: progress.update(task, completed=number)
