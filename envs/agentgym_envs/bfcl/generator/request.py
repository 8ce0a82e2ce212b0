"""Requests of a user, and what makes them for one class."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from random import Random
from typing import ClassVar

from agentgym_envs.bfcl.dialogues import GoldCall


@dataclass(frozen=True)
class Request:
    """Message of the user, and the calls that it takes."""

    says: str
    calls: list[GoldCall]
    vague: str = ""
    """The same without a value that the calls need; '' if it needs none that can be left out."""
    detail: str = ""
    """The message that brings the value."""


class Domain(ABC):
    """World of one class, and requests that fit its state, which each of them changes."""

    owner: ClassVar[str]
    """The class."""

    def __init__(self, draw: Random) -> None:
        self.draw = draw

    @abstractmethod
    def config(self) -> dict[str, object]:
        """The state in which the world begins. Called before any request."""

    def beginning(self) -> list[Request]:
        """Requests that come first."""
        return []

    @abstractmethod
    def request(self) -> Request:
        """The next request."""


def call(name: str, /, **arguments: object) -> GoldCall:
    """A call of the solution."""
    return GoldCall(name=name, arguments=arguments)
