"""Replay of recorded episodes through our conversation: `replay`, `Difference`."""

import re
from dataclasses import dataclass
from typing import Final, Literal

from agentgym_envs.sotopia.data.episodes import RecordedEpisode
from agentgym_envs.sotopia.protocol.conversation import Conversation, Rules, masks
from agentgym_envs.sotopia.protocol.episode_log import episode_log
from agentgym_envs.sotopia.protocol.profiles import Scene
from agentgym_envs.sotopia.protocol.views import UNKNOWN, View, background

RULES_OF_2023: Final = Rules(max_turns=21)
"""The rules of the published runs: they ended after more than 20 steps, not at 20."""

Cause = Literal["no_unknown", "gender", "other"]
"""`no_unknown`: an empty text where later releases, and ours, write `Unknown`; `gender`: "Man Dentist" where
they write "male dentist"; `other`: anything else.
"""
_IDENTITY: Final = re.compile(r"-year-old (Man|Woman|Nonbinary) ([^.\n]*)\. ")
_ADJECTIVES: Final = {"Man": "male", "Woman": "female", "Nonbinary": "nonbinary"}


@dataclass(frozen=True)
class Difference:
    """A recorded message that the replay words otherwise."""

    turn: int
    entry: int
    """Position in the turn: 0 and 1 are the observations of the seats, 2 and 3 their actions."""
    recorded: str
    replayed: str

    @property
    def in_background(self) -> bool:
        """Whether it is what a seat reads before the conversation."""
        return self.turn == 0 and self.entry < 2

    @property
    def cause(self) -> Cause:
        """Cause of the difference, if one thing explains it."""
        if self.recorded.replace("'s background: \n", f"'s background: {UNKNOWN}\n") == self.replayed:
            return "no_unknown"
        if _IDENTITY.sub(_identity, self.recorded) == self.replayed:
            return "gender"
        return "other"


@dataclass(frozen=True)
class Replay:
    """A replayed conversation, and how its record differs."""

    conversation: Conversation
    messages: int
    """Number of recorded messages."""
    differences: tuple[Difference, ...]


def replay(
    episode: RecordedEpisode, scene: Scene, view: View = "relationship", rules: Rules = RULES_OF_2023
) -> Replay:
    """Play the recorded actions of all seats whose turn it is, to the end of the record.

    Raises `TurnError` if the rules end the conversation earlier; whether they end it there is
    `conversation.ended`. Seats that may not act have done nothing in the record too, or it differs.
    """
    backgrounds = background(scene, 0, view), background(scene, 1, view)
    conversation = Conversation(scene.names, backgrounds, rules, masks(rules.order, 0))
    for both in episode.log:
        acting = conversation.acting
        conversation.apply({seat: both[seat] for seat in (0, 1) if acting[seat]})
    return Replay(conversation, sum(map(len, episode.messages)), _differences(episode, conversation))


def _differences(episode: RecordedEpisode, conversation: Conversation) -> tuple[Difference, ...]:
    record = episode_log(
        conversation,
        None,
        pk=episode.pk,
        environment=episode.environment,
        agents=episode.agents,
        models=episode.models,
    )
    found: list[Difference] = []
    for turn, (ours, theirs) in enumerate(zip(record["messages"], episode.messages, strict=True)):
        for entry, (own, message) in enumerate(zip(ours, theirs, strict=True)):
            if tuple(own) != message:
                found.append(Difference(turn, entry, message[2], own[2]))
    return tuple(found)


def _identity(found: re.Match[str]) -> str:
    return f"-year-old {_ADJECTIVES[found[1]]} {found[2].lower()}. "
