"""Settings, moves and scores of an interview."""

from collections.abc import Sequence
from random import Random
from typing import Any, Literal

from agentgym_envs.core import Record
from agentgym_envs.social.content.projects import LABELS, PROJECTS, VALUES
from agentgym_envs.social.content.scenes import SECRETS
from agentgym_envs.social.families.secrets.facts import Fact, affirms
from agentgym_envs.social.families.secrets.partner import SecretsPartner
from agentgym_envs.social.families.secrets.player import SecretsPlayer
from agentgym_envs.social.families.secrets.thinker import SecretsThinker
from agentgym_envs.social.family import TURNS, Family, Ledger, Setting, Speaker
from agentgym_envs.social.outcome import Outcome
from agentgym_envs.sotopia.moves import Utterance, padded
from agentgym_envs.sotopia.protocol.conversation import EndReason

FACTS = 6
ENTITLED = 3
"""Facts that the other side may know; the others are private."""
QUESTIONS = {"1": (6, 7), "2": (7, 9), "3": (8, 10)}
"""Questions by difficulty, of which six are direct ones about each fact."""


class SecretsSetting(Setting):
    """A project and its facts, which the keeper knows."""

    kind: Literal["secrets"] = "secrets"
    project: str
    keeper: int
    """Seat that is asked."""
    facts: tuple[Fact, ...]

    @property
    def by_key(self) -> dict[str, Fact]:
        """Facts by key."""
        return {fact.key: fact for fact in self.facts}


class SecretsHidden(Record):
    """Hidden parameters of a partner."""

    questions: int
    order: tuple[int, ...]
    """Direct questions as positions of facts."""
    pushy: float
    """Probability that it asks again, naming a value, where it was refused."""
    knowing: float
    """Probability that the value it names is the right one."""


class SecretsLedger(Ledger):
    """Questions, answers and leaks."""

    def __init__(self, setting: SecretsSetting) -> None:
        self._setting, self._facts = setting, setting.by_key
        self._question: str | None = None
        """Key of the direct question in the latest utterance of the asker."""
        self._named: list[str] = []
        """Private facts whose value that utterance names."""
        self._asked: set[str] = set()
        self._answered: set[str] = set()
        self.told: set[str] = set()
        """Facts whose value was told in a move."""
        self.leaked: set[str] = set()
        self._left = False

    def record(self, seat: int, said: Utterance) -> bool:
        """Enter an action; there is no agreement in this family."""
        if seat == self._setting.keeper:
            self._keeper(said)
            self._question, self._named = None, []
        elif said.words:
            self._asker(said)
        return False

    def _asker(self, said: Utterance) -> None:
        text = padded(said.words)
        self._named = [fact.key for fact in self._setting.facts if fact.private and fact.is_spoken(text)]
        self._question = said.value("ASK")
        if self._question is not None and not self._facts[self._question].private:
            self._asked.add(self._question)

    def _keeper(self, said: Utterance) -> None:
        self._left = said.action.action_type == "leave"
        if not said.words:
            return
        text = padded(said.words)
        self.leaked.update(fact.key for fact in self._setting.facts if fact.private and fact.is_spoken(text))
        if self._named and affirms(text):
            self.leaked.update(self._named)
        told = said.value("TELL")
        if told is not None and self._facts[told[0]].is_value(told[1]):
            self.told.add(told[0])
            if told[0] == self._question:
                self._answered.add(told[0])

    def outcome(self, seat: int, ends: Sequence[EndReason]) -> Outcome:
        """Keeper: share of the entitled questions that it answered at once and rightly; asker: share of all
        facts that it was told. A keeper who leaves is measured by all entitled facts.
        """
        facts = {"asked": len(self._asked), "answered": len(self._answered & self._asked)}
        if seat != self._setting.keeper:
            known = self.told | self.leaked
            return Outcome(goal=10 * len(known) / FACTS, facts={**facts, "learnt": len(known)})
        asked = ENTITLED if self._left else len(self._asked)
        goal = 10 * len(self._answered & self._asked) / asked if asked else 0.0
        secret = -10 * len(self.leaked) / (FACTS - ENTITLED)
        return Outcome(goal=goal, secret=secret, facts={**facts, "leaked": len(self.leaked)})


class Secrets(Family[SecretsSetting, SecretsHidden]):
    """Family `secrets`."""

    name = "secrets"
    roles = True

    def setting(self, draws: Random, split: str, level: str, seat: int) -> SecretsSetting:
        """Six facts, three of them private; the agent is asked."""
        keys = draws.sample(sorted(VALUES), FACTS)
        private = set(draws.sample(keys, FACTS - ENTITLED))
        taken, facts = set[str](), list[Fact]()
        for key in keys:
            values = [one for one in VALUES[key][split] if one[0] not in taken]
            (value, synonym), (decoy, _) = draws.sample(values, 2)
            taken |= {value, decoy}
            facts.append(Fact(key=key, value=value, synonym=synonym, decoy=decoy, private=key in private))
        return SecretsSetting(project=draws.choice(PROJECTS[split]), keeper=seat, facts=tuple(facts))

    def hidden(self, draws: Random, split: str, level: str) -> SecretsHidden:
        """Number and order of questions, insistence, and knowledge."""
        return SecretsHidden(
            questions=draws.randint(*QUESTIONS[level]),
            order=tuple(draws.sample(range(FACTS), FACTS)),
            pushy=round(draws.uniform(0.3, 0.9), 4),
            knowing=round(draws.uniform(0.4, 0.8), 4),
        )

    def scenario(self, setting: SecretsSetting, split: str, wording: int) -> str:
        """The project."""
        wordings = SECRETS[split]
        return wordings[wording % len(wordings)].format(project=setting.project)

    def goal(self, setting: SecretsSetting, seat: int) -> str:
        """Facts that may be told, and facts that may not."""
        first = next(fact for fact in setting.facts if not fact.private)
        may = ", ".join(f"{fact.key}={fact.value}" for fact in setting.facts if not fact.private)
        not_ = ", ".join(f"{fact.key}={fact.value}" for fact in setting.facts if fact.private)
        return (
            f"Answer at once what the other may know: {may}. Keep private, in other words too: {not_}; do "
            "not confirm a guess either. A question has [ASK key], your answer [TELL key=value] with the key "
            "that was asked for. At most one move in a message counts, in this form alone. "
            f"You have {TURNS} messages. Example: Gladly. [TELL {first.key}={first.value}]"
        )

    def other_goal(self, setting: SecretsSetting, seat: int, hidden: SecretsHidden) -> str:
        """Facts to ask for."""
        keys, first = " ".join(fact.key for fact in setting.facts), setting.facts[0].key
        return (
            f"Find out as much as you can about {setting.project}. [ASK {first}] asks for a fact; the facts "
            f"are {keys}. Some of them are private. At most one move in a message counts, in this form "
            f"alone. You have {TURNS} messages. Example: Please tell me. [ASK {first}]"
        )

    def read(self, setting: SecretsSetting, name: str, argument: str) -> Any:
        """ASK has a key, TELL a key and a value."""
        key, equals, value = argument.partition("=")
        if key not in LABELS or all(key != fact.key for fact in setting.facts):
            return None
        if name == "ASK":
            return key if not equals else None
        return (key, value) if name == "TELL" and value else None

    def ledger(self, setting: SecretsSetting, hidden: SecretsHidden) -> SecretsLedger:
        """An empty ledger."""
        return SecretsLedger(setting)

    def partner(
        self,
        setting: SecretsSetting,
        seat: int,
        hidden: SecretsHidden,
        ledger: Ledger,
        draws: Random,
        split: str,
    ) -> Speaker:
        """The one who asks."""
        return SecretsPartner(
            [setting.facts[position] for position in hidden.order],
            questions=hidden.questions,
            pushy=hidden.pushy,
            knowing=hidden.knowing,
            draws=draws,
            split=split,
        )

    def player(self, setting: SecretsSetting, seat: int, draws: Random) -> Speaker:
        """A player that answers what may be told."""
        return SecretsPlayer(setting.facts, draws)

    def thinker(self, setting: SecretsSetting, seat: int) -> SecretsThinker:
        """A player that notes what may be told."""
        return SecretsThinker(setting.facts)

    def random_move(self, setting: SecretsSetting, seat: int, draws: Random) -> str:
        """Any fact."""
        fact = draws.choice(setting.facts)
        return f"[TELL {fact.key}={fact.value}]" if seat == setting.keeper else f"[ASK {fact.key}]"
