"""Rule-based listener."""

from random import Random

from agentgym_envs.social.content.phrases import LISTENING
from agentgym_envs.social.families.persuade.opinion import MOST_CARDS, Card, ListenerHidden, Opinion
from agentgym_envs.social.family import LEAVE, Speaker
from agentgym_envs.social.partners.voice import Voice
from agentgym_envs.sotopia.moves import Utterance
from agentgym_envs.sotopia.protocol.actions import Action


class PersuadePartner(Speaker):
    """Says how much each card counts, agrees at its threshold, and leaves after the last card."""

    def __init__(
        self, cause: str, opinion: Opinion, hidden: ListenerHidden, draws: Random, split: str
    ) -> None:
        self._cause, self._opinion, self._hidden = cause, opinion, hidden
        self._voice = Voice(LISTENING, split, draws)
        self._known = 0
        """Cards that it has commented."""
        self._idle = 0

    def reply(self, heard: Utterance | None) -> Action:
        """Comment, agree or leave."""
        if heard is None:
            return self._voice.say(self._voice.words("open", cause=self._cause))
        is_new = len(self._opinion.cited) > self._known
        self._known = len(self._opinion.cited)
        self._idle = 0 if is_new else self._idle + 1
        if self._idle >= self._hidden.patience:
            return LEAVE
        comment = self._comment(self._opinion.cited[-1]) if is_new else self._waiting(heard)
        if self._opinion.is_won:
            return self._voice.say(comment, self._voice.words("agree"), "[AGREE]")
        if self._known >= MOST_CARDS and not is_new:
            return LEAVE
        if self._known >= MOST_CARDS:
            return self._voice.say(comment, self._voice.words("bye"), "[REJECT]")
        return self._voice.say(comment)

    def _comment(self, card: Card) -> str:
        if not card.true and self._hidden.checks:
            return self._voice.words("false")
        return self._voice.words(("none", "some", "strong")[self._hidden.weights[card.type]])

    def _waiting(self, heard: Utterance) -> str:
        return self._voice.words("again" if heard.value("CITE") is not None else "evidence")
