"""Trials of a comparison: run concurrently, saved in a file as they finish, and not repeated.

    outcomes = tried(wanted, run, Outcome, settings={"rounds": 5}, processes=2, file=Path("figures.json"))

A trial is an algorithm, a control or an arm with a seed; its outcome has it as `trial`. An interrupted
comparison continues from the file.
"""

import argparse
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Protocol, TypeVar

from pydantic import TypeAdapter

from agentevol.core.errors import ConfigError
from agentgym_store.files import whole_file


class Tried(Protocol):
    """Outcome of a trial."""

    @property
    def trial(self) -> Any:
        """The trial, equal to the wanted one."""
        ...


TrialT = TypeVar("TrialT")
OutcomeT = TypeVar("OutcomeT", bound=Tried)


def options(name: str, description: str, rounds: int) -> argparse.ArgumentParser:
    """Common options of comparisons: settings, seeds, rounds, concurrency and file of results."""
    parser = argparse.ArgumentParser(prog=f"python -m benchmarks {name}", description=description)
    parser.add_argument("settings", nargs="*", metavar="key.path=value", help="for all trials")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=rounds)
    parser.add_argument("--processes", type=int, default=2, help="trials at a time, one thread each")
    parser.add_argument("--json", type=Path, help="keep outcomes in this file, and go on from it")
    return parser


def tried(
    wanted: Sequence[TrialT],
    run: Callable[[TrialT], OutcomeT],
    kind: type[OutcomeT],
    *,
    settings: Mapping[str, Any],
    processes: int,
    file: Path | None,
    say: Callable[[OutcomeT], str],
) -> list[OutcomeT]:
    """Outcomes of all wanted trials, in their order.

    Trials run in separate processes, so `run` is a module-level function. `settings` are those common to all
    trials: a file with other ones is a `ConfigError`. `say` returns the line that is printed for each new
    one.
    """
    adapter = TypeAdapter(kind)
    found = {outcome.trial: outcome for outcome in _kept(file, settings, adapter)}
    for outcome in _played([trial for trial in wanted if trial not in found], run, processes):
        found[outcome.trial] = outcome
        print(say(outcome), flush=True)
        if file is not None:
            _keep(file, settings, [adapter.dump_python(one, mode="json") for one in found.values()])
    return [found[trial] for trial in wanted]


def _played(
    wanted: Sequence[TrialT], run: Callable[[TrialT], OutcomeT], processes: int
) -> Iterator[OutcomeT]:
    if not wanted:
        return
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        futures = [pool.submit(run, trial) for trial in wanted]
        try:
            for future in as_completed(futures):
                yield future.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _kept(file: Path | None, settings: Mapping[str, Any], adapter: TypeAdapter[OutcomeT]) -> list[OutcomeT]:
    if file is None or not file.is_file():
        return []
    figures = json.loads(file.read_text(encoding="utf-8"))
    if figures["settings"] != json.loads(json.dumps(settings)):
        raise ConfigError(f"{file} has trials with other settings: name another file")
    return [adapter.validate_python(one) for one in figures["outcomes"]]


def _keep(file: Path, settings: Mapping[str, Any], outcomes: Sequence[Any]) -> None:
    with whole_file(file) as stream:
        stream.write((json.dumps({"settings": settings, "outcomes": outcomes}, indent=1) + "\n").encode())
