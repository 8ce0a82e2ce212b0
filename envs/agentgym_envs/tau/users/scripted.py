"""Rule-based user: `ScriptedUser`, which answers from the scenario's own text.

It reads the scenario only: neither gold actions nor tables nor a verdict.
"""

import re
from collections.abc import Iterator
from typing import Any

from agentgym_envs.tau.tasks import Scenario
from agentgym_envs.tau.users.user import STOP, TRANSFER, User

MOST_IDLE = 3
"""Answers in a row without anything new, after which it ends the dialogue."""
NOTHING_LEFT = "I have nothing to add."
"""Answer where all wishes are told."""

_SLOTS: tuple[tuple[str, re.Pattern[str], re.Pattern[str]], ...] = (
    (
        "email",
        re.compile(r"\be-?mail", re.IGNORECASE),
        re.compile(r"[\w.+-]{1,64}@[\w-]{1,64}(?:\.[\w-]{1,64}){1,8}"),
    ),
    ("zip code", re.compile(r"\bzip|postal", re.IGNORECASE), re.compile(r"(?<![\d#W-])\d{5}(?![\d-])")),
    ("order number", re.compile(r"\border (id|number)", re.IGNORECASE), re.compile(r"#W\d{7}")),
    (
        "reservation number",
        re.compile(r"\b(reservation|confirmation|booking) (id|number|code)", re.IGNORECASE),
        re.compile(r"\b(?=[A-Z0-9]*\d)[A-Z0-9]{6}\b|\b[A-Z]{6}\b"),
    ),
    (
        "user id",
        re.compile(r"\b(user|customer) ?(id|name)", re.IGNORECASE),
        re.compile(r"\b[a-z]+_[a-z]+_\d+\b"),
    ),
    ("phone number", re.compile(r"\bphone", re.IGNORECASE), re.compile(r"\b\d{3}-\d{3}-\d{4}\b")),
    (
        "date of birth",
        re.compile(r"\bbirth|\bdob\b", re.IGNORECASE),
        re.compile(
            r"\b\d{4}-\d{2}-\d{2}\b|\b(?:January|February|March|April|May|June|July|August|September|"
            r"October|November|December) \d{1,2},? \d{4}\b"
        ),
    ),
    (
        "name",
        re.compile(r"\bname\b", re.IGNORECASE),
        re.compile(r"(?:[Yy]ou are|[Yy]ou're|[Yy]our? name is) ((?:[A-Z][\w'-]+ ?){2,3})"),
    ),
)
"""Slot, what asks for it, and what it looks like in the scenario."""
_CONFIRMATION = re.compile(
    r"\(yes/no\)|\byes or no\b|do you confirm|please confirm|shall i proceed|would you like (me )?to proceed|"
    r"do you want (me )?to proceed|is that correct|is this correct",
    re.IGNORECASE,
)
_COMPLETION = re.compile(
    r"anything else|has been|have been|is now|successfully|all set|is complete|completed", re.IGNORECASE
)
_TRANSFER = re.compile(r"transferr(ed|ing)\b.*\bhuman|human agent", re.IGNORECASE)
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")
_PERSON = (
    (re.compile(r"\byou are\b", re.IGNORECASE), "I am"),
    (re.compile(r"\byou're\b", re.IGNORECASE), "I'm"),
    (re.compile(r"\byou've\b", re.IGNORECASE), "I've"),
    (re.compile(r"\byou'd\b", re.IGNORECASE), "I'd"),
    (re.compile(r"\byourself\b", re.IGNORECASE), "myself"),
    (re.compile(r"\byours\b", re.IGNORECASE), "mine"),
    (re.compile(r"\byour\b", re.IGNORECASE), "my"),
    (re.compile(r"\byou\b", re.IGNORECASE), "I"),
)


_CONDITIONAL = re.compile(
    r"\b(if|unless|otherwise|except|at first|initially|only (when|after)|change (your|my) mind|pretend|"
    r"refuse|insist(ent)?|persistent|prefer|wait|regret|decide to)\b",
    re.IGNORECASE,
)


def can_be_scripted(scenario: Scenario) -> bool:
    """False for a scenario whose customer decides something in the dialogue, or changes a wish."""
    return _CONDITIONAL.search(f"{scenario.reason}\n{scenario.instructions}") is None


class ScriptedUser(User):
    """User by rules: states its reason, answers questions about itself, confirms, and tells the rest of its
    wishes sentence by sentence.
    """

    def __init__(self, scenario: Scenario) -> None:
        self._scenario = scenario
        self._left = [_first_person(one) for one in _sentences(scenario.instructions)]
        self._told = set[str]()
        self._idle = 0
        self._turns = 0

    def open(self, greeting: str | None) -> str:
        return _first_person(self._scenario.reason)

    def answer(self, message: str) -> str:
        self._turns += 1
        if _TRANSFER.search(message):
            return TRANSFER
        if facts := list(self._facts(message)):
            return self._counted(" ".join(facts))
        if _CONFIRMATION.search(message):
            self._idle = 0
            return "Yes, please."
        if self._left:
            self._idle = 0
            return self._left.pop(0)
        if _COMPLETION.search(message):
            return STOP
        return self._counted(NOTHING_LEFT)

    def figures(self) -> dict[str, Any]:
        return {"turns": self._turns}

    def _facts(self, message: str) -> Iterator[str]:
        """Answers to the questions of a message."""
        if "?" not in message and "please" not in message.lower():
            return
        known = f"{self._scenario.known}\n{self._scenario.reason}"
        for slot, question, form in _SLOTS:
            if not question.search(message):
                continue
            found = form.search(known)
            if found is not None:
                yield f"My {slot} is {(found.group(1) if form.groups else found.group()).strip()}."
            elif slot in self._scenario.unknown.lower() or slot in ("email", "order number"):
                yield f"I do not remember my {slot}."

    def _counted(self, reply: str) -> str:
        """The reply, or the end after several without anything new."""
        self._idle = self._idle + 1 if reply in self._told else 0
        self._told.add(reply)
        return STOP if self._idle >= MOST_IDLE else reply


def _sentences(text: str) -> list[str]:
    return [one.strip() for one in _SENTENCE.split(text) if one.strip(" .")]


def _first_person(text: str) -> str:
    for form, replacement in _PERSON:
        text = form.sub(replacement, text)
    return text.strip()
