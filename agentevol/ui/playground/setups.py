"""Environments with options, as people choose them: each has a server of its own.

> Setup("alfworld", (("dialect", "put"),)).label
"dialect=put"
"""

import json
import re
import secrets
import threading
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field

from agentevol.ui.errors import NotFound
from agentgym_envs.options import OptionValue, shown

MOST = 256
"""Setups that are remembered."""
HIDDEN = "…"
_LEAST_SECRET = 4
_WORD = re.compile(r"[^\s\"'{}\[\](),;:=/\\@?&]+")
_SCHEMES = ("http", "https")


@dataclass(frozen=True)
class Setup:
    """An environment and its options, as far as they differ from the defaults."""

    env: str
    options: tuple[tuple[str, OptionValue], ...] = field(default=(), repr=False)
    """Names and values, sorted by name."""
    private: frozenset[str] = frozenset()
    """Names of the options whose values are not shown."""

    @property
    def shown_options(self) -> tuple[tuple[str, str], ...]:
        """Names and values as people read them, private ones hidden."""
        return tuple((name, HIDDEN if name in self.private else shown(value)) for name, value in self.options)

    @property
    def label(self) -> str:
        """The options in one line; empty for the defaults."""
        return ", ".join(f"{name}={value}" for name, value in self.shown_options)

    def masked(self, text: str) -> str:
        """A text without the values of private options, and without their parts."""
        values = [shown(value) for name, value in self.options if name in self.private]
        hidden = {word for value in values for word in _words(value)}
        for word in sorted(hidden, key=len, reverse=True):
            text = _without(text, word)
        return text


class Setups:
    """The latest setups by key. Keys are random: who does not know one cannot use its private options."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._setups: OrderedDict[str, Setup] = OrderedDict()

    def key(self, setup: Setup) -> str:
        """Key of a setup, which is remembered; empty for an environment with its default options."""
        if not setup.options:
            return ""
        with self._lock:
            known = next((key for key, one in self._setups.items() if one == setup), None)
            key = known or secrets.token_urlsafe(9)
            self._setups[key] = setup
            self._setups.move_to_end(key)
            while len(self._setups) > MOST:
                self._setups.popitem(last=False)
            return key

    def find(self, env: str, key: str) -> Setup:
        """The setup of a key. Raises `NotFound`."""
        if not key:
            return Setup(env)
        with self._lock:
            found = self._setups.get(key)
        if found is None or found.env != env:
            raise NotFound(
                f"These options of {env} are not known here: agentevol ui was started again, or others were"
                " chosen since.",
                "Choose the environment and its options again.",
            )
        return found


def _words(value: str) -> Iterator[str]:
    """A value, its words, and those of the texts in it if it is a JSON object."""
    yield value
    try:
        told: object = json.loads(value)
    except ValueError:
        told = value
    members: list[object] = list(told.values()) if isinstance(told, dict) else [told]
    for member in members:
        if isinstance(member, str):
            yield from (word for word in _WORD.findall(member) if word not in _SCHEMES)


def _without(text: str, word: str) -> str:
    """A text without a word and without its beginnings, which messages cut."""
    for end in range(len(word), _LEAST_SECRET - 1, -1):
        text = text.replace(word[:end], HIDDEN)
    return text
