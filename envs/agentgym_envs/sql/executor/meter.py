"""Meter of one statement's work."""

import time

from agentgym_envs.sql.executor.limits import MAX_CPU_S, MAX_VM_STEPS, STEPS_PER_CHECK

CALLING = 16
"""Steps for which a call of a function of ours counts: about 1 µs."""


class OverBudget(Exception):
    """A function would exceed the budget of its statement."""


class Meter:
    """Counts VM steps, those that functions are charged for among them, against the budget of a statement."""

    def __init__(self) -> None:
        self.start()

    def start(self) -> None:
        """Begin a statement."""
        self.steps = 0
        self.exceeded = ""
        self._deadline = time.thread_time() + MAX_CPU_S

    def check(self) -> int:
        """Progress handler: 1 stops the statement."""
        self.steps += STEPS_PER_CHECK
        if self.steps > MAX_VM_STEPS:
            self.exceeded = f"more than {MAX_VM_STEPS:,} steps"
        elif time.thread_time() > self._deadline:
            self.exceeded = f"more than {MAX_CPU_S:g} s of computing time"
        return 1 if self.exceeded else 0

    def charge(self, operations: int) -> None:
        """Count a function that does so many simple operations, 64 to a step, before it does them.

        Raises `OverBudget`.
        """
        self.charge_steps(CALLING + (operations >> 6))

    def charge_steps(self, steps: int) -> None:
        """Count steps; raises `OverBudget`."""
        self.steps += steps
        if self.steps > MAX_VM_STEPS:
            self.exceeded = f"more than {MAX_VM_STEPS:,} steps"
            raise OverBudget
