"""Trials whose outcomes are squares; the processes that make them import little."""

import os

from agentevol.core.errors import RunStopped
from agentgym_envs.core import Record


class Square(Record):
    """Outcome of a trial, and the process that made it."""

    number: int
    square: int
    process: int


def squared(number: int) -> Square:
    return Square(number=number, square=number**2, process=os.getpid())


def refused(number: int) -> Square:
    if number == 1:
        raise RunStopped("trial 1 lost its episodes")
    return squared(number)
