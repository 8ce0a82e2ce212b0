"""Address lists: `Person`, and the names and descriptions in an utterance."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from agentgym_envs.core import Record
from agentgym_envs.sotopia.moves import padded

_PAIR = re.compile(r"([a-z]+)=([\w-]+)")


class Person(Record):
    """Entry of an address list."""

    name: str
    attributes: dict[str, str]

    @property
    def line(self) -> str:
        """The entry as its owner reads it."""
        return f"{self.name} ({' '.join(f'{key}={value}' for key, value in self.attributes.items())})"

    def fits(self, description: Mapping[str, str]) -> bool:
        """Whether the person has all attributes of a description, in any case of letters."""
        return all(self.attributes.get(key, "").casefold() == value for key, value in description.items())


AddressList = tuple[Person, ...]


@dataclass(frozen=True)
class Index:
    """Names of a list in the form that `mentioned` looks for."""

    names: tuple[tuple[str, str], ...]
    """Name, and its first name between spaces in lower case."""

    @classmethod
    def of(cls, people: Sequence[Person]) -> "Index":
        """The index of a list; first names are different in one task."""
        return cls(tuple((one.name, padded(one.name.partition(" ")[0])) for one in people))

    def mentioned(self, words: str) -> list[str]:
        """Names whose first name is a word of an utterance, in the order of the list."""
        text = padded(words)
        return [name for name, first in self.names if first in text]


def description(argument: str, keys: Sequence[str]) -> dict[str, str] | None:
    """Attributes of `key=value` pairs, values in lower case; None for anything else."""
    found = dict[str, str]()
    for pair in argument.replace(",", " ").split():
        matched = _PAIR.fullmatch(pair)
        if matched is None or matched[1] not in keys or matched[1] in found:
            return None
        found[matched[1]] = matched[2].casefold()
    return found or None
