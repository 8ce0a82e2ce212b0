"""Live progress of a run, as its page shows it."""

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from agentevol.config.commands import command
from agentevol.loop.state.progress_file import RunProgress, is_alive, read_progress
from agentevol.ui.text import duration, number

QUIET_S = 600.0
"""Seconds without news after which a run on another machine is said to be silent."""


@dataclass(frozen=True)
class LiveView:
    """State of a run now."""

    state: str
    """`running`, `finished`, `stopped`, `killed`, `silent`, or `unknown` without a progress file."""
    headline: str
    share: float | None = None
    """Part of the phase that is done, 0 to 1; None where its size is not known."""
    facts: tuple[tuple[str, str], ...] = ()
    """Names and values, such as the rate and the time that is left."""
    command: str = ""
    """Command that continues the run; empty where there is nothing to continue."""

    @property
    def is_running(self) -> bool:
        """True while there may be news."""
        return self.state == "running"


def live_view(folder: Path) -> LiveView:
    """Progress of the run in a folder."""
    progress = read_progress(folder)
    if progress is None:
        return LiveView("unknown", "no progress recorded")
    view = view_of(progress, is_alive(progress), time.time())
    is_over = view.state in ("stopped", "killed")
    return replace(view, command=command("run", "--resume", folder)) if is_over else view


def view_of(progress: RunProgress, alive: bool | None, now: float) -> LiveView:
    """Progress at a time; `alive` says whether the process is there, None if that is not known."""
    if progress.state == "finished":
        return LiveView("finished", f"finished after {duration(progress.updated - progress.began)}")
    if progress.state == "stopped":
        return LiveView("stopped", f"stopped: {progress.message}")
    quiet = now - progress.updated
    if alive is False:
        return LiveView("killed", f"its process is gone; the last news came {duration(quiet)} ago")
    if alive is None and quiet > QUIET_S:
        return LiveView("silent", f"no news from {progress.machine} for {duration(quiet)}")
    share = progress.done / progress.total if progress.total else None
    return LiveView("running", _phase(progress), share, tuple(_facts(progress, now)))


def left_s(progress: RunProgress) -> float | None:
    """Seconds until the phase is complete at its rate so far; None while that is not known."""
    if not progress.total or not progress.per_s:
        return None
    return max(0, progress.total - progress.done) / progress.per_s


def _phase(progress: RunProgress) -> str:
    if not progress.phase:
        return "starting: the model, the environment and the workers are loaded"
    where = "" if progress.iteration is None else f"iteration {progress.iteration}: "
    return f"{where}{progress.phase}"


def _facts(progress: RunProgress, now: float) -> Iterator[tuple[str, str]]:
    if progress.total:
        yield progress.unit, f"{progress.done:,} of {progress.total:,}"
    if progress.per_s is not None:
        yield "rate", f"{progress.per_s:.1f} {progress.unit}/s"
    if progress.tokens_per_s:
        yield "sampled", f"{progress.tokens_per_s:,.0f} tokens/s"
    if (left := left_s(progress)) is not None:
        yield "left in this phase", duration(left)
    if progress.won is not None:
        yield "won", f"{progress.won:,}"
    if progress.failed is not None:
        yield "failed", f"{progress.failed:,}"
    if progress.loss is not None:
        yield "loss", number(progress.loss)
    yield "running for", duration(now - progress.began)
