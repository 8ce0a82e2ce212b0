"""Partners of one agent: `RulePartner`, `EndpointPartner`, `ReplayPartner`; `policies` has another one.

A partner reads what its own seat observes, and nothing else.
"""

from collections.abc import Sequence
from copy import copy
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, Protocol

from agentgym_envs.core import TaskUnplayable
from agentgym_envs.endpoints.budget import Budget
from agentgym_envs.endpoints.cache import AnswerCache
from agentgym_envs.social.family import LEAVE, Speaker
from agentgym_envs.sotopia.data.episodes import RecordedEpisode, read_episodes
from agentgym_envs.sotopia.data.profile_set import SotopiaDataError
from agentgym_envs.sotopia.models.partner import ModelPartner, PartnerModel
from agentgym_envs.sotopia.moves import Utterance
from agentgym_envs.sotopia.protocol.actions import Action
from agentgym_envs.sotopia.protocol.conversation import Conversation, Order
from agentgym_envs.sotopia.protocol.profiles import Scene

WAITS: Final = Action(action_type="non-verbal communication", argument="waits for an answer")
"""Action of a rule-based partner that is drawn again before the other has acted (`random` order)."""


class Partner(Protocol):
    """Partner in one episode."""

    async def act(self, conversation: Conversation, seat: int, heard: Utterance | None) -> Action:
        """Its next action; `heard` is the latest one of the other seat. Raises `PartnerFault`."""
        ...

    def copied(self) -> "Partner | None":
        """A partner that goes on from here; None for one that has to act again from the start."""
        ...

    def told(self) -> dict[str, Any]:
        """Facts about the partner for the record of an episode, hidden parameters included."""
        ...


class RulePartner:
    """Partner by rules; its coroutines never wait."""

    def __init__(self, speaker: Speaker, hidden: dict[str, Any]) -> None:
        self._speaker, self._hidden = speaker, hidden
        self._replied = -1
        """Actions of the other seat before its latest own one; -1 before any."""

    async def act(self, conversation: Conversation, seat: int, heard: Utterance | None) -> Action:
        """The speaker's reply."""
        heard_now = sum(acting[1 - seat] for acting in conversation.acted)
        if heard_now == self._replied:
            return WAITS
        self._replied = heard_now
        return self._speaker.reply(heard)

    def copied(self) -> "Partner | None":
        """None: it acts again from the start, as equal actions give equal replies."""
        return None

    def told(self) -> dict[str, Any]:
        """Hidden parameters."""
        return {"kind": "rule", "hidden": self._hidden}


class EndpointPartner:
    """Partner whose actions a model behind an endpoint chooses."""

    def __init__(
        self, model: PartnerModel, seed: int, cache: AnswerCache | None, budget: Budget | None
    ) -> None:
        self._partner = ModelPartner(model, seed, cache=cache, budget=budget)

    async def act(self, conversation: Conversation, seat: int, heard: Utterance | None) -> Action:
        """The model's action."""
        return await self._partner.act(conversation, seat)

    def copied(self) -> "Partner | None":
        """A partner that counts its requests on."""
        other = copy(self)
        other._partner = self._partner.copied()
        return other

    def told(self) -> dict[str, Any]:
        """Model, host and sampling, and figures of the requests."""
        return {"kind": "openai", **self._partner.figures()}


class ReplayPartner:
    """Partner that repeats recorded actions, and then leaves."""

    def __init__(self, actions: Sequence[Action], source: str) -> None:
        self._actions, self._source, self._next = actions, source, 0

    async def act(self, conversation: Conversation, seat: int, heard: Utterance | None) -> Action:
        """The next recorded action."""
        self._next += 1
        return self._actions[self._next - 1] if self._next <= len(self._actions) else LEAVE

    def copied(self) -> "Partner | None":
        """A partner at the same place of the record."""
        return copy(self)

    def told(self) -> dict[str, Any]:
        """Key of the recorded episode."""
        return {"kind": "replay", "episode": self._source}


def check_recorded(option: str, file: str) -> None:
    """Raise `ValueError`, in one line, unless the file of this option has recorded episodes."""
    try:
        recorded_episodes(Path(file))
    except OSError as cause:
        raise ValueError(f"sotopia: {option}={file!r}: {cause.strerror or cause}") from None
    except SotopiaDataError as cause:
        raise ValueError(f"sotopia: {option}={file!r}: {cause}") from None


def recorded_partner(file: str, scene: Scene, seat: int, order: Order) -> ReplayPartner | None:
    """The partner of a seat by the first recorded episode of a scene; None without one.

    `check_recorded` has accepted the file. Raises `TaskUnplayable` where this order of turns would leave out
    what the seat has done.
    """
    agents = scene.agents[0].pk, scene.agents[1].pk
    for episode in recorded_episodes(Path(file)):
        if (episode.environment, episode.agents) == (scene.environment.pk, agents):
            return ReplayPartner(_own_turns(episode, seat, order), episode.pk)
    return None


def _own_turns(episode: RecordedEpisode, seat: int, order: Order) -> list[Action]:
    """The actions of a seat in the turns that an order gives it.

    Of a seat that might not act the record has `none` too, so that in `random` order each `none` is left out.
    """
    done = [both[seat] for both in episode.log]
    if order == "simultaneous":
        return done
    if order == "random":
        return [action for action in done if action.action_type != "none"]
    if any(action.action_type != "none" for action in done[1 - seat :: 2]):
        raise TaskUnplayable(
            f"the episode {episode.pk[:80]!r} was not recorded in order=round-robin; give its own order"
        )
    return done[seat::2]


@lru_cache(maxsize=4)
def recorded_episodes(file: Path) -> tuple[RecordedEpisode, ...]:
    """The episodes of a file. Raises `OSError` and `SotopiaDataError`."""
    return tuple(read_episodes(file))
