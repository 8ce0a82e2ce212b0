"""Interface of a family of tasks: `Family`, with its `Setting`, `Ledger` and `Speaker`.

A family draws settings, writes goals, reads moves and keeps the ledger from which outcomes are computed. It
has two speakers: a partner with hidden parameters, and a player that has an agent's view only.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Sequence
from random import Random
from typing import Any, ClassVar, Generic, TypeVar

from agentgym_envs.core import Record
from agentgym_envs.social.outcome import Outcome
from agentgym_envs.social.thoughts import Talk, Thinker
from agentgym_envs.sotopia.moves import Utterance
from agentgym_envs.sotopia.protocol.actions import Action, from_text
from agentgym_envs.sotopia.protocol.conversation import EndReason

TURNS = 10
"""Utterances of each seat."""
LEVELS = ("1", "2", "3")
"""Difficulties, the easiest first."""


class Setting(Record):
    """Private content of a task, of both seats."""

    @property
    def first_names(self) -> Collection[str]:
        """First names that the content uses, and the two characters must not have."""
        return ()


class Speaker(ABC):
    """Speaker of one seat in one episode."""

    @abstractmethod
    def reply(self, heard: Utterance | None) -> Action:
        """Next action of the speaker; `heard` is the latest one of the other seat, None before any."""


class Ledger(ABC):
    """Record of the moves of an episode, from which alone its outcome is computed."""

    @abstractmethod
    def record(self, seat: int, said: Utterance) -> bool:
        """Enter an action; whether it seals an agreement, which ends the episode."""

    @abstractmethod
    def outcome(self, seat: int, ends: Sequence[EndReason]) -> Outcome:
        """The scores of a seat at the end."""


SettingT = TypeVar("SettingT", bound=Setting)
HiddenT = TypeVar("HiddenT", bound=Record)


class Family(ABC, Generic[SettingT, HiddenT]):
    """Family of tasks. All methods are pure; draws come from the given generator alone."""

    name: ClassVar[str]
    roles: ClassVar[bool] = False
    """Whether the seats differ in what they do: then an agent has the first role, in either seat, and the
    second one is played by the partner, or by the other agent where both seats are played.
    """

    @abstractmethod
    def setting(self, draws: Random, split: str, level: str, seat: int) -> SettingT:
        """Content of a task in which the agent has this seat."""

    @abstractmethod
    def hidden(self, draws: Random, split: str, level: str) -> HiddenT:
        """Hidden parameters of the partner in one episode."""

    @abstractmethod
    def scenario(self, setting: SettingT, split: str, wording: int) -> str:
        """Scenario that both seats know."""

    @abstractmethod
    def goal(self, setting: SettingT, seat: int) -> str:
        """Private goal of a seat, with the rules, the syntax of moves and an example; of the first role,
        where there are `roles`.
        """

    def other_goal(self, setting: SettingT, seat: int, hidden: HiddenT) -> str:
        """Private goal of the partner's seat, for an agent that plays it."""
        return self.goal(setting, seat)

    @abstractmethod
    def read(self, setting: SettingT, name: str, argument: str) -> Any:
        """The value of a move; None where it is not well formed."""

    @abstractmethod
    def ledger(self, setting: SettingT, hidden: HiddenT) -> Ledger:
        """An empty ledger."""

    @abstractmethod
    def partner(
        self, setting: SettingT, seat: int, hidden: HiddenT, ledger: Ledger, draws: Random, split: str
    ) -> Speaker:
        """The rule-based partner in a seat."""

    @abstractmethod
    def player(self, setting: SettingT, seat: int, draws: Random) -> Speaker:
        """A player in a seat, which is given that seat's side of the setting only."""

    @abstractmethod
    def thinker(self, setting: SettingT, seat: int) -> Thinker:
        """A player in a seat that says what it thinks, with that seat's side of the setting only."""

    @abstractmethod
    def random_move(self, setting: SettingT, seat: int, draws: Random) -> str:
        """A random well-formed move of a seat."""


class Thoughtful(Speaker):
    """Speaker that keeps a thinker's notes to itself."""

    def __init__(self, thinker: Thinker, read: Callable[[Action], Utterance]) -> None:
        self._thinker, self._read, self._talk = thinker, read, Talk()

    def reply(self, heard: Utterance | None) -> Action:
        """The thinker's next utterance."""
        self._talk.heard += [heard] if heard is not None else []
        action = from_text(self._thinker.think(self._talk).words)
        self._talk.own.append(self._read(action))
        return action


AnyFamily = Family[Any, Any]


def spoke(words: str) -> Action:
    """The action of saying something."""
    return Action(action_type="speak", argument=words)


LEAVE = Action(action_type="leave")
