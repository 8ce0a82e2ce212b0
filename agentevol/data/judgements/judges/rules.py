"""Judge by rules: the goals of Sotopia's scenarios that a program can check, and outcomes of `social`.

Its scores are those of a program: not Sotopia's judge, and no measure of social intelligence.
"""

from collections.abc import Sequence
from typing import Any, Final

from agentevol.data.judgements.conversations import Conversations, recorded_outcomes, social_episode
from agentevol.data.judgements.items import Item, Recording, Social
from agentevol.data.judgements.outcomes import NoRating, Rating, SeatScores, Usage, sendable
from agentgym_envs.social.outcome import Outcome
from agentgym_envs.sotopia.protocol.dimensions import SOTOPIA, Dimension
from agentgym_envs.sotopia.verification.verifier import Reading, verifiable, verify

VERSION: Final = "1"
"""Counts changes of the rules that change scores."""
_RANGES: Final = {one.name: (one.low, one.high) for one in SOTOPIA}


class RuleJudge:
    """Verifier of what was agreed; `reading` says whether plain words or moves alone count."""

    def __init__(self, conversations: Conversations, reading: Reading = "words") -> None:
        self._conversations = conversations
        self._reading: Reading = reading
        self.name = "rule" if reading == "words" else "rule:moves"
        self.version = f"rules-{VERSION}-{reading}"

    async def rate(
        self,
        item: Item,
        dimensions: Sequence[Dimension],
        samples: int,
    ) -> tuple[Sequence[Rating], Usage]:
        """Scores of both seats in the dimensions that the rules define. Raises `NoRating`."""
        found, reason = self._found(item)
        wanted = {one.name for one in dimensions if _RANGES.get(one.name) == (one.low, one.high)}
        if not any(scores.get(name) is not None for scores in found for name in wanted):
            raise NoRating("unsupported", "the rules define none of the dimensions")
        scores = tuple(
            {one.name: seat.get(one.name) if one.name in wanted else None for one in dimensions}
            for seat in found
        )
        told = sendable(reason)
        reasons = tuple({name: told for name, score in seat.items() if score is not None} for seat in scores)
        return [Rating(scores=scores, reasons=reasons)], Usage()

    def facts(self) -> dict[str, Any]:
        """Reading of a conversation by the rules."""
        return {"kind": "rule", "reading": self._reading}

    def _found(self, item: Item) -> tuple[Sequence[SeatScores], str]:
        if isinstance(item, Social):
            return self._social(item)
        if isinstance(item, Recording) and not item.record.is_published:
            return _outcomes(recorded_outcomes(item.record))
        return self._verified(item)

    def _social(self, item: Social) -> tuple[Sequence[SeatScores], str]:
        episode = social_episode(item)
        if not episode.ended:
            raise NoRating("undecided", "the conversation is not over")
        return _outcomes((episode.outcome(0), episode.outcome(1)))

    def _verified(self, item: Item) -> tuple[Sequence[SeatScores], str]:
        conversation = self._conversations.of(item)
        scene = None if conversation is None else conversation.scene
        if isinstance(item, Recording):
            scene = self._conversations.scene_of(item.record)
        if conversation is None or scene is None or verifiable(scene) is None:
            raise NoRating("unsupported", "no program can check the goals of this item")
        verdict = verify(scene, conversation.log, self._reading)
        if verdict.scores is None:
            raise NoRating("undecided", verdict.reason)
        return [dict(one.by_dimension) for one in verdict.scores], verdict.reason


def _outcomes(found: tuple[Outcome, Outcome]) -> tuple[Sequence[SeatScores], str]:
    """Scores of both seats, and the facts of the first as the reason."""
    reason = ", ".join(f"{name} {value}" for name, value in found[0].facts.items())
    return [dict(one.dimensions) for one in found], reason
