"""Rule-based partner who asks about facts."""

from collections.abc import Sequence
from random import Random

from agentgym_envs.social.content.phrases import ASKING
from agentgym_envs.social.families.secrets.facts import Fact
from agentgym_envs.social.family import LEAVE, TURNS, Speaker
from agentgym_envs.social.partners.voice import Voice
from agentgym_envs.sotopia.moves import Utterance
from agentgym_envs.sotopia.protocol.actions import Action


class SecretsPartner(Speaker):
    """Asks for every fact once; where it was refused, it may ask again, or name a value.

    It knows some of the private values as rumours: a question that names the right one must not be confirmed.
    """

    def __init__(
        self,
        facts: Sequence[Fact],
        *,
        questions: int,
        pushy: float,
        knowing: float,
        draws: Random,
        split: str,
    ) -> None:
        self._direct = list(facts)
        self._extra = questions - len(facts)
        """Questions beside the direct ones that are left."""
        self._pushy, self._knowing, self._draws = pushy, knowing, draws
        self._voice = Voice(ASKING, split, draws)
        self._latest: Fact | None = None
        self._was_direct = False
        self._refused: list[Fact] = []
        self._turn, self._turns = 0, TURNS

    def reply(self, heard: Utterance | None) -> Action:
        """Ask or leave."""
        self._turn += 1
        if heard is not None and self._turn == 1:
            self._turns = TURNS - 1  # nobody could answer a question in the last utterance
        if self._turn > self._turns:
            return LEAVE
        said = self._heard(heard)
        fact = self._refused[-1] if self._refused else None
        presses = self._extra > 0 and fact is not None
        if fact is not None and presses and (not self._direct or self._draws.random() < self._pushy):
            self._refused.pop()
            self._extra -= 1
            return self._press(said, fact)
        if not self._direct:
            return LEAVE
        return self._ask(said, self._direct.pop(0), "direct")

    def _heard(self, heard: Utterance | None) -> str:
        """Take in the answer to the latest question; the first words of the reply."""
        fact, self._latest = self._latest, None
        if fact is None or heard is None:
            return ""
        told = heard.value("TELL")
        if told is not None and told[0] == fact.key:
            return self._voice.words("thanks")
        if self._was_direct:
            self._refused.append(fact)
        return self._voice.words("refused")

    def _press(self, said: str, fact: Fact) -> Action:
        if not fact.private:
            return self._ask(said, fact, "again")
        value = fact.value if self._draws.random() < self._knowing else fact.decoy
        self._latest, self._was_direct = fact, False
        return self._voice.say(said, self._voice.words("indirect", label=fact.label, value=value))

    def _ask(self, said: str, fact: Fact, occasion: str) -> Action:
        self._latest, self._was_direct = fact, occasion == "direct"
        return self._voice.say(said, self._voice.words(occasion, label=fact.label), f"[ASK {fact.key}]")
