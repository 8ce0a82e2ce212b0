"""Progress display of a run: bars with rates and failure counts, a line for each iteration.

On a terminal the bars move; elsewhere (a log, CI) finished phases are printed, one line each, and long ones
once a minute.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bars
from rich.table import Table

from agentevol.core.summaries import EvaluationSummary, IterationSummary
from agentevol.data.selection.filters import sampled_tokens
from agentevol.loop.report.intervals import wilson
from agentevol.loop.report.rates import interval_text, mean_text, rate_text, share_text, thinking_text
from agentevol.loop.state.progress_file import ProgressFile
from agentevol.rollout.faults import sentence
from agentevol.rollout.metrics import failed_episodes
from agentgym_store.records import Trajectory

LOG_EVERY_S = 60.0


class Progress:
    """Progress on a console."""

    def __init__(self, console: Console | None = None) -> None:
        self.console = console or Console(highlight=False)
        self._spoke = time.monotonic()
        self._file: ProgressFile | None = None

    @contextmanager
    def recorded(self, folder: Path) -> Iterator[None]:
        """Within the block, also write the progress of the run in `folder` to its `progress.json`."""
        self._file = ProgressFile(folder)
        try:
            yield
        except BaseException as cause:
            self._file.end("stopped", _reason(cause))
            raise
        else:
            self._file.end("finished")
        finally:
            self._file = None

    def say(self, text: str) -> None:
        """Print one line."""
        self._spoke = time.monotonic()
        self.console.print(text, markup=False, soft_wrap=True)

    @contextmanager
    def playing(
        self, purpose: str, split: str, iteration: int, total: int, done: int
    ) -> Iterator[Callable[[Sequence[Trajectory]], None]]:
        """Show a bar of episodes; call the result with every batch that was committed to the table."""
        won = broken = tokens = 0
        finished, began = done, time.perf_counter()
        title = f"iteration {iteration}  {purpose} {split}"
        self._begin(f"{purpose} {split}", iteration, "episodes", done=done, total=total)
        with self._bars() as bars:
            bar = bars.add_task(title, total=total, completed=done, note="")

            def advance(batch: Sequence[Trajectory]) -> None:
                nonlocal won, broken, finished, tokens
                finished += len({t.episode for t in batch})
                tokens += sum(sampled_tokens(t) for t in batch)
                won += _won(batch)
                broken += len(failed_episodes(batch))
                took = time.perf_counter() - began
                rate = (finished - done) / took
                pace = {"per_s": rate, "tokens_per_s": tokens / took}
                self._note(done=finished, total=total, won=won, failed=broken, **pace)
                bars.update(
                    bar, completed=finished, note=f"{rate:.1f} episodes/s, {won} won, {broken} failed"
                )
                self._log(f"{title}: {finished} of {total} episodes, {won} won, {broken} failed so far")

            yield advance
        if not self.console.is_terminal:
            seconds = time.perf_counter() - began
            pace = f"{(finished - done) / seconds:.1f} episodes/s, {tokens / seconds:,.0f} sampled tokens/s"
            outcome = f"{finished} of {total} episodes, {won} won, {broken} failed"
            self.say(f"{title}: {outcome}, {seconds:.1f} s, {pace}")

    @contextmanager
    def learning(
        self, iteration: int | None = None, what: str = "learn"
    ) -> Iterator[Callable[[int, int, float], None]]:
        """Show a bar of optimiser steps, of an iteration or of a single training."""
        latest, began = (0, 0, 0.0), time.perf_counter()
        title = what if iteration is None else f"iteration {iteration}  {what}"
        self._begin(what, iteration, "steps")
        with self._bars() as bars:
            bar = bars.add_task(title, total=None, note="")

            def advance(step: int, steps: int, loss: float) -> None:
                nonlocal latest
                latest = (step, steps, loss)
                if steps:
                    pace = step / (time.perf_counter() - began)
                    self._note(done=step, total=steps, per_s=pace, loss=loss)
                    bars.update(bar, completed=step, total=steps, note=f"loss {loss:.3f}")
                    self._log(f"{title}: step {step} of {steps}, loss {loss:.3f}")

            yield advance
        if not self.console.is_terminal:
            self.say(f"{title}: {latest[1]} steps, {time.perf_counter() - began:.1f} s")

    @contextmanager
    def playing_once(self, title: str) -> Iterator[Callable[[int], Callable[[Sequence[Trajectory]], None]]]:
        """Show a bar for one split whose number of episodes is not known yet."""
        with self._bars() as bars:
            bar = bars.add_task(title, total=None, note="")
            finished = won = broken = 0

            def advance(batch: Sequence[Trajectory]) -> None:
                nonlocal finished, won, broken
                finished += len({t.episode for t in batch})
                won += _won(batch)
                broken += len(failed_episodes(batch))
                bars.update(bar, completed=finished, note=f"{won} won, {broken} failed")

            def start(total: int) -> Callable[[Sequence[Trajectory]], None]:
                bars.update(bar, total=total)
                return advance

            yield start

    def finished(self, summary: IterationSummary) -> None:
        """Print one line with the metrics of an iteration, and one with its faults."""
        if summary.evaluation is not None:
            self.say(f"iteration {summary.iteration}: {figures(summary.evaluation)}")
        if broken := sentence(summary.faults):
            self.say(f"iteration {summary.iteration}: {broken}")

    def _begin(
        self, phase: str, iteration: int | None, unit: Literal["episodes", "steps"], **values: float
    ) -> None:
        if self._file is not None:
            self._file.begin(phase, iteration, unit, **values)

    def _note(self, **values: float) -> None:
        if self._file is not None:
            self._file.update(**values)

    def _log(self, text: str) -> None:
        """Print a line where there is no terminal, if none was printed for a while."""
        if not self.console.is_terminal and time.monotonic() - self._spoke > LOG_EVERY_S:
            self.say(text)

    def _bars(self) -> Bars:
        columns = (
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.fields[note]}"),
        )
        return Bars(*columns, console=self.console, disable=not self.console.is_terminal)


def _reason(cause: BaseException) -> str:
    """Reason for the end of a run, in a line."""
    if isinstance(cause, KeyboardInterrupt):
        return "interrupted"
    return " ".join(f"{cause or type(cause).__name__}".split())[:500]


def _won(batch: Sequence[Trajectory]) -> int:
    """Number of seats in which the policy won."""
    return sum(t.succeeded() for t in batch if t.purpose != "partner")


def progress_on(console: Console | None) -> Progress:
    """Progress of a call of the public API: on `console`, or on standard error where there is none."""
    return Progress(console or Console(highlight=False, stderr=True))


def figures(evaluation: EvaluationSummary) -> str:
    """Success with its interval as text: `success on test 41.5 % [34.9, 48.4] of 200`."""
    if evaluation.n == 0:
        return f"no scored episode on {evaluation.split}"
    low, high = wilson(evaluation.successes, evaluation.n)
    rate = evaluation.successes / evaluation.n
    return f"success on {evaluation.split} {rate:.1%} [{low:.1%}, {high:.1%}] of {evaluation.n}"


def evaluation_table(
    model: str, evaluation: EvaluationSummary, intervals: Mapping[str, str] | None = None
) -> Table:
    """Success by task type and difficulty, each with its interval, under a line for all. `intervals` are
    those of repeated episodes by group; others are Wilson's.
    """
    table = Table(title=f"{model} on {evaluation.split}", title_justify="left")
    for name in ("tasks", "success", "95 % interval", "won"):
        table.add_column(name, justify="left" if name == "tasks" else "right")
    groups = {"all": (evaluation.successes, evaluation.n)}
    for values in evaluation.by.values():
        groups |= values
    for name, (successes, n) in groups.items():
        interval = (intervals or {}).get(name) or interval_text(successes, n)
        table.add_row(name, rate_text(successes, n), interval, f"{successes}/{n}")
    table.caption = _means(evaluation) if evaluation.n else "no episode has a return"
    if evaluation.thinking is not None:
        table.caption += f"\n{thinking_text(evaluation.thinking)}"
    return table


def _means(evaluation: EvaluationSummary) -> str:
    return (
        f"mean reward {mean_text(evaluation.mean_reward, '.3f')}, {mean_text(evaluation.mean_turns, '.1f')}"
        f" turns, {mean_text(evaluation.mean_tokens, '.0f')} sampled tokens,"
        f" {share_text(evaluation.invalid_actions)} invalid actions"
    )
