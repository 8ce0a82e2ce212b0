"""Notes of a player who is asked about facts: what is asked for, and whether it may be told."""

from collections.abc import Sequence

from agentgym_envs.social.families.secrets.facts import Fact
from agentgym_envs.social.thoughts import Talk, Thinker, Thought
from agentgym_envs.sotopia.moves import padded


class SecretsThinker(Thinker):
    """Tells what may be told when it is asked for it, and refuses everything else."""

    def __init__(self, facts: Sequence[Fact]) -> None:
        self._facts = {fact.key: fact for fact in facts}

    def think(self, talk: Talk) -> Thought:
        """Answer or refuse."""
        heard = talk.latest
        key = heard.value("ASK") if heard else None
        named = None if key else self._named(padded(heard.words) if heard else "")
        fact = self._facts.get(key or named or "")
        tells = key is not None and fact is not None and not fact.private
        told = f"TELL {fact.key}={fact.value}" if tells and fact else "refuse"
        kind = "private" if fact and fact.private else "open" if fact else "nothing"
        about = fact.key if fact else "nothing"
        words = f"Of course. [{told}]" if tells else "I would rather not say."
        if heard is None:
            words, told = "Hello, what would you like to know?", "greet"
        return Thought(
            history=f"told {', '.join(one for one, _ in talk.own_values('TELL')) or 'nothing'}",
            goal=f"may tell {', '.join(key for key, one in self._facts.items() if not one.private)}",
            intent=f"they ask for {about}" if key else f"they guess {about}" if fact else "they begin",
            assess=f"{about} is {kind}",
            strategy="tell" if tells else "greet" if heard is None else "refuse",
            strategies="tell, confirm or refuse",
            deduction=f"{about} is {kind}, confirming leaks, {'telling is right' if tells else 'refuse'}",
            integration="tell" if tells else "greet" if heard is None else "refuse",
            response=told,
            words=words,
        )

    def _named(self, text: str) -> str | None:
        """Key of the fact whose name is spoken."""
        return next((fact.key for fact in self._facts.values() if padded(fact.label) in text), None)
