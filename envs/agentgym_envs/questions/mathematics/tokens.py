"""Tokens of an answer in LaTeX or plain notation.

> [token.text for token in tokens("$\\frac{1}{2}\\,\\text{cm}$")]
['\\frac', '{', '1', '}', '{', '2', '}', 'cm']
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from agentgym_envs.questions.mathematics.limits import MOST_CHARACTERS, Unreadable

Kind = Literal["number", "word", "command", "text", "sign"]


@dataclass(frozen=True)
class Token:
    """A token; `spaced` is True after white space."""

    kind: Kind
    text: str
    spaced: bool = False


_PLAIN: dict[str, str] = {
    **{
        "−": "-",
        "–": "-",
        "×": "*",
        "·": "*",
        "⋅": "*",
        "÷": "/",
        "∕": "/",
        "⁄": "/",
        "∪": r"\cup ",
        "∞": r"\infty ",
    },
    **{
        "π": r"\pi ",
        "√": r"\sqrt ",
        "°": r"\degree ",
        "±": r"\pm ",
        "≤": "<=",
        "≥": ">=",
        "∈": r"\in ",
        "²": "^2",
    },
    **{
        "³": "^3",
        "½": r"\frac{1}{2}",
        "¼": r"\frac{1}{4}",
        "¾": r"\frac{3}{4}",
        "⟨": "<",
        "⟩": ">",
        "θ": r"\theta ",
    },
    **{"€": "", "£": "", "\u00a0": " ", "\u2009": " ", "\u202f": " ", "’": "'", "“": '"', "”": '"'},
}
"""Characters of plain text, as they are written in LaTeX."""

_SAME: dict[str, str] = {
    **dict.fromkeys(("dfrac", "tfrac", "cfrac"), "frac"),
    **dict.fromkeys(("times", "cdot", "ast"), "*"),
    **dict.fromkeys(("leq", "le", "leqslant"), "<="),
    **dict.fromkeys(("geq", "ge", "geqslant"), ">="),
    **{"div": "/", "lt": "<", "gt": ">", "lbrace": r"\{", "rbrace": r"\}", "lbrack": "[", "rbrack": "]"},
    **{"dbinom": "binom", "tbinom": "binom", "infinity": "infty", "circ": "degree", "ne": "neq", "mp": "pm"},
}
"""Commands, as others or as signs."""
_IGNORED = frozenset(
    (
        *("left", "right", "big", "Big", "bigg", "Bigg", "bigl", "bigr", "displaystyle", "quad", "qquad"),
        *("limits", "textstyle", "hfill", "bf", "rm", "it", "mathstrut", "phantom"),
    )
)
_TEXTS = frozenset(
    (
        *("text", "textbf", "textit", "textrm", "mathrm", "mbox", "mathbf", "mathit", "operatorname"),
        *("emph", "texttt", "mathsf", "textsc", "hbox", "mathcal"),
    )
)
"""Commands whose argument is text."""
WORDS: dict[str, str] = {
    **{
        "sqrt": "sqrt",
        "pi": "pi",
        "inf": "infty",
        "infinity": "infty",
        "degrees": "degree",
        "degree": "degree",
    },
    **{name: name for name in ("sin", "cos", "tan", "cot", "sec", "csc", "log", "ln", "exp")},
    **{name: name for name in ("arcsin", "arccos", "arctan")},
}
"""Words of plain text that are commands."""
_UNITS = frozenset(
    (
        *("cm", "mm", "km", "ft", "in", "yd", "mi", "kg", "mg", "lb", "lbs", "oz", "hr", "hrs", "ml", "mph"),
        *("rpm", "sq", "cc", "cents", "am", "pm", "st", "nd", "rd", "th"),
    )
)
_SHORT = frozenset(("no", "so", "up", "us", "we", "he", "it"))
"""Words of two letters that are no products of variables."""
_ALGEBRA = frozenset(("xyz", "abc"))
_TOKEN = re.compile(
    r"(?P<space>\s+|~|\\[,;:! ]|\{,\}(?=\d{3}))"
    r"|(?P<number>\d+(?:\.\d+)?(?:[eE][+-]?\d{1,6}(?![\dA-Za-z.]))?|\.\d+)"
    r"|\\(?P<command>[A-Za-z]+)"
    r"|(?P<break>\\\\)"
    r"|\\(?P<escaped>[{}%$&#_|])"
    r"|(?P<word>[A-Za-z]+)"
    r"|(?P<sign><=|>=|!=|\*\*|[-+*/^_!%(){}\[\],;:=<>|&'\"?.])"
)


def tokens(text: str) -> list[Token]:
    """The tokens of a text. Raises `Unreadable` for one that is too long, and for other characters."""
    if len(text) > MOST_CHARACTERS:
        raise Unreadable(f"it has more than {MOST_CHARACTERS} characters")
    plain = "".join(_PLAIN.get(character, character) for character in text)
    for mark in (r"\(", r"\)", r"\[", r"\]", r"\$", "$"):
        plain = plain.replace(mark, " ")
    return list(_tokens(plain))


def is_noun(word: str) -> bool:
    """True for a word that is no product of variables."""
    lower = word.lower()
    if lower in _UNITS or lower in _SHORT:
        return True
    return len(word) > 2 and lower not in _ALGEBRA and any(letter in "aeiouy" for letter in lower)


def _tokens(text: str) -> Iterator[Token]:
    place, spaced = 0, False
    while place < len(text):
        found = _TOKEN.match(text, place)
        if found is None:
            raise Unreadable(f"the character {text[place]!r} is none of an answer")
        place, kind, part = found.end(), str(found.lastgroup), found[str(found.lastgroup)]
        if kind == "space":
            spaced = True
            continue
        if kind == "command" and part in _TEXTS:
            words, place = _braced(text, place)
            yield Token("text", words, spaced)
        elif kind != "command" or part not in _IGNORED:
            yield _token(kind, part, spaced)
        spaced = False


def _token(kind: str, part: str, spaced: bool) -> Token:
    """The token of a match."""
    if kind == "command" or (kind == "word" and part.lower() in WORDS):
        name = _SAME.get(part, part) if kind == "command" else WORDS[part.lower()]
        is_command = name[0].isalpha()
        return Token("command" if is_command else "sign", f"\\{name}" if is_command else name, spaced)
    if kind in ("number", "word"):
        return Token("number" if kind == "number" else "word", part, spaced)
    if kind == "escaped" and part in "{}|":
        return Token("sign", f"\\{part}", spaced)
    signs = {"**": "^", "break": r"\\"}
    return Token("sign", signs.get(part, r"\\" if kind == "break" else part), spaced)


def _braced(text: str, place: int) -> tuple[str, int]:
    """Text in the braces that follow, and the place after them."""
    while place < len(text) and text[place].isspace():
        place += 1
    if place == len(text) or text[place] != "{":
        return "", place
    depth = 0
    for end in range(place, len(text)):
        depth += {"{": 1, "}": -1}.get(text[end], 0)
        if depth == 0:
            return text[place + 1 : end], end + 1
    raise Unreadable("a brace is not closed")
