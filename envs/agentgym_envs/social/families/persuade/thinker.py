"""Notes of a player with evidence: what each type has done, and the true cards that are left."""

from collections.abc import Sequence

from agentgym_envs.social.content.evidence import TYPES
from agentgym_envs.social.families.persuade.opinion import FADING, Card
from agentgym_envs.social.families.persuade.player import STRENGTHS, UNTRIED
from agentgym_envs.social.thoughts import Talk, Thinker, Thought


class PersuadeThinker(Thinker):
    """Cites true cards only: of types that count, or else of one that it has not tried."""

    def __init__(self, cards: Sequence[Card]) -> None:
        self._cards = [card for card in cards if card.true]

    def think(self, talk: Talk) -> Thought:
        """Cite the card that promises most, or leave."""
        cited: list[Card] = talk.own_values("CITE")
        effects = self._effects(talk)
        left = [card for card in self._cards if card not in cited]
        over = not left or (talk.latest is not None and talk.latest.value("REJECT") is not None)
        kinds = [kind for kind in TYPES if any(card.type == kind for card in left)]
        kinds.sort(key=lambda kind: (-self._promise(kind, cited, effects), TYPES.index(kind)))
        best = next((card for card in left if kinds and card.type == kinds[0]), None)
        done = over or best is None
        ids = " ".join(card.id for card in left if kinds and card.type == kinds[0])
        told = ", ".join(f"{kind} {effect}" for kind, effect in effects.items()) or "nothing said"
        kind, card = (kinds[0], best.id) if best else ("nothing", "nothing")
        state = effects.get(kind, "new")
        second = f", {kinds[1]} is {effects.get(kinds[1], 'new')}" if len(kinds) > 1 else ""
        return Thought(
            history=told,
            goal=f"{len(cited)} of 6 cards said",
            intent=self._intent(talk, effects),
            assess=f"{kind} is {state}, true {ids}" if best else "no true card is left",
            strategy="leave" if done else f"{kind} {card}",
            strategies="leave" if done else " or ".join(kinds[:2]),
            deduction="it is over" if done else f"{kind} is {state}{second}",
            integration="leave" if done else f"{kind} {card}",
            response="leave" if done else f"CITE {card}",
            words="left the conversation" if done else f"Consider this. [CITE {card}]",
        )

    def _effects(self, talk: Talk) -> dict[str, str]:
        """By type: how strong its cards were, as far as the other side has said so."""
        found = dict[str, str]()
        for own, answer in talk.replies:
            card = own.value("CITE")
            for strength, words in STRENGTHS.items():
                if card is not None and answer.words.startswith(words):
                    found[card.type] = strength
        return found

    def _promise(self, kind: str, cited: list[Card], effects: dict[str, str]) -> float:
        if kind not in effects:
            return UNTRIED
        return list(STRENGTHS).index(effects[kind]) * FADING ** sum(card.type == kind for card in cited)

    def _intent(self, talk: Talk, effects: dict[str, str]) -> str:
        cited = talk.own_values("CITE")
        if not cited or cited[-1].type not in effects:
            return "they want reasons"
        return f"{cited[-1].type} is {effects[cited[-1].type]} for them"
