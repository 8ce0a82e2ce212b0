"""Settings, moves and scores of a common friend."""

from collections.abc import Collection, Sequence
from random import Random
from typing import Any, Literal

from agentgym_envs.core import Record
from agentgym_envs.social.content.attributes import ATTRIBUTES
from agentgym_envs.social.content.people import FIRST, LAST
from agentgym_envs.social.content.scenes import FRIENDS
from agentgym_envs.social.families.friends.lists import AddressList, Index, Person, description
from agentgym_envs.social.families.friends.partner import FriendsPartner
from agentgym_envs.social.families.friends.player import FriendsPlayer
from agentgym_envs.social.families.friends.thinker import FriendsThinker
from agentgym_envs.social.family import TURNS, Family, Ledger, Setting, Speaker
from agentgym_envs.social.outcome import Outcome
from agentgym_envs.sotopia.moves import Utterance
from agentgym_envs.sotopia.protocol.conversation import EndReason

SIZES = {"1": (5, 7), "2": (8, 9), "3": (10, 12)}
"""Length of both lists by difficulty."""
MOST_NAMES = 3
"""Own names beside the common one that may be said before it is found without halving the score."""


class FriendsSetting(Setting):
    """Two address lists by seat."""

    kind: Literal["friends"] = "friends"
    keys: tuple[str, ...]
    lists: tuple[AddressList, AddressList]
    common: str
    """Name of the person on both lists."""

    @property
    def first_names(self) -> Collection[str]:
        """First names of both lists: who says a character's name must not say a friend's."""
        return {one.name.partition(" ")[0] for people in self.lists for one in people}


class FriendsHidden(Record):
    """Hidden parameters of a partner."""

    open: bool
    """Whether it lists all its values of an attribute at once, and not only half of them."""
    patience: int


class FriendsLedger(Ledger):
    """Selections of both seats, and the names that each has said."""

    def __init__(self, setting: FriendsSetting) -> None:
        self._setting = setting
        self._indices = tuple(Index.of(people) for people in setting.lists)
        self.selected: list[str | None] = [None, None]
        self._said: tuple[set[str], set[str]] = (set(), set())
        self._found = [False, False]
        """By seat: whether it has said the common name."""

    def record(self, seat: int, said: Utterance) -> bool:
        """Enter an action; whether both seats have selected the same person."""
        if not self._found[seat] and said.words:
            names = self._indices[seat].mentioned(said.words)
            self._said[seat].update(names)
            self._found[seat] = self._setting.common in names
        name = said.value("SELECT")
        if name is None:
            return False
        self.selected[seat] = name
        return name == self.selected[1 - seat]

    def outcome(self, seat: int, ends: Sequence[EndReason]) -> Outcome:
        """10 if both selected the true one, 5 where too many names were said on the way."""
        common = self._setting.common
        found = self.selected == [common, common]
        others = len(self._said[seat] - {common})
        facts = {"deal": found, "names": others}
        if not found:
            return Outcome(goal=0.0, facts=facts)
        return Outcome(goal=10.0 if others <= MOST_NAMES else 5.0, facts=facts)


class Friends(Family[FriendsSetting, FriendsHidden]):
    """Family `friends`."""

    name = "friends"

    def setting(self, draws: Random, split: str, level: str, seat: int) -> FriendsSetting:
        """Two lists of people with different first names; nobody else has the common one's attributes."""
        keys = tuple(draws.sample(sorted(ATTRIBUTES), draws.randint(2, 4)))
        sizes = [draws.randint(*SIZES[level]) for _ in (0, 1)]
        firsts = draws.sample(FIRST[split], sum(sizes) - 1)
        people = list[Person]()
        common = _person(draws, split, keys, firsts[0])
        while len(people) < len(firsts) - 1:
            one = _person(draws, split, keys, firsts[len(people) + 1])
            if one.attributes != common.attributes:
                people.append(one)
        lists = [common, *people[: sizes[0] - 1]], [common, *people[sizes[0] - 1 :]]
        for one in lists:
            draws.shuffle(one)
        return FriendsSetting(keys=keys, lists=(tuple(lists[0]), tuple(lists[1])), common=common.name)

    def hidden(self, draws: Random, split: str, level: str) -> FriendsHidden:
        """Openness and patience."""
        return FriendsHidden(
            open=draws.random() < (0.3 if level == "3" else 0.7), patience=draws.randint(4, 9)
        )

    def scenario(self, setting: FriendsSetting, split: str, wording: int) -> str:
        """The occasion."""
        wordings = FRIENDS[split]
        return wordings[wording % len(wordings)]

    def goal(self, setting: FriendsSetting, seat: int) -> str:
        """Own list and rules."""
        people = "; ".join(one.line for one in setting.lists[seat])
        key = setting.keys[0]
        return (
            f"Find the friend whom you both have, with few names: more than {MOST_NAMES} wrong names of "
            f"yours halve the score. Your friends: {people}. [ASK {key}] asks for the other's values, "
            f"[TELL {key}=value] with one or more pairs describes a friend of yours, [SELECT Name] selects "
            "somebody; both have to select the same person. At most one move in a message counts, in this "
            f"form alone. You have {TURNS} messages. Example: Which do you have? [ASK {key}]"
        )

    def read(self, setting: FriendsSetting, name: str, argument: str) -> Any:
        """SELECT has the name of a person on either list, ASK a key, TELL key=value pairs."""
        if name == "SELECT":
            return (
                argument if any(argument == one.name for people in setting.lists for one in people) else None
            )
        if name == "ASK":
            return argument if argument in setting.keys else None
        return description(argument, setting.keys) if name == "TELL" else None

    def ledger(self, setting: FriendsSetting, hidden: FriendsHidden) -> FriendsLedger:
        """An empty ledger."""
        return FriendsLedger(setting)

    def partner(
        self,
        setting: FriendsSetting,
        seat: int,
        hidden: FriendsHidden,
        ledger: Ledger,
        draws: Random,
        split: str,
    ) -> Speaker:
        """The owner of the other list."""
        return FriendsPartner(
            setting.lists[seat],
            setting.keys,
            is_open=hidden.open,
            patience=hidden.patience,
            draws=draws,
            split=split,
        )

    def player(self, setting: FriendsSetting, seat: int, draws: Random) -> Speaker:
        """A player that compares attributes, and says a name when few are left."""
        return FriendsPlayer(setting.lists[seat], setting.keys, draws)

    def thinker(self, setting: FriendsSetting, seat: int) -> FriendsThinker:
        """A player that notes who is left."""
        return FriendsThinker(setting.lists[seat], setting.keys)

    def random_move(self, setting: FriendsSetting, seat: int, draws: Random) -> str:
        """A question, a description of or a selection from the own list."""
        one = draws.choice(setting.lists[seat])
        key = draws.choice(setting.keys)
        return draws.choice((f"[ASK {key}]", f"[TELL {key}={one.attributes[key]}]", f"[SELECT {one.name}]"))


def _person(draws: Random, split: str, keys: Sequence[str], first: str) -> Person:
    attributes = {key: draws.choice(ATTRIBUTES[key][split]) for key in keys}
    return Person(name=f"{first} {draws.choice(LAST[split])}", attributes=attributes)
