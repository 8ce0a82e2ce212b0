"""Goal record of a catalogue, with its id and split data."""

from dataclasses import dataclass

from agentgym_envs.webshop.rewards import Goal


@dataclass(frozen=True)
class Wish:
    """Goal of one customer."""

    goal: Goal
    id: str
    """Unique within its set: the benchmark's number, or a hash of the goal."""
    split: str
    difficulty: str = ""
    family: str = ""
    """Family of products that the target must be distinguished from; '' without one."""
