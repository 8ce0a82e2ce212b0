"""Trials of a benchmark. Outcomes that are kept in a file are not made again, and several trials may run at
a time, each in a process of its own.
"""

import sys
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path
from typing import Any, TextIO, TypeVar

from agentevol.cli.benchmarks.kept_outcomes import keep_records
from agentevol.cli.benchmarks.progress import say
from agentgym_envs.core import Record

K = TypeVar("K", bound=Hashable)
R = TypeVar("R", bound=Record)


def completed(
    wanted: Iterable[K],
    found: dict[K, R],
    make: Callable[[K], R],
    file: Path | None,
    settings: Mapping[str, Any],
    jobs: int = 1,
) -> list[R]:
    """Outcomes of the wanted trials: those that were found, and the others as they are made and kept.

    With several `jobs`, `make` and the trials have to be picklable. Where a trial raises, those that run are
    completed and kept, no other one begins, and the error is raised.
    """
    trials = list(wanted)
    for trial, outcome in _made([one for one in trials if one not in found], make, jobs):
        found[trial] = outcome
        keep_records(file, settings, list(found.values()))
    return [found[trial] for trial in trials]


def _made(trials: Sequence[K], make: Callable[[K], R], jobs: int) -> Iterator[tuple[K, R]]:
    """Trials with their outcomes, in the order in which they end."""
    if jobs == 1 or len(trials) < 2:
        for trial in trials:
            say(str(trial))
            yield trial, make(trial)
        return
    errors: list[BaseException] = []
    # spawned, since threads of torch do not survive a fork; each trial anew, since memory of others stays
    pool = ProcessPoolExecutor(jobs, mp_context=get_context("spawn"), max_tasks_per_child=1)
    with pool:
        futures = {pool.submit(_in_process, make, trial): trial for trial in trials}
        for future in as_completed(futures):
            if future.cancelled():
                continue
            error = future.exception()
            if error is None:
                yield futures[future], future.result()
                continue
            errors.append(error)
            for other in futures:
                other.cancel()
    if errors:
        raise errors[0]


def _in_process(make: Callable[[K], R], trial: K) -> R:
    sys.stderr = _Prefixed(sys.stderr, f"[{trial}] ")
    say(str(trial))
    return make(trial)


class _Prefixed:
    """Standard error whose lines begin with a prefix, as several processes write to one terminal."""

    def __init__(self, stream: TextIO, prefix: str) -> None:
        self._stream, self._prefix = stream, prefix

    def write(self, text: str) -> int:
        lines = "".join(f"{self._prefix}{line}" for line in text.splitlines(keepends=True) if line.strip())
        return self._stream.write(lines)

    def isatty(self) -> bool:
        return False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)
