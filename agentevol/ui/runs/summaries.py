"""Summaries of runs, read again only when their files have changed."""

from functools import lru_cache
from pathlib import Path

from agentevol.core.summaries import RunSummary
from agentevol.loop.report.comparison import checkpoint_strengths
from agentevol.loop.report.strengths import Strength
from agentevol.loop.state.run_folder import read_summary

Stamp = tuple[int, ...]


def summary_of(folder: Path) -> RunSummary:
    """Summary of a run. Raises `ConfigError` or `OSError` where it cannot be read."""
    return _summary(folder, stamp(folder))


def strengths_of(folder: Path) -> list[Strength]:
    """Strengths of a run's checkpoints. Raises `StoreError`."""
    return _strengths(folder, stamp(folder))


def stamp(folder: Path) -> Stamp:
    """Times of change of the files of a summary: those of iterations are written once, or replaced."""
    return tuple(
        path.stat().st_mtime_ns for path in (folder / "config.toml", folder / "iterations") if path.exists()
    )


@lru_cache(maxsize=256)
def _summary(folder: Path, stamp: Stamp) -> RunSummary:
    del stamp
    return read_summary(folder)


@lru_cache(maxsize=64)
def _strengths(folder: Path, stamp: Stamp) -> list[Strength]:
    return checkpoint_strengths(folder, _summary(folder, stamp))
