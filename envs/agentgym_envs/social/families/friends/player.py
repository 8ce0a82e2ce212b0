"""Player with an address list, which compares attributes and says few names."""

import re
from random import Random

from agentgym_envs.social.families.friends.lists import AddressList, Person
from agentgym_envs.social.family import TURNS, Speaker, spoke
from agentgym_envs.sotopia.moves import Utterance
from agentgym_envs.sotopia.protocol.actions import Action

_WORDS = re.compile(r"[\w-]+")
FEW = 2
"""Candidates that are described one by one, without further questions."""


class FriendsPlayer(Speaker):
    """Asks for the values of each attribute, drops friends without them, and describes the others."""

    def __init__(self, people: AddressList, keys: tuple[str, ...], draws: Random) -> None:
        self._people, self._draws = list(people), draws
        self._names = {one.name for one in people}
        self._unasked = list(keys)
        self._asked: str | None = None
        self._heard_values: dict[str, set[str]] = {}
        self._described: Person | None = None
        self._left = TURNS

    def reply(self, heard: Utterance | None) -> Action:
        """Ask, describe or select."""
        selected = heard.value("SELECT") if heard is not None else None
        if selected in self._names:
            return spoke(f"Yes, that is it. [SELECT {selected}]")
        if heard is not None:
            self._learn(heard)
        self._left -= 1
        if self._unasked and len(self._people) > FEW and self._left > FEW + 1:
            self._asked = self._unasked[0]
            return spoke(f"Which of these do you have? [ASK {self._asked}]")
        self._asked = None
        return self._describe()

    def _learn(self, heard: Utterance) -> None:
        """Draw conclusions from the answer."""
        if self._described is not None:
            self._people.remove(self._described)
            self._described = None
        if self._asked is None:
            return
        values = self._heard_values.setdefault(self._asked, set())
        values.update(word.casefold() for word in _WORDS.findall(heard.words))
        if ", and more" in heard.words:
            return
        key = self._unasked.pop(0)
        fitting = [one for one in self._people if one.attributes[key].casefold() in values]
        self._people = fitting or self._people

    def _describe(self) -> Action:
        if not self._people:
            return spoke("I am out of ideas.")
        self._described = self._people[0]
        pairs = " ".join(f"{key}={value}" for key, value in self._described.attributes.items())
        return spoke(f"Do you know somebody like this? [TELL {pairs}]")
