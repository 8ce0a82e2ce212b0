"""Readers of plain words: utterances, sentences, acceptance, numbers.

The readers are conservative: an utterance with a condition, an objection or a further number is no
acceptance. They miss agreements rather than find some that are none.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from agentgym_envs.sotopia.protocol.actions import Action

Log = Sequence[tuple[Action, Action]]
"""Actions of both seats by step."""

_WORDS: Final = (
    "two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen"
    " eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred thousand"
)
_SMALL: Final = {word: number for number, word in enumerate(_WORDS.split()[:11], start=2)} | {"one": 1}
_DOLLARS: Final = re.compile(r"\$ ?((?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?)", re.ASCII)
_NUMBER: Final = re.compile(r"(?<![\w.,$])\$? ?((?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?)(?!\w)", re.ASCII)
_DIGIT: Final = re.compile(r"\d", re.ASCII)
_NAME: Final = re.compile(r"\b(?!usd?\d|eur|gbp|rs)[a-z]+\d\w*", re.IGNORECASE | re.ASCII)
"""A designation such as `Z3`, which is no number."""
_VAGUE: Final = re.compile(
    rf"\b(?:{'|'.join(_WORDS.split())}|half|halfway|middle|difference|percent|discount|less|more|off)\b|%",
    re.IGNORECASE,
)
_SENTENCE: Final = re.compile(r"(?<=[.!?])\s+")
_NEGATION: Final = re.compile(r"\b(?:not|no|nor|never|none|cannot|without)\b|n['’]t\b", re.IGNORECASE)
_CONDITION: Final = re.compile(
    r"\b(?:but|however|unless|until|instead|if|although|though|except|provided|assuming|rather|almost"
    r"|nearly|actually|starting|start|counter|maybe|perhaps|might|could|would|should|think|ask|consider)\b",
    re.IGNORECASE,
)
_THIS: Final = r"(?:it\b|(?:that|this|your|the)\b(?: (?:offer|price|deal|proposal|division|split))?|\$? ?\d)"
_ACCEPTANCE: Final = re.compile(
    r"^(?:\W*(?:ok|okay|alright|great|perfect|sure|yes|well|fine|then)\b\W*)*"
    r"(?:it['’]s a )?deal\b(?=\W*$|,| (?:at|for) \$? ?\d)"
    r"|\b(?:we have|you have|you['’]ve got|you got)(?: yourself)? a deal\b"
    rf"|\bi (?:gladly |happily )?(?:accept|agree to)(?: {_THIS}|\W*$)|^(?:agreed|sold)\W*$"
    r"|\bi(?:['’]ll| will) (?:take|buy) it(?=\W*$|,| (?:at|for) \$? ?\d)"
    rf"|\blet['’]s (?:settle on|seal|shake on|go with|agree on|do) {_THIS}"
    r"|(?:\b(?:that|this|it|which|your (?:offer|price))|\d) works for me\b",
    re.IGNORECASE,
)
_APPROVAL: Final = re.compile(
    r"\bsounds (?:\w+ ){0,3}(?:fair|good|great|perfect|reasonable|fine|right)\b", re.IGNORECASE
)
_RETRACTION: Final = re.compile(
    r"\b(?:no deal|changed? (?:my|your) mind|call(?:ed|ing)? (?:it|the deal) off|back(?:ed|ing)? out|cancel"
    r"|reconsider|second thoughts|forget it|never ?mind|not interested|too (?:much|expensive|low|high)"
    r"|(?:can['’]?t|cannot|won['’]t|do not|don['’]t) (?:afford|accept|do|sell|buy|pay|want))\b",
    re.IGNORECASE,
)
_HISTORY: Final = re.compile(r"\b(?:paid|bought|spent|originally|retail|worth|costs?)\b", re.IGNORECASE)
"""Words of an amount that is told, not offered."""


@dataclass(frozen=True)
class Statement:
    """Utterance or act of one seat in one step."""

    step: int
    seat: int
    text: str
    spoken: bool
    """False for gestures and acts."""


def statements(log: Log) -> list[Statement]:
    """Words, gestures and acts in their order; without `none` and `leave`."""
    return [
        Statement(step, seat, action.argument, action.action_type == "speak")
        for step, both in enumerate(log)
        for seat, action in enumerate(both)
        if action.action_type not in ("none", "leave")
    ]


def utterances(log: Log) -> list[Statement]:
    """Utterances in their order."""
    return [one for one in statements(log) if one.spoken]


def latest_of_partner(answer: Statement, log: Log) -> str | None:
    """Latest words of the partner in an earlier step; None if its last statement was a gesture or an act."""
    before = [one for one in statements(log) if one.step < answer.step and one.seat != answer.seat]
    return before[-1].text if before and before[-1].spoken else None


def is_one_sided(log: Log) -> bool:
    """Whether a seat neither said nor did anything, so that it cannot have agreed."""
    return len({one.seat for one in statements(log)}) < 2


def sentences(text: str) -> list[str]:
    """The sentences of an utterance."""
    return [one for one in _SENTENCE.split(text.strip()) if one]


def is_question(sentence: str) -> bool:
    """Whether a sentence ends in a question mark."""
    return sentence.rstrip("\"'”’ ").endswith("?")


def is_negated(sentence: str) -> bool:
    """Whether a sentence has a negation, of whatever part."""
    return bool(_NEGATION.search(sentence))


def is_retraction(text: str) -> bool:
    """Whether an utterance takes an agreement back."""
    return bool(_RETRACTION.search(text))


def acceptances(text: str) -> list[str]:
    """Sentences of an utterance that accept an offer; none if it has a condition anywhere."""
    return _plain(text, _ACCEPTANCE)


def approvals(text: str) -> list[str]:
    """Sentences that call something fair or good, which accept it if they name it."""
    return _plain(text, _APPROVAL)


def dollars(text: str) -> set[float]:
    """Amounts with a dollar sign."""
    return {float(found.replace(",", "")) for found in _DOLLARS.findall(text)}


def proposed(text: str) -> float | None:
    """The amount of the last sentence that has any; None if there are several, or it is no offer."""
    named = [one for one in sentences(text) if dollars(one)]
    if not named or is_negated(named[-1]) or _HISTORY.search(named[-1]):
        return None
    found = dollars(named[-1])
    return next(iter(found)) if len(found) == 1 else None


def numbers(text: str) -> set[float]:
    """Numbers in digits that stand alone, amounts included."""
    return {float(found.replace(",", "")) for found in _NUMBER.findall(text)} | dollars(text)


def is_vague(text: str) -> bool:
    """Whether a text has numbers in words, or words such as `half` that change a number."""
    return bool(_VAGUE.search(text))


def has_other_numbers(text: str, amounts: set[float]) -> bool:
    """Whether a text has digits that are neither one of the amounts nor part of a name."""

    def left(found: re.Match[str]) -> str:
        return "" if float(found[1].replace(",", "")) in amounts else found[0]

    return bool(_DIGIT.search(_DOLLARS.sub(left, _NUMBER.sub(left, _NAME.sub("", text)))))


def small_number(word: str) -> int | None:
    """The value of digits, or of a word from `one` to `twelve`; None for other words."""
    return int(word) if word.isascii() and word.isdigit() else _SMALL.get(word.lower())


def _plain(text: str, pattern: re.Pattern[str]) -> list[str]:
    if _CONDITION.search(text):
        return []
    return [
        one for one in sentences(text) if pattern.search(one) and not is_question(one) and not is_negated(one)
    ]
