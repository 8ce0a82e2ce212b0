"""Replies in one of AMPO's four thinking modes (arXiv:2505.02156): renderer and checker.

A reply of mode 2, in which `Style` holds "friendly":

    Thinking Level: 2
    <|begin_of_thinking|>
    Intent:
    She wants the lamp.

    Style:
    friendly

    Response:
    offer half
    <|end_of_thinking|>
    <|begin_of_answer|>
    "I can meet you halfway."
    <|end_of_answer|>

Mode 1 has the level and the answer alone. No text raises: a check reports its fault.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

HEADERS: dict[int, tuple[str, ...]] = {
    1: (),
    2: ("Intent", "Style", "Response"),
    3: ("History", "Goal", "Intent", "Assess", "Strategy", "Style", "Response"),
    4: (
        *("History", "Goal", "Intent", "Assess", "Strategy"),
        *("Deduction", "Integration", "Style", "Response"),
    ),
}
"""The sections of each mode, in order."""
NAMES: dict[int, str] = {
    1: "Reactive Response",
    2: "Intentional Analysis",
    3: "Strategic Adaptation",
    4: "Prospective Simulation",
}
"""The names of the modes in the paper."""


OPENING = "Thinking Level:"
"""Beginning of the replies of all modes."""
THINKING, THOUGHT = "<|begin_of_thinking|>\n", "\n<|end_of_thinking|>"
ANSWER, ANSWERED = "<|begin_of_answer|>\n", "\n<|end_of_answer|>"
_TAGS = tuple(tag.strip() for tag in (THINKING, THOUGHT, ANSWER, ANSWERED))

Fault = Literal[
    "no_level",
    "missing_tag",
    "repeated_tag",
    "tag_order",
    "answer_quotes",
    "missing_header",
    "repeated_header",
    "header_order",
    "extra_header",
    "outside_template",
    "tag_in_answer",
]
"""Kinds of malformed replies; the last three are faults of the strict check only."""

# A section begins after an empty line; one word and a colon alone on a line there look like a header.
_HEADER_LINE = re.compile(r"(?:\A|\n\n)(\w+):\n")


@dataclass(frozen=True)
class Reply:
    """Result of a check."""

    mode: int
    """1 to 4; -1 where the text is malformed."""
    answer: str | None = None
    """Text between the answer's tags, without surrounding white space, quotes included."""
    sections: tuple[str, ...] = ()
    """The text below each header of the mode."""
    fault: Fault | None = None

    @property
    def ok(self) -> bool:
        """True if the text is well formed."""
        return self.fault is None


def render(mode: int, sections: Sequence[str], answer: str) -> str:
    """The canonical reply; `answer` without its quotes."""
    bodies = [f"{header}:\n{body}" for header, body in zip(HEADERS[mode], sections, strict=True)]
    thought = THINKING + "\n\n".join(bodies) + THOUGHT + "\n" if mode > 1 else ""
    return f'{_level(mode)}{thought}{ANSWER}"{answer}"{ANSWERED}'


def check(text: str, *, strict: bool = False) -> Reply:
    """Check if `text` is a reply in one of the modes, and parse it.

    The rules are those of the paper's released code, which allows text before the level and after the answer,
    further sections, so that the nine sections of mode 4 pass as mode 3, and tags within the answer. `strict`
    forbids this: the only text outside the template is white space at the end, no section is added, and the
    answer has no tag.
    """
    mode = next((mode for mode in HEADERS if _first_tag(mode) in text), None)
    if mode is None:
        return _faulty("no_level")
    tags = [_first_tag(mode), *([THOUGHT] if mode > 1 else []), ANSWER, ANSWERED]
    if fault := next(_count_faults(text, tags, "missing_tag", "repeated_tag"), None):
        return _faulty(fault)
    spans = _spans(text, tags)
    if spans is None:
        return _faulty("tag_order")
    answer = spans[-1].strip()
    if answer.count('"') != 2 or not (answer[0] == answer[-1] == '"'):
        return _faulty("answer_quotes")
    found = _sections(spans[0], HEADERS[mode]) if mode > 1 else ()
    if isinstance(found, str):
        return _faulty(found)
    if strict and (fault := _strict_fault(text, mode, found, answer)):
        return _faulty(fault)
    return Reply(mode, answer, found)


def opening(mode: int) -> str:
    """Beginning of every reply of a mode; a model that is made to begin so can only continue in this mode."""
    return f"{OPENING} {mode}"


def parts(text: str) -> tuple[str, str] | None:
    """Thought and answer, quotes included, of a reply that is well formed by the rules of the released code;
    None for any other text. The thought of mode 1 is empty.
    """
    if OPENING not in text:
        return None
    reply = check(text)
    if reply.answer is None:
        return None
    thought = text.partition(THINKING)[2].partition(THOUGHT)[0] if reply.mode > 1 else ""
    return thought, reply.answer


def extract(text: str) -> str | None:
    """The answer of a reply without its quotes, read leniently; None where there is none.

    The answer of a well-formed reply; otherwise the text between the last opening tag of an answer and the
    closing tag after it; otherwise the text below the last header `Response`. What is thought within it, and
    tags, are no part of the answer.
    """
    reply = check(text)
    if reply.answer is not None:
        return _spoken(reply.answer)
    _, tag, rest = text.rpartition(ANSWER)
    if tag and ANSWERED in rest:
        return _spoken(rest.partition(ANSWERED)[0])
    _, header, rest = text.rpartition("\n\nResponse:\n")
    return _spoken(rest.partition(THOUGHT)[0]) if header else None


def _spoken(answer: str) -> str:
    """An answer without quotes, tags, and thoughts within tags."""
    words = _unquoted(answer)
    if not any(tag in words for tag in _TAGS):
        return words
    thinking, thought = THINKING.strip(), THOUGHT.strip()
    begins, ends = words.find(thinking), words.rfind(thought)
    if 0 <= begins < ends:
        words = words[:begins] + words[ends + len(thought) :]
    words = words.rpartition(thought)[2].partition(thinking)[0]  # thoughts without one of their tags
    for tag in _TAGS:
        words = words.replace(tag, "")
    return _unquoted(words)


def _unquoted(answer: str) -> str:
    text = answer.strip()
    return text[1:-1] if len(text) >= 2 and text[0] == text[-1] == '"' else text


def length_factor(count: float, *, target: float, span: float) -> float:
    """AMPO's length reward: 1 for `count` up to target - span, 0 from target + span on, linear between."""
    return (min(1.0, max(-1.0, (target - count) / span)) + 1) / 2


def _level(mode: int) -> str:
    return f"{opening(mode)}\n"


def _first_tag(mode: int) -> str:
    return _level(mode) + (THINKING if mode > 1 else ANSWER)


def _faulty(fault: Fault) -> Reply:
    return Reply(mode=-1, fault=fault)


def _count_faults(text: str, pieces: Sequence[str], missing: Fault, repeated: Fault) -> Iterator[Fault]:
    """A fault for each piece that does not occur exactly once."""
    for piece in pieces:
        if (count := text.count(piece)) != 1:
            yield repeated if count else missing


def _spans(text: str, tags: Sequence[str]) -> list[str] | None:
    """Texts after each tag but the last, up to the next tag; None if the order is wrong."""
    starts = [text.index(tag) for tag in tags]
    # In mode 1 the opening contains the answer's tag, which therefore begins after it.
    if starts != sorted(starts):
        return None
    ends = [start + len(tag) for start, tag in zip(starts, tags, strict=True)]
    return [text[end:start] for end, start in zip(ends[:-1], starts[1:], strict=True)]


def _sections(thought: str, headers: Sequence[str]) -> "tuple[str, ...] | Fault":
    """The text below each header, or the fault."""
    titles = [f"{header}:\n" for header in headers]
    borders = [titles[0], *(f"\n\n{title}" for title in titles[1:])]
    if fault := next(_count_faults(thought, [*titles, *borders], "missing_header", "repeated_header"), None):
        return fault
    starts = [thought.index(border) for border in borders]
    if starts != sorted(starts):
        return "header_order"
    ends = [start + len(border) for start, border in zip(starts, borders, strict=True)]
    return tuple(thought[end:start] for end, start in zip(ends, [*starts[1:], len(thought)], strict=True))


def _strict_fault(text: str, mode: int, sections: Sequence[str], answer: str) -> Fault | None:
    """The fault that only the strict rules forbid."""
    if any(tag in answer for tag in _TAGS):
        return "tag_in_answer"
    if any(_HEADER_LINE.search(f"{section}\n") for section in sections):
        return "extra_header"
    return None if text.rstrip() == render(mode, sections, answer[1:-1]) else "outside_template"
