"""The expert's way of an episode's task, played on request in a process with a time limit."""

import json
import subprocess
import sys
import threading
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agentevol.ui.kept import Kept
from agentevol.ui.library import Source
from agentgym_store.records import Trajectory

AT_ONCE = 2
"""Processes at the same time; further requests wait."""


@dataclass(frozen=True)
class ExpertTurn:
    """One action of the expert and its result."""

    action: str
    observation: str
    reward: float


@dataclass(frozen=True)
class ExpertWay:
    """The expert's episode, or why there is none."""

    problem: str = ""
    initial: str = ""
    turns: tuple[ExpertTurn, ...] = ()
    total_reward: float = 0.0
    note: str = ""
    """A difference of the environment here from the recorded one."""


class Experts:
    """Player of the expert's ways, which keeps the latest."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._running = threading.Semaphore(AT_ONCE)
        self._kept: Kept[ExpertWay] = Kept(64)

    def way(self, source: Source, episode: Trajectory) -> ExpertWay:
        """The expert's way of the episode's task with its seed, in the environment of this machine."""
        if episode.episode_id is not None:
            return ExpertWay("An episode with several agents has no expert's way.")
        request = {
            "env": episode.env,
            "options": options_of(source, episode.env),
            "task_id": episode.task_id,
            "seed": episode.seed,
        }
        versions = [episode.env_version, episode.data_version]
        line = json.dumps(request)
        return self._kept.get((line, *versions), lambda: self._played(line, versions))

    def _played(self, request: str, versions: Sequence[str]) -> ExpertWay:
        with self._running:
            try:
                done = subprocess.run(
                    [sys.executable, "-m", "agentevol.ui.reader.expert_worker"],
                    input=request + "\n",
                    capture_output=True,
                    text=True,
                    timeout=self._seconds,
                    check=False,
                    errors="replace",
                )
            except subprocess.TimeoutExpired:
                return ExpertWay(f"The environment did not answer within {self._seconds:g} s.")
        try:
            return expert_way(json.loads(done.stdout), versions)
        except (ValueError, KeyError, TypeError):
            last = (done.stderr.strip().splitlines() or ["no output"])[-1][:300]
            return ExpertWay(f"The environment's process ended with {done.returncode}: {last}")


def expert_way(answer: dict[str, Any], versions: Sequence[str]) -> ExpertWay:
    """The way that a worker answered; `versions` are those of the recorded environment and its data."""
    if "problem" in answer:
        return ExpertWay(" ".join(str(answer["problem"]).split()))
    here = answer["versions"]
    note = (
        ""
        if list(versions) == here
        else f"Recorded with {' / '.join(versions)}; this machine has {' / '.join(here)}."
    )
    turns = tuple(ExpertTurn(one["action"], one["observation"], one["reward"]) for one in answer["turns"])
    return ExpertWay("", answer["initial"], turns, answer["total_reward"], note)


def options_of(source: Source, env: str) -> dict[str, Any]:
    """Options of the environment in the run's configuration; none for another environment, or for a table."""
    if not isinstance(source.place, Path) or not source.is_run:
        return {}
    try:
        section = tomllib.loads((source.place / "config.toml").read_text("utf-8")).get("environment", {})
    except (OSError, ValueError):
        return {}
    return dict(section.get("options", {})) if section.get("name") == env else {}
