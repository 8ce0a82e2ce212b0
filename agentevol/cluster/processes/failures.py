"""Losses of a working process, the time until the work is caught up, and the limit of losses in a row."""

import time
from dataclasses import dataclass

from agentevol.core.errors import AgentEvolError, ConfigError, RunStopped


@dataclass
class ProcessFailures:
    """Losses of one process and its replacements. Times are in seconds, of any clock."""

    in_a_row: int = 0
    """Losses since the work last advanced beyond its furthest step."""
    lost_before: bool = False
    furthest: int = 0
    _lost_at: float | None = None

    def lost(self, now: float) -> None:
        """Note the loss of the process."""
        self.in_a_row, self.lost_before = self.in_a_row + 1, True
        if self._lost_at is None:  # else its replacement was lost as well, before it had caught up
            self._lost_at = now

    def reached(self, step: int, now: float) -> float | None:
        """Note that the work is at `step`, from 0. Returns the time that a loss has cost, once the work is
        caught up.
        """
        if step > self.furthest:
            self.furthest, self.in_a_row = step, 0
        if self._lost_at is None or step < self.furthest:
            return None
        cost, self._lost_at = now - self._lost_at, None
        return cost


def stop_if_hopeless(work: ProcessFailures, most: int, what: str, told: str) -> None:
    """Raise `RunStopped` after more than `most` losses in a row; else wait a while for their cause to pass.

    `what` is the message, with a place for the number; `told` is the error of the last loss.
    """
    if work.in_a_row > most:
        raise RunStopped(
            f"{what.format(work.in_a_row)} (ray.max_replacements); the last time: {last_words(told)}"
        )
    time.sleep(min(0.1 * work.in_a_row, 2.0))


def last_words(told: str) -> str:
    """Error of a process that died of one: the last line of the traceback in Ray's message."""
    lines = [line.strip() for line in told.splitlines() if line.strip()]
    found = next((line for line in reversed(lines) if "Error: " in line), lines[-1] if lines else "unknown")
    return found[:300]


def start_failure(told: str, who: str = "a rollout worker") -> AgentEvolError:
    """Error for a process that did not start."""
    reason = last_words(told)
    kind, _, text = reason.partition(": ")
    if kind.endswith(ConfigError.__name__):
        return ConfigError(text)
    return RunStopped(f"{who} did not start: {reason}")
