"""Reader of answers: lists, sets, intervals, matrices, relations, texts, and numbers with units.

> read("x \\in (-\\infty, \\frac12]")
Group('(]', ...)
> read("1,234 dollars").unit
'dollar'

Outside brackets a comma between groups of three digits separates thousands; inside it separates items. The
name before an equals sign (`x =`, `f(x) =`, `\\text{Area} =`) is no part of an answer.
"""

import re
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import pairwise

from agentgym_envs.questions.mathematics import ratios
from agentgym_envs.questions.mathematics.limits import MOST_DEPTH, MOST_ITEMS, Budget, Unreadable
from agentgym_envs.questions.mathematics.parsing import expression
from agentgym_envs.questions.mathematics.tokens import Token, is_noun, tokens
from agentgym_envs.questions.mathematics.values import (
    Collection,
    Group,
    Matrix,
    Relation,
    Scalar,
    Union,
    Value,
    Words,
    same,
)

_OPENING = frozenset(("(", "[", "{", r"\{", r"\langle"))
_CLOSING = frozenset((")", "]", "}", r"\}", r"\rangle"))
_RELATIONS = {"=": "=", "<": "<", ">": ">", "<=": "<=", ">=": ">=", "!=": "!=", r"\neq": "!="}
_IN_TEXTS = frozenset("-'.()?!&:\"")
"""Signs that may stand in a text."""
_BOXED = re.compile(r"\\(?:boxed|fbox)\s*\{")


def read(text: str) -> Value:
    """The value of an answer. Raises `Unreadable`."""
    stripped = text.strip().strip("*\"'").rstrip(".,;:").strip()
    found = _BOXED.match(stripped)
    if found and stripped.endswith("}"):
        stripped = stripped[found.end() : -1]
    listed = _with_thousands(tokens(stripped))
    if not listed:
        raise Unreadable("it is empty")
    return _Reader(Budget()).value(listed, 0)


class _Reader:
    def __init__(self, budget: Budget) -> None:
        self.budget = budget

    def value(self, given: Sequence[Token], depth: int) -> Value:
        """The value of tokens at a depth of nesting."""
        if depth > MOST_DEPTH:
            raise Unreadable(f"it is nested deeper than {MOST_DEPTH}")
        if not given:
            raise Unreadable("an item is empty")
        if any(token.text == r"\pm" for token in given):
            return self._both_signs(given, depth)
        items = _split(given, _separates)
        if len(items) > 1:
            return self._collection(items, depth)
        parts = _split(given, lambda token: token.text == r"\cup")
        if len(parts) > 1:
            return Union(self._values(parts, depth))
        return self._related(given, depth)

    def _both_signs(self, given: Sequence[Token], depth: int) -> Value:
        ways = (
            [Token("sign", sign, token.spaced) if token.text == r"\pm" else token for token in given]
            for sign in "+-"
        )
        return self._collection(list(ways), depth)

    def _values(self, parts: Sequence[Sequence[Token]], depth: int) -> tuple[Value, ...]:
        if len(parts) > MOST_ITEMS:
            raise Unreadable(f"it has more than {MOST_ITEMS} items")
        return tuple(self.value(part, depth + 1) for part in parts)

    def _collection(self, parts: Sequence[Sequence[Token]], depth: int) -> Value:
        """Items without brackets; of collections, their items."""
        found = list[Value]()
        for one in self._values(parts, depth):
            found.extend(one.items if isinstance(one, Collection) else (one,))
        return Collection(tuple(found))

    def _related(self, given: Sequence[Token], depth: int) -> Value:
        signs = [at for at, token in _outside(given) if token.text in _RELATIONS or token.text == r"\in"]
        if not signs:
            return self._plain(given, depth)
        bounds = [-1, *signs, len(given)]
        sides = [given[start + 1 : end] for start, end in pairwise(bounds)]
        named = [given[at].text for at in signs]
        if _is_name(sides[0]) and (set(named) == {"="} or named == [r"\in"]):
            return self.value(sides[-1], depth + 1)
        if r"\in" in named:
            raise Unreadable("a membership of something else than a variable")
        return Relation(tuple(_RELATIONS[name] for name in named), self._values(sides, depth))

    def _plain(self, given: Sequence[Token], depth: int) -> Value:
        if given[0].text == r"\begin":
            return self._matrix(given, depth)
        inner = given[1:-1] if _is_bracketed(given) else given[:0]
        items = _split(inner, lambda token: token.text in (",", ";"))
        if given[0].text == r"\{" and _is_bracketed(given):
            return self._set(items if inner else [], depth)
        if len(items) > 1 and given[0].text == "{":
            return self._set(items, depth)
        if len(items) > 1:
            brackets = (given[0].text + given[-1].text).replace(r"\langle", "<").replace(r"\rangle", ">")
            return Group(brackets, self._values(items, depth))
        parts = _split(given, lambda token: token.text == ":")
        if len(parts) > 1 and not is_noun(given[0].text):
            return Group("::", self._values(parts, depth))
        return self._text(given, depth) or self._scalar(given)

    def _set(self, items: Sequence[Sequence[Token]], depth: int) -> Value:
        found = list[Value]()
        for one in self._values(items, depth):
            if not any(same(one, other, self.budget) for other in found):
                found.append(one)
        return Collection(tuple(found))

    def _matrix(self, given: Sequence[Token], depth: int) -> Value:
        texts = [token.text for token in given]
        kind = "".join(texts[2:3])
        if not kind.endswith(("matrix", "array")) or texts[-4:] != [r"\end", "{", kind, "}"]:
            raise Unreadable("an environment of LaTeX that is no matrix")
        body = given[4:-4]
        if kind == "array" and body and body[0].text == "{":
            body = body[_matching(body, 0) + 1 :]
        rows = [row for row in _split(body, lambda token: token.text == r"\\") if row]
        if sum(map(len, rows)) > MOST_ITEMS * 8:
            raise Unreadable("a matrix is too large")
        return Matrix(
            tuple(self._values(_split(row, lambda token: token.text == "&"), depth) for row in rows)
        )

    def _text(self, given: Sequence[Token], depth: int) -> Value | None:
        """The value of words; None of anything else."""
        if len(given) == 1 and given[0].kind == "text":
            try:
                return self.value(_with_thousands(tokens(given[0].text)), depth + 1)
            except Unreadable:
                return Words(_folded(given[0].text))
        allowed = {"text", "word"} | (
            {"number"} if given[0].kind == "word" and is_noun(given[0].text) else set[str]()
        )
        kinds = {token.kind for token in given if token.text not in _IN_TEXTS}
        if not kinds or kinds - allowed:
            return None
        words = [token for token in given if token.kind == "text" or is_noun(token.text)]
        return Words(_folded("".join(_spaced(token) for token in given))) if words else None

    def _scalar(self, given: Sequence[Token]) -> Value:
        given, sign = _without_percent(given)
        at = _unit_begins(given)
        number, rest = given[:at], given[at:]
        ratio = expression(number, self.budget)
        unit = _unit(rest)
        if sign:
            hundredth = ratios.number(Fraction(1, 100))
            return Scalar(ratios.product(ratio, hundredth, self.budget), bare=ratio)
        return Scalar(ratio, unit)


def _outside(given: Sequence[Token]) -> list[tuple[int, Token]]:
    """Places and tokens outside all brackets."""
    found, depth = list[tuple[int, Token]](), 0
    for at, token in enumerate(given):
        if token.text in _OPENING and token.kind != "text":
            depth += 1
        elif token.text in _CLOSING and token.kind != "text":
            depth -= 1
        elif token.text in (r"\begin", r"\end"):
            depth += 1 if token.text == r"\begin" else -1
        elif depth == 0:
            found.append((at, token))
    return found


def _split(given: Sequence[Token], separates: Callable[[Token], bool]) -> list[Sequence[Token]]:
    """Parts between separators outside brackets; a single one without any."""
    places = [at for at, token in _outside(given) if separates(token)]
    bounds = [-1, *places, len(given)]
    parts = [given[start + 1 : end] for start, end in pairwise(bounds)]
    return [part for part in parts if part or len(parts) == 1 or not places] if places else [given]


def _separates(token: Token) -> bool:
    """True for what separates the items of a list without brackets."""
    words = token.kind in ("word", "text") and token.text.strip(" ,").lower() in ("and", "or")
    return words or (token.kind == "sign" and token.text in (",", ";"))


def _matching(given: Sequence[Token], at: int) -> int:
    """Place of the bracket that closes the one at `at`; the length of `given` where there is none."""
    depth = 0
    for place in range(at, len(given)):
        if given[place].kind == "text":
            continue
        depth += (given[place].text in _OPENING) - (given[place].text in _CLOSING)
        if depth == 0:
            return place
    return len(given)


def _is_bracketed(given: Sequence[Token]) -> bool:
    """True if one pair of brackets encloses everything."""
    return len(given) > 1 and given[0].text in _OPENING and _matching(given, 0) == len(given) - 1


def _is_name(given: Sequence[Token]) -> bool:
    """True for what is named by an answer: `x`, `a_1`, `f(x)`, `Area`."""
    texts = [token.text for token in given if token.text != "'"]
    if not texts or len(texts) > 12:
        return False
    if all(token.kind in ("word", "text") for token in given):
        return True
    first = given[0].kind == "word" or given[0].text in (r"\theta", r"\alpha", r"\beta", r"\lambda")
    return first and (texts[1:2] == ["_"] or (texts[1:2] == ["("] and texts[-1] == ")" and len(texts) <= 6))


def _without_percent(given: Sequence[Token]) -> tuple[Sequence[Token], bool]:
    """Tokens before a percent sign at their end, and whether there is one."""
    is_percent = len(given) > 1 and given[-1].text.strip().lower() in ("%", "percent")
    return (given[:-1], True) if is_percent else (given, False)


def _unit_begins(given: Sequence[Token]) -> int:
    """Place of the unit after a number; the length of `given` where there is none."""
    for at, token in _outside(given):
        if at and (token.kind == "text" or (token.kind == "word" and is_noun(token.text))):
            rest = given[at:]
            return at if all(map(_in_unit, rest, given[at - 1 :])) else len(given)
    return len(given)


def _in_unit(token: Token, before: Token) -> bool:
    """True for a token of a unit: words, and powers of them."""
    if token.kind == "number":
        return before.text in ("^", "{")
    return token.kind in ("text", "word") or token.text in ("^", "/", "{", "}", ".")


def _unit(given: Sequence[Token]) -> str:
    """A unit in one spelling: lower case, without a plural."""
    words = re.findall(r"[a-z]+|\d+|/", " ".join(token.text for token in given).lower())
    return " ".join(word.removesuffix("s") if len(word) > 2 else word for word in words)


def _with_thousands(given: Sequence[Token]) -> list[Token]:
    """Tokens in which numbers with commas between groups of three digits, outside brackets, are one."""
    outside = {at for at, _ in _outside(given)}
    found, at = list[Token](), 0
    while at < len(given):
        token, end = given[at], at + 1
        if token.kind == "number" and at in outside and re.fullmatch(r"[1-9]\d{0,2}", token.text):
            digits = token.text
            while end + 1 < len(given) and _is_group(given[end], given[end + 1]):
                digits, end = digits + given[end + 1].text, end + 2
            token = Token("number", digits, token.spaced)
        found.append(token)
        at = end
    return found


def _is_group(comma: Token, digits: Token) -> bool:
    return (
        comma.text == ","
        and not comma.spaced
        and not digits.spaced
        and digits.kind == "number"
        and re.fullmatch(r"\d{3}(\.\d+)?", digits.text) is not None
    )


def _spaced(token: Token) -> str:
    return f" {token.text}" if token.spaced else token.text


def _folded(text: str) -> str:
    """A text in lower case, without surrounding punctuation and repeated space."""
    return " ".join(text.lower().split()).strip(" .,;:!?\"'()")
