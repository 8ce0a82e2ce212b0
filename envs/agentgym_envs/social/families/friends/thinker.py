"""Notes of a player with an address list: the friends that are left after each answer."""

import re
from collections.abc import Mapping
from typing import cast

from agentgym_envs.social.families.friends.lists import AddressList, Person
from agentgym_envs.social.family import TURNS
from agentgym_envs.social.thoughts import Talk, Thinker, Thought
from agentgym_envs.sotopia.moves import Utterance

FEW = 2
"""Friends that are described without a further question."""
_WORDS = re.compile(r"[\w-]+")


class FriendsThinker(Thinker):
    """Asks for the values of an attribute, drops the friends without them, and describes the others.

    A question or description of the other side is answered before its own.
    """

    def __init__(self, people: AddressList, keys: tuple[str, ...]) -> None:
        self._people, self._keys = people, keys

    def think(self, talk: Talk) -> Thought:
        """Ask, describe or select."""
        latest = talk.latest
        selected = latest.value("SELECT") if latest else None
        if selected in {one.name for one in self._people}:
            return self._select(talk, str(selected), "Yes, that is it.")
        described = latest.value("TELL") if latest else None
        fitting = [one for one in self._people if described and len(described) > 1 and one.fits(described)]
        if len(fitting) == 1:
            return self._select(talk, fitting[0].name, "That fits one of mine.")
        left, open_keys = self._left(talk), self._open(talk)
        if open_keys and len(left) > FEW and TURNS - talk.turn > FEW:
            return self._ask(talk, left, open_keys[0])
        return self._describe(talk, left, open_keys)

    def _select(self, talk: Talk, name: str, why: str) -> Thought:
        return Thought(
            history=self._history(talk),
            goal="the common friend",
            intent=f"they mean {name}",
            assess=f"{name} is mine",
            strategy=f"select {name}",
            strategies="select or ask on",
            deduction=f"{name} fits both lists",
            integration="select",
            response=f"SELECT {name}",
            words=f"{why} [SELECT {name}]",
        )

    def _ask(self, talk: Talk, left: list[Person], key: str) -> Thought:
        return Thought(
            history=self._history(talk),
            goal="the common friend",
            intent=self._intent(talk),
            assess=f"left {self._names(left)}",
            strategy=f"ask {key}",
            strategies="ask or describe",
            deduction=f"{len(left)} are left, ask {key}",
            integration="ask",
            response=f"ASK {key}",
            words=f"{self._answer(talk)}Which of these do you have? [ASK {key}]",
        )

    def _describe(self, talk: Talk, left: list[Person], open_keys: list[str]) -> Thought:
        one = left[0] if left else None
        pairs = " ".join(f"{key}={value}" for key, value in one.attributes.items()) if one else ""
        lost = f"{self._answer(talk)}I am out of ideas."
        words = f"{self._answer(talk)}Do you know somebody like this? [TELL {pairs}]"
        return Thought(
            history=self._history(talk),
            goal="the common friend",
            intent=self._intent(talk),
            assess=f"left {self._names(left)}" if one else "nobody left",
            strategy=f"describe {one.name}" if one else "wait",
            strategies="ask or describe" if open_keys else "describe",
            deduction=f"{len(left)} are left, {one.name} is {pairs}" if one else "nobody is left",
            integration="describe" if one else "wait",
            response=f"TELL {pairs}" if one else "wait",
            words=words if one else lost,
        )

    def _left(self, talk: Talk) -> list[Person]:
        """Friends that fit all answers so far."""
        left = list(self._people)
        for key, values in self._heard(talk).items():
            left = [one for one in left if one.attributes[key].casefold() in values] or left
        refused = [
            cast("Mapping[str, str]", own.value("TELL"))
            for own, answer in talk.replies
            if own.value("TELL") and not answer.value("SELECT")
        ]
        return [one for one in left if not any(one.fits(described) for described in refused)]

    def _heard(self, talk: Talk) -> dict[str, set[str]]:
        """By attribute: values that the other side has named, where it has named all."""
        found = dict[str, set[str]]()
        for own, answer in talk.replies:
            key = own.value("ASK")
            if key is not None and not answer.value("SELECT"):
                found.setdefault(key, set()).update(_words_of(answer))
        return {key: found[key] for key in found if key not in self._unfinished(talk)}

    def _unfinished(self, talk: Talk) -> set[str]:
        """Attributes whose latest answer says that there is more."""
        last = {own.value("ASK"): answer for own, answer in talk.replies if own.value("ASK")}
        return {key for key, answer in last.items() if ", and more" in answer.words}

    def _open(self, talk: Talk) -> list[str]:
        """Attributes that have not been asked for, or not to the end."""
        asked = set(talk.own_values("ASK")) - self._unfinished(talk)
        return [key for key in self._keys if key not in asked]

    def _history(self, talk: Talk) -> str:
        asked = ", ".join(dict.fromkeys(talk.own_values("ASK")))
        return f"asked {asked}" if asked else "nothing asked"

    def _intent(self, talk: Talk) -> str:
        """Content of the latest answer."""
        if not talk.replies:
            return "they begin"
        own, answer = talk.replies[-1]
        if own.value("TELL"):
            return "not the one" if not answer.value("SELECT") else "they guess"
        if own.value("ASK") is None:
            return "they wait"
        return "they have more" if ", and more" in answer.words else "they have answered"

    def _answer(self, talk: Talk) -> str:
        """Answer to a question or description of the other side."""
        key = talk.latest.value("ASK") if talk.latest else None
        if key is not None:
            values = sorted({one.attributes[key] for one in self._people})
            return f"For {key}, I have {', '.join(values)}. "
        return "None of mine fits that. " if talk.latest and talk.latest.value("TELL") else ""

    def _names(self, people: list[Person]) -> str:
        return " ".join(one.name.partition(" ")[0] for one in people) or "nobody"


def _words_of(answer: Utterance) -> set[str]:
    return {word.casefold() for word in _WORDS.findall(answer.words)}
