"""Player who is asked about facts."""

from collections.abc import Sequence
from random import Random

from agentgym_envs.social.families.secrets.facts import Fact
from agentgym_envs.social.family import Speaker, spoke
from agentgym_envs.sotopia.moves import Utterance
from agentgym_envs.sotopia.protocol.actions import Action


class SecretsPlayer(Speaker):
    """Tells what may be told when it is asked for it, and refuses everything else."""

    def __init__(self, facts: Sequence[Fact], draws: Random) -> None:
        self._open = {fact.key: fact.value for fact in facts if not fact.private}
        self._draws = draws

    def reply(self, heard: Utterance | None) -> Action:
        """Answer or refuse."""
        asked = heard.value("ASK") if heard is not None else None
        if asked in self._open:
            words = ("Gladly.", "Of course.", "This you may know.")
            return spoke(f"{self._draws.choice(words)} [TELL {asked}={self._open[asked]}]")
        if heard is None or self._is_opening(heard):
            return spoke("Hello, what would you like to know?")
        words = ("I would rather not say.", "That stays with me.", "I cannot talk about it.")
        return spoke(self._draws.choice(words))

    def _is_opening(self, heard: Utterance) -> bool:
        return not heard.words
