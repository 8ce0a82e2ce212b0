"""Expressions to calculate, as `(12 + 5) * 3 - 4`."""

from dataclasses import dataclass
from random import Random

from agentgym_envs.questions.generator.problems import Problem
from agentgym_envs.questions.generator.steps import Step

KIND = "calculation"
_BINDS = {"+": 1, "-": 1, "*": 2, "/": 2}
_TRIES = 20


@dataclass(frozen=True)
class _Part:
    """A part of an expression: its text and value, and the step that it results from."""

    text: str
    value: int
    binds: int = 3
    """Precedence of its outermost sign; 3 for a number."""
    step: int = -1


def calculation(random: Random, operations: int) -> Problem | None:
    """An expression with this number of signs."""
    steps, links = list[Step](), list[tuple[int, int]]()
    parts = [_number(random)]
    for _ in range(operations):
        joined = _joined(random, parts[-1], steps, links)
        if joined is None:
            return None
        parts.append(joined)
    text = parts[-1].text
    question = random.choice((f"Calculate {text}.", f"What is {text}?"))
    return Problem(question, KIND, tuple(steps), tuple(links), f"{KIND}/{text}")


def _joined(random: Random, part: _Part, steps: list[Step], links: list[tuple[int, int]]) -> _Part | None:
    """A part, joined with a further number or product by a sign."""
    for _ in range(_TRIES):
        sign, other = random.choice("+-*/"), _operand(random)
        turned = sign in "+*" and random.random() < 0.3
        left, right = (other, part) if turned else (part, other)
        step = Step(left.value, sign, right.value)
        small = sign != "*" or min(left.value, right.value) <= 12
        if not step.is_plain or not small or step.result == 0 or other.value < 2:
            continue
        steps.append(step)
        links.append((left.step, right.step))
        text = f"{_bracketed(left, sign, False)} {sign} {_bracketed(right, sign, True)}"
        return _Part(text, step.result, _BINDS[sign], len(steps) - 1)
    return None


def _number(random: Random) -> _Part:
    value = random.randint(2, random.choice((9, 20, 99)))
    return _Part(str(value), value)


def _operand(random: Random) -> _Part:
    value = random.randint(2, random.choice((9, 12, 60)))
    return _Part(str(value), value)


def _bracketed(part: _Part, sign: str, is_right: bool) -> str:
    loose = part.binds < _BINDS[sign] or (is_right and part.binds == _BINDS[sign])
    return f"({part.text})" if loose else part.text
