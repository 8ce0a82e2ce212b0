"""Verifiers by name: whether a reply has the right answer.

| name | right where |
|---|---|
| `exact` | the texts are equal, white space aside |
| `choice` | the letters are equal |
| `number` | the numbers are equal: 1/2, 0.5 and 50% are |
| `math` | the values are equal (`agentgym_envs.questions.mathematics`) |
| `none` | nobody knows: a reward model or judge has to say |

`module:attribute` is a user's function of (reply, answer) that returns True, False, or a number from 0 to 1.
"""

import math
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from numbers import Real
from pathlib import Path
from typing import Any, Literal, cast

from agentgym_envs.core import DependencyFault
from agentgym_envs.questions.extraction import Found, final_answer, letter_in, number_in
from agentgym_envs.questions.mathematics import Scalar, Unreadable, Value, Words, read, same

Outcome = Literal["right", "wrong", "no answer found", "not verified"]
NONE = "none"


class VerifierFault(DependencyFault):
    """A user's verifier raised, or returned something else than a verdict: the episode has no reward."""

    kind = "verifier"


@dataclass(frozen=True)
class Verdict:
    """Verdict on a reply."""

    outcome: Outcome
    score: float = 0.0
    """From 0 to 1."""
    extracted: str = ""
    """The answer that was found in the reply."""


@dataclass(frozen=True)
class Verifier:
    """A verifier of this package."""

    readable: Callable[[str], bool]
    """Whether an answer can be verified."""
    extracted: Callable[[Found], str | None]
    """The answer in a reply; None where there is none."""
    right: Callable[[str, str], bool]
    """Whether the answer of a reply (second) is the one of the question (first)."""


def verify(name: str, reply: str, answer: str) -> Verdict:
    """The verdict of a verifier. Raises `VerifierFault` where a user's function fails."""
    if name == NONE:
        return Verdict("not verified")
    if ":" in name:
        score = _score(name, reply, answer)
        return Verdict("right" if score == 1 else "wrong", score)
    verifier, found = VERIFIERS[name], final_answer(reply)
    extracted = verifier.extracted(found) if found.text else None
    if extracted is None:
        return Verdict("no answer found")
    right = verifier.right(answer, extracted)
    return Verdict("right" if right else "wrong", float(right), extracted)


def can_read(name: str, answer: str) -> bool:
    """True if the verifier can compare replies with this answer."""
    if name == NONE:
        return True
    return bool(answer.strip()) if ":" in name else VERIFIERS[name].readable(answer)


def checked_name(name: str) -> str:
    """The name, if there is such a verifier. Raises `ValueError`, also for a function that cannot be
    imported.
    """
    if ":" in name:
        _function(name)
    elif name not in VERIFIERS and name != NONE:
        raise ValueError(
            f"no verifier {name[:80]!r}; there are: {', '.join((*VERIFIERS, NONE))}, or module:attribute"
        )
    return name


def _score(name: str, reply: str, answer: str) -> float:
    try:
        found = _function(name)(reply, answer)
    except Exception as cause:
        raise VerifierFault(
            f"the verifier {name} raised {type(cause).__name__}: {str(cause)[:200]}"
        ) from cause
    if not isinstance(found, Real) or not math.isfinite(float(found)) or not 0 <= float(found) <= 1:
        raise VerifierFault(f"the verifier {name} returned {repr(found)[:80]}, not a number from 0 to 1")
    return float(found)


@lru_cache(maxsize=16)
def _function(name: str) -> Callable[[str, str], Any]:
    """A user's function. Raises `ValueError` where there is none."""
    folder = str(Path.cwd())
    if folder not in sys.path and "" not in sys.path:
        sys.path.append(folder)  # as `python -m` does
    module, _, attribute = name.partition(":")
    try:
        found: object = getattr(import_module(module), attribute)
    except Exception as cause:
        reason = str(cause).partition("\n")[0][:200]
        raise ValueError(f"the verifier {name!r} cannot be imported: {reason}") from cause
    if not callable(found):
        raise ValueError(
            f"the verifier {name!r} is a {type(found).__name__}, not a function of (reply, answer)"
        )
    return cast("Callable[[str, str], Any]", found)


def _value(text: str) -> Value | None:
    """The value of a text; None where it is unreadable."""
    try:
        return read(text)
    except Unreadable:
        return None


_reference = lru_cache(maxsize=256)(_value)
"""Values of questions' answers: many replies are compared with each."""


def _is_rational(text: str) -> bool:
    value = _value(text)
    return isinstance(value, Scalar) and value.ratio.rational is not None


def _readable_part(found: Found) -> str | None:
    """A marked answer as a whole where it is readable, and a number of it otherwise."""
    if found.marked and _value(found.text) is not None:
        return found.text
    if not found.marked and len(found.text) <= _SHORT and "\n" not in found.text:
        value = _value(found.text)
        if value is not None and (not isinstance(value, Words) or " " not in found.text):
            return found.text
    return number_in(found) or (found.text if found.marked else None)


_SHORT = 80
"""Longest reply that may be nothing but an answer."""


def _number_part(found: Found) -> str | None:
    if found.marked and _is_rational(found.text):
        return found.text
    return number_in(found)


def _same_values(answer: str, given: str) -> bool:
    if _folded(answer) == _folded(given):
        return True
    reference, value = _reference(answer), _value(given)
    return reference is not None and value is not None and same(reference, value)


def _folded(text: str) -> str:
    return " ".join(text.split())


VERIFIERS: Mapping[str, Verifier] = {
    "exact": Verifier(
        lambda answer: bool(answer.strip()),
        lambda found: _folded(found.text) or None,
        lambda answer, given: _folded(answer) == _folded(given),
    ),
    "choice": Verifier(
        lambda answer: letter_in(Found(answer.strip(), marked=True)) == answer.strip().strip("()").upper(),
        letter_in,
        lambda answer, given: answer.strip().strip("()").upper() == given,
    ),
    "number": Verifier(_is_rational, _number_part, _same_values),
    "math": Verifier(lambda answer: _value(answer) is not None, _readable_part, _same_values),
}
"""Verifiers of this package by name."""
