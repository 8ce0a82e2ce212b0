"""Pairs of feedback as texts: what people corrected and preferred."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from agentevol.core.action_formats.registry import action_format
from agentevol.core.errors import FormatFault
from agentevol.data.feedback.aggregation.aggregate import preferences
from agentevol.data.feedback.opinions import TRAIN
from agentevol.data.feedback.usable import Usable, usable
from agentgym_store.exports.contract import Tally
from agentgym_store.exports.messages import Message, as_messages, texts
from agentgym_store.feedback.records import Feedback
from agentgym_store.records import Trajectory

INEXPRESSIBLE = "corrections that no message has"


@dataclass(frozen=True)
class Opinions:
    """Opinions to export, and what they depend on in the run."""

    records: tuple[Feedback, ...]
    sources: tuple[str, ...]
    split: str = TRAIN
    """Split whose episodes may be learnt from."""
    form: str = "plain"
    """Action format in which corrected actions are written."""

    @property
    def options(self) -> dict[str, Any]:
        """Options that determine the rows, for a data card: others cannot continue the same export."""
        names = "\n".join(sorted(one.id for one in self.records))
        return {
            "sources": list(self.sources),
            "opinions": len(self.records),
            "sha256": sha256(names.encode()).hexdigest(),
        }

    def on(self, episodes: Mapping[str, Trajectory], tally: Tally) -> Usable:
        """Those on some of the episodes; what cannot teach is counted."""
        about = [one for one in self.records if episodes.keys() & one.episodes]
        found = usable(about, episodes, self.split)
        for reason, count in found.left_out.items():
            tally.left_out[f"opinions {reason}"] += count
        return found


@dataclass(frozen=True)
class CorrectedMessage:
    """A turn with the message of its corrected action."""

    episode: Trajectory
    turn: int
    message: str

    @property
    def sides(self) -> tuple[list[Message], list[Message], list[Message]]:
        """Prompt, better and original message."""
        said, place = as_messages(texts(self.episode)), 2 * self.turn + 1
        return said[:place], [{"role": "assistant", "content": self.message}], said[place : place + 1]


def corrected_messages(
    opinions: Opinions, found: Usable, episodes: Mapping[str, Trajectory], tally: Tally
) -> Iterator[CorrectedMessage]:
    """Corrections that change an action and that a message has."""
    form = action_format(opinions.form)
    for name, turn, action in found.corrections:
        if episodes[name].turns[turn].action == action:
            continue
        try:
            yield CorrectedMessage(episodes[name], turn, form.render(action))
        except FormatFault:
            tally.left_out[INEXPRESSIBLE] += 1


def preferred(found: Usable, episodes: Mapping[str, Trajectory]) -> Sequence[tuple[Trajectory, Trajectory]]:
    """Better and worse episode of each pair with a majority."""
    return [(episodes[one], episodes[other]) for one, other in preferences(found.comparisons).probability]
