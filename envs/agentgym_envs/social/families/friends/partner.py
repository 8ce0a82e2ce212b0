"""Rule-based partner with an address list."""

from random import Random
from typing import cast

from agentgym_envs.social.content.phrases import MEETING
from agentgym_envs.social.families.friends.lists import AddressList, Index
from agentgym_envs.social.family import LEAVE, Speaker
from agentgym_envs.social.partners.voice import Voice
from agentgym_envs.sotopia.moves import Utterance
from agentgym_envs.sotopia.protocol.actions import Action

MOST_TIMES = 2
"""Questions after which a partner who is not open has named all its values of an attribute."""


class FriendsPartner(Speaker):
    """Answers questions and descriptions truthfully, and knows whom it knows."""

    def __init__(
        self,
        people: AddressList,
        keys: tuple[str, ...],
        *,
        is_open: bool,
        patience: int,
        draws: Random,
        split: str,
    ) -> None:
        self._people, self._keys, self._open, self._draws = people, keys, is_open, draws
        self._index = Index.of(people)
        self._voice = Voice(MEETING, split, draws)
        self._patience, self._idle = patience, 0
        self._told: dict[str, int] = {}
        """By key: how many values it has named."""
        self._turn = 0

    def reply(self, heard: Utterance | None) -> Action:
        """Answer, select or leave."""
        self._turn += 1
        if heard is None:
            return self._voice.say(self._voice.words("open"), self._voice.words("ask"))
        known = self._index.mentioned(heard.words)
        if known:
            return self._voice.say(self._voice.words("known", name=known[0]), f"[SELECT {known[0]}]")
        if heard.move is None or heard.move.name == "SELECT":
            return self._idled(unknown=heard.move is not None)
        self._idle = 0
        if heard.move.name == "ASK":
            return self._values(heard.move.value)
        return self._fitting(cast("dict[str, str]", heard.move.value))

    def _idled(self, *, unknown: bool) -> Action:
        """Reply to small talk, and to a selection of somebody it does not know."""
        self._idle += 1
        if self._idle >= self._patience:
            return LEAVE
        return self._voice.say(
            self._voice.words("unknown") if unknown else "",
            self._voice.words("ask"),
            f"[ASK {self._draws.choice(self._keys)}]",
        )

    def _values(self, key: str) -> Action:
        values = sorted({one.attributes[key] for one in self._people})
        first = 0 if self._open else self._told.get(key, 0) % len(values)
        part = -(-len(values) // (1 if self._open else MOST_TIMES))
        shown = values[first : first + part]
        self._told[key] = first + len(shown)
        more = "" if self._open or self._told[key] >= len(values) else ", and more"
        return self._voice.say(self._voice.words("values", key=key, values=", ".join(shown) + more))

    def _fitting(self, described: dict[str, str]) -> Action:
        fitting = [one for one in self._people if one.fits(described)]
        if not fitting:
            return self._voice.say(self._voice.words("none"))
        if len(fitting) == 1 and len(described) > 1:
            name = fitting[0].name
            return self._voice.say(self._voice.words("guess", name=name), f"[SELECT {name}]")
        return self._voice.say(self._voice.words("fitting", count=len(fitting)))
