"""A goal as a catalogue keeps it: with the id by which it is asked for, and where it belongs."""

from dataclasses import dataclass

from agentgym_envs.webshop.rewards import Goal


@dataclass(frozen=True)
class Wish:
    """What one customer wants."""

    goal: Goal
    id: str
    """Unique among the wishes of its set: the benchmark's number, or a hash of what is wanted."""
    split: str
    difficulty: str = ""
    family: str = ""
    """Of products among which this one is to be told apart; '' where there is none."""
