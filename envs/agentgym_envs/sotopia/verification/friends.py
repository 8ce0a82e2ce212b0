"""Search for a common friend: `FriendsGoal` (source `mutual_friends`)."""

import re
from collections.abc import Iterable
from typing import Any, Final, Literal

from agentgym_envs.core import Record
from agentgym_envs.sotopia.protocol.markup import shown_to
from agentgym_envs.sotopia.protocol.profiles import Scene
from agentgym_envs.sotopia.verification.deals import moves
from agentgym_envs.sotopia.verification.speech import (
    Log,
    is_negated,
    is_question,
    sentences,
    statements,
    utterances,
)
from agentgym_envs.sotopia.verification.verdict import Scores, Verdict

SOURCE: Final = "mutual_friends"
MOST_NAMES: Final = 3
"""Names of one's own list that may be spoken before the common one; more halve the score."""
_FRIEND: Final = re.compile(r"^[ \t]*([^:\n]{1,60}?): *(\S.*?)[ \t]*$", re.MULTILINE)
_TOLD: Final = re.compile(r"common friends?: *([^.<\n]+)")
_KNOWS: Final = re.compile(
    r"\b(?:yes|yeah|yep|know|knows|friend|friends|mutual|common|same|too|also|indeed|absolutely)\b",
    re.IGNORECASE,
)
_WISH: Final = re.compile(
    r"\b(?:like to|love to|want|wish|would|could|meet|introduce|who|which|heard|if)\b|['’]d\b", re.IGNORECASE
)
"""Words of somebody who does not know a friend yet."""

Friends = dict[str, dict[str, str]]
"""Attributes of each friend, by name."""


class FriendsGoal(Record):
    """Lists of friends, and the one that is in both."""

    kind: Literal["friends"] = "friends"
    friends: tuple[Friends, Friends]
    """By seat."""
    common: str
    own_names: frozenset[str] = frozenset()
    """Names of the two characters themselves, which do not mean a friend of this name."""

    @property
    def keys(self) -> tuple[str, ...]:
        """Attributes that all friends of both lists have."""
        people = [attributes for friends in self.friends for attributes in friends.values()]
        return tuple(key for key in people[0] if all(key in one for one in people))

    def read(self, name: str, argument: str) -> Any:
        """The value of a move: of SELECT a name on one of the lists, of ASK an attribute, of TELL attributes
        with values (`School=Coe College; Company=ONEOK`), in any case of letters; None for anything else.
        """
        if name == "SELECT":
            return _matching(argument, [one for friends in self.friends for one in friends])
        if name == "ASK":
            return _matching(argument, self.keys)
        return self._description(argument) if name == "TELL" else None

    def by_moves(self, log: Log) -> Verdict:
        """The verdict by moves alone: the last `[SELECT Name]` of each seat."""
        selected: dict[int, str] = {}
        for step in moves(log, self.read):
            selected |= {seat: move.value for seat, move in step.items() if move.name == "SELECT"}
        if selected == {0: self.common, 1: self.common}:
            return self._found(log)
        return self.failed(f"{self.common} was not selected by both")

    def by_words(self, log: Log) -> Verdict:
        """The verdict by plain words.

        Found: one speaks the common name, and the other says it again in a sentence that is neither a
        question nor negated, and with a word of knowing. Not found: nobody speaks the name, and what is said
        of the friend does not single it out in both lists.
        """
        if self.common in self.own_names:
            return self._undecided(f"{self.common} is also the name of a speaker")
        speakers = [one.seat for one in utterances(log) if _speaks(one.text, self.common)]
        if speakers and self._confirmed(log, 1 - speakers[0]) and self._named(log, speakers[0]):
            return self._found(log)
        text = "\n".join(one.text for one in statements(log))
        if re.search(rf"\b{re.escape(self.common)}\b", text, re.IGNORECASE):
            return self._undecided(f"{self.common} is spoken of, and not clearly known to both")
        if self._is_described(text):
            return self._undecided(f"what is said may describe {self.common}")
        return self.failed(f"nobody speaks of {self.common}")

    def failed(self, reason: str) -> Verdict:
        """The verdict of a conversation in which the friend was not found."""
        return Verdict(kind="friends", scores=(Scores(goal=0), Scores(goal=0)), reason=reason)

    def names_before(self, log: Log, seat: int) -> set[str]:
        """Other names of its list that a seat speaks before the common one."""
        text = "\n".join(one.text for one in utterances(log) if one.seat == seat)
        found = _mention(self.common).search(text)
        before = text[: found.start()] if found else text
        others = set(self.friends[seat]) - {self.common} - self.own_names
        return {name for name in others if _speaks(before, name)}

    def _found(self, log: Log) -> Verdict:
        listed = [len(self.names_before(log, seat)) for seat in (0, 1)]
        first, second = (Scores(goal=5 if number > MOST_NAMES else 10) for number in listed)
        reason = f"{self.common} found; other names before: {listed[0]} and {listed[1]}"
        return Verdict(kind="friends", scores=(first, second), reason=reason, agreed=True)

    def _named(self, log: Log, seat: int) -> bool:
        """Whether a seat speaks the common name in a sentence without a negation."""
        said = [sentence for one in utterances(log) if one.seat == seat for sentence in sentences(one.text)]
        return any(_speaks(sentence, self.common) and not is_negated(sentence) for sentence in said)

    def _confirmed(self, log: Log, seat: int) -> bool:
        """Whether a seat says that it knows the common friend."""
        return any(
            _speaks(sentence, self.common) and _is_statement(sentence)
            for one in utterances(log)
            if one.seat == seat and _KNOWS.search(one.text)
            for sentence in sentences(one.text)
        )

    def _is_described(self, text: str) -> bool:
        """Whether the friend's values that are spoken of single it out in both lists.

        A value counts as spoken if one of its words of four letters or more is: rather too often.
        """
        words = set(re.findall(r"\w{4,}", text.lower()))
        spoken = {value for value in self._values if words & set(re.findall(r"\w{4,}", value.lower()))}
        return all(
            sum(spoken <= set(values.values()) for values in friends.values()) == 1
            for friends in self.friends
        )

    @property
    def _values(self) -> set[str]:
        return {value for friends in self.friends for value in friends[self.common].values()}

    def _description(self, argument: str) -> dict[str, str] | None:
        found = dict[str, str]()
        for pair in argument.split(";"):
            key, sign, value = pair.partition("=")
            known = _matching(key, self.keys)
            if not sign or not value.strip() or known is None or known in found:
                return None
            found[known] = value.strip().casefold()
        return found

    def _undecided(self, reason: str) -> Verdict:
        return Verdict(kind="friends", scores=None, reason=reason)


def read_goal(scene: Scene) -> FriendsGoal | None:
    """The goal of a scene; None unless both lists have exactly one friend in common, and an attribute that
    all have. Where the scenario tells the environment who it is, it has to be the same.
    """
    goals = scene.environment.agent_goals
    first, second = (_friends(shown_to(f"agent_{seat}", goal)) for seat, goal in enumerate(goals))
    common = [name for name in first if name in second]
    told = _TOLD.search(shown_to("environment", scene.environment.scenario))
    if len(common) != 1 or (told is not None and told[1].strip() != common[0]):
        return None
    own = frozenset(name for agent in scene.agents for name in agent.name.split())
    goal = FriendsGoal(friends=(first, second), common=common[0], own_names=own)
    return goal if goal.keys else None


def _friends(goal: str) -> Friends:
    """The lines `Name: Attribute: value  Attribute: value` after the word "friends"."""
    _, _, listed = goal.partition("friends")
    # The line of the word itself has no friend, with or without a colon.
    _, _, lines = listed.partition("\n")
    return {name: _attributes(rest) for name, rest in _FRIEND.findall(lines) if ": " in rest}


def _attributes(text: str) -> dict[str, str]:
    pairs = [pair.partition(": ") for pair in re.split(r"\s{2,}", text.strip())]
    return {key.strip(): value.strip() for key, _, value in pairs if value.strip()}


def _matching(text: str, names: Iterable[str]) -> str | None:
    """The name that a text is, in any case of letters."""
    return next((name for name in names if name.casefold() == text.strip().casefold()), None)


def _mention(name: str) -> re.Pattern[str]:
    """A name as a word, in its own case; `Don` is no part of `Don't`."""
    return re.compile(rf"(?<![\w'’-]){re.escape(name)}(?![\w-]|['’]t\b)")


def _speaks(text: str, name: str) -> bool:
    return bool(_mention(name).search(text))


def _is_statement(sentence: str) -> bool:
    return not is_question(sentence) and not is_negated(sentence) and not _WISH.search(sentence)
