"""Figures of an iteration's rewards, in the run's folder: `process/0001.json`."""

import json
from collections.abc import Mapping
from pathlib import Path

from agentevol.core.files import write_atomically


def reward_figures(run_folder: Path, iteration: int) -> dict[str, float]:
    """Figures of the source of this iteration's rewards; empty for the environment's own."""
    file = _figures_file(run_folder, iteration)
    return json.loads(file.read_text()) if file.is_file() else {}


def note_reward_figures(run_folder: Path, iteration: int, figures: Mapping[str, float]) -> None:
    """Write the figures of an iteration's rewards, replacing earlier ones."""
    write_atomically(_figures_file(run_folder, iteration), json.dumps(figures))


def _figures_file(run_folder: Path, iteration: int) -> Path:
    return run_folder / "process" / f"{iteration:04d}.json"
