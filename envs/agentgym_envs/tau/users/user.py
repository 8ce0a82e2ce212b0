"""Interface of simulated users: `User`."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from copy import deepcopy
from typing import Any

from agentgym_envs.tooluse import Tool, Toolset

Seat = tuple[Toolset, Callable[[Tool, dict[str, Any]], str]]
"""Tools of the user, and the function that executes one of them."""

STOP, TRANSFER, OUT_OF_SCOPE = "###STOP###", "###TRANSFER###", "###OUT-OF-SCOPE###"
"""Marks that end a dialogue in a message of the user; in a message of the agent they are text."""


class User(ABC):
    """A user in one dialogue."""

    @abstractmethod
    def open(self, greeting: str | None) -> str:
        """The first message; `greeting` is the agent's, if it speaks first."""

    @abstractmethod
    def answer(self, message: str) -> str:
        """The answer to a message of the agent."""

    def copied(self, seat: "Seat | None") -> "User":
        """A user who goes on from here, with the tools of `seat`."""
        return deepcopy(self)

    def figures(self) -> dict[str, Any]:
        """Figures of the dialogue, as JSON values that the agent may see after its end."""
        return {}


def has_stopped(message: str) -> bool:
    """True if a message of the user ends the dialogue."""
    return any(mark in message for mark in (STOP, TRANSFER, OUT_OF_SCOPE))
