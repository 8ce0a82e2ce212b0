"""Final answers in replies: `final_answer`.

The first of these that a reply has is its answer:

1. the content of the last `\\boxed{...}` or `\\fbox{...}`,
2. the rest of the line after the last `####`,
3. what follows the last "answer is", "answer:" or "answer =", up to the end of its sentence or line,
4. what the verifier looks for: the last number, the last letter of a choice, the whole reply.
"""

import re
from dataclasses import dataclass

MOST_REPLY = 16_384
"""Characters of a reply that are read, from its end."""
MOST_BOXES = 8
"""Boxes that are tried, from the end, for one that is closed."""
_BOX = re.compile(r"\\(?:boxed|fbox)\s*(?P<bare>[^\s{}])?")
_STATED = re.compile(r"answer(?: is|:| =)[:\s*]{0,8}", re.IGNORECASE)
_SENTENCE = re.compile(r"[.!?](?=\s|$)|\n")
NUMBER = re.compile(
    r"(?<![\w.])-?\$?(?:\d{1,3}(?:,\d{3}){1,8}(?![,\d])|\d+)(?:\.\d+)?(?: ?/ ?\d+)?%?|(?<![\w.])-?\$?\.\d+%?"
)
"""A number in a text, with a fraction, thousands separators or a percent sign."""
LETTER = re.compile(r"\(([A-Z])\)|(?<![\w'])([B-HJ-Z]|A(?!\s+[a-z]))(?![\w'])")
"""A letter that names a choice: in brackets, or alone, if it is no word."""


@dataclass(frozen=True)
class Found:
    """An answer in a reply."""

    text: str
    marked: bool
    """True where the reply says that this is its answer: rules 1 to 3."""


def final_answer(reply: str) -> Found:
    """The marked answer of a reply, or the whole reply where nothing is marked."""
    text = reply[-MOST_REPLY:]
    for found in (_boxed(text), _after_hashes(text), _stated(text)):
        if found:
            return Found(found, marked=True)
    return Found(text.strip(), marked=False)


def number_in(found: Found) -> str | None:
    """The number of an answer: the first one where it is marked, the last one of a whole reply."""
    numbers = [match[0] for match in NUMBER.finditer(found.text)]
    return None if not numbers else numbers[0] if found.marked else numbers[-1]


def letter_in(found: Found) -> str | None:
    """The letter of a choice: the first one where it is marked, the last one of a whole reply."""
    if re.fullmatch(r"\(?[A-Za-z]\)?", found.text):
        return found.text.strip("()").upper()
    letters = [match[1] or match[2] for match in LETTER.finditer(found.text)]
    return None if not letters else letters[0] if found.marked else letters[-1]


def last_boxed(text: str) -> str | None:
    """Content of the last closed box of a text, as it stands; None without one."""
    for match in list(_BOX.finditer(text))[: -MOST_BOXES - 1 : -1]:
        if match["bare"]:
            return match["bare"]
        end = _closed(text, match.end())
        if end is not None:
            return text[match.end() + 1 : end]
    return None


def _boxed(text: str) -> str:
    return (last_boxed(text) or "").strip()


def _closed(text: str, at: int) -> int | None:
    """Place of the brace that closes the one at `at`; None where there is none."""
    depth = 0
    for place in range(at, len(text)):
        if text[place] == "\\":
            continue
        if text[place] in "{}" and (place == 0 or text[place - 1] != "\\"):
            depth += 1 if text[place] == "{" else -1
            if depth == 0:
                return place
    return None


def _after_hashes(text: str) -> str:
    _, mark, rest = text.rpartition("####")
    return rest.strip().partition("\n")[0].strip() if mark else ""


def _stated(text: str) -> str:
    places = [match.end() for match in _STATED.finditer(text)]
    if not places:
        return ""
    rest = text[places[-1] :]
    end = _SENTENCE.search(rest)
    return rest[: end.start() if end else len(rest)].strip().strip("*").strip()
