"""Expressions: recursive descent over tokens, to quotients of terms.

sum      [sign] product { sign product }
product  power { [* or /] power }
power    base [!] [^ argument]
base     number | letter | ( sum ) | { sum } | command with its arguments
"""

import cmath
import math
from collections.abc import Callable, Sequence
from fractions import Fraction

from agentgym_envs.questions.mathematics import ratios
from agentgym_envs.questions.mathematics.limits import MOST_BITS, MOST_DEPTH, Budget, Unreadable
from agentgym_envs.questions.mathematics.ratios import Ratio
from agentgym_envs.questions.mathematics.tokens import Token, is_noun

CONSTANTS: dict[str, complex | None] = {r"\pi": math.pi, r"\infty": None, "e": math.e, "i": 1j}
GREEK = frozenset(
    rf"\{name}"
    for name in ("alpha", "beta", "gamma", "delta", "theta", "lambda", "mu", "phi", "omega", "ell")
)
FUNCTIONS: dict[str, Callable[[complex], complex] | None] = {
    **{r"\sin": cmath.sin, r"\cos": cmath.cos, r"\tan": cmath.tan, r"\exp": cmath.exp},
    **{r"\arcsin": cmath.asin, r"\arccos": cmath.acos, r"\arctan": cmath.atan, r"\ln": cmath.log},
    **{r"\log": cmath.log10, r"\cot": None, r"\sec": None, r"\csc": None},
}
CLOSING = {"(": ")", "{": "}", "[": "]"}
MOST_FACTORIAL = 170
MOST_MIXED = 9
"""Most digits of the parts of a mixed number."""
MOST_SCALE = 300
"""Largest exponent of ten in `1e300`."""


def expression(tokens: Sequence[Token], budget: Budget) -> Ratio:
    """The expression of all tokens. Raises `Unreadable`."""
    parser = _Parser(list(tokens), budget)
    found = parser.sum(0)
    if parser.place < len(parser.tokens):
        raise Unreadable(f"{parser.tokens[parser.place].text[:20]!r} is not expected there")
    return found


class _Parser:
    def __init__(self, tokens: list[Token], budget: Budget) -> None:
        self.tokens, self.budget, self.place = tokens, budget, 0

    def sum(self, depth: int) -> Ratio:
        if depth > MOST_DEPTH:
            raise Unreadable(f"it is nested deeper than {MOST_DEPTH}")
        found, sign = ratios.number(0), "+"
        while True:
            while self._text() in ("+", "-"):  # also several signs before one term
                sign = "-" if (sign == "-") != (self._take() == "-") else "+"
            term = self._product(depth)
            found = ratios.total(found, ratios.negative(term) if sign == "-" else term, self.budget)
            if self._text() not in ("+", "-"):
                return found
            sign = "+"

    def _product(self, depth: int) -> Ratio:
        found = self._mixed(depth) or self._power(depth)
        while True:
            if self._text() in ("*", "/"):
                sign = self._take()
                minus = self._text() == "-" and bool(self._take())
                factor = self._power(depth)
                factor = ratios.negative(factor) if minus else factor
                factor = ratios.inverse(factor, self.budget) if sign == "/" else factor
            elif self._begins_factor():
                factor = self._power(depth)
            else:
                return found
            found = ratios.product(found, factor, self.budget)

    def _mixed(self, depth: int) -> Ratio | None:
        """A mixed number: a whole number, then a fraction of whole numbers that is less than 1."""
        if [_sign_of(self._peek(ahead)) for ahead in range(4)] == ["#", "#", "/", "#"]:
            return self._mixed_in_line()
        if _sign_of(self._peek()) != "#" or _sign_of(self._peek(1)) != r"\frac":
            return None
        before, place = list(self.tokens), self.place
        whole = self._take()
        end = self.place
        self._take()
        part = self._command(r"\frac", depth + 1).rational
        literal = all(
            token.kind == "number" or token.text in "{}" for token in self.tokens[end + 1 : self.place]
        )
        if whole.isdecimal() and literal and part is not None and 0 < part < 1:
            return ratios.number(decimal(whole) + part)
        self.tokens, self.place = before, place
        return None

    def _mixed_in_line(self) -> Ratio | None:
        """The mixed number `3 1/2`."""
        texts = [token.text for token in self.tokens[self.place : self.place + 4]]
        if not (texts[0] + texts[1] + texts[3]).isdecimal() or max(map(len, texts)) > MOST_MIXED:
            return None
        whole, top, bottom = int(texts[0]), int(texts[1]), int(texts[3])
        if not 0 < top < bottom:
            return None
        self.place += 4
        return ratios.number(whole + Fraction(top, bottom))

    def _power(self, depth: int) -> Ratio:
        found = self._base(depth)
        while self._text() == "!":
            self._take()
            found = _factorial(found)
        while self._text() in (r"\degree", "'"):
            self._take()
        if self._text() != "^":
            return found
        self._take()
        if self._is_degree():
            return found
        return ratios.power(found, self._exponent(depth), self.budget)

    def _is_degree(self) -> bool:
        """Take the sign of degrees of an exponent, if it is there."""
        for signs in ([r"\degree"], ["{", r"\degree", "}"]):
            if [token.text for token in self.tokens[self.place : self.place + len(signs)]] == signs:
                self.place += len(signs)
                return True
        return False

    def _exponent(self, depth: int) -> Ratio:
        if self._text() == "-":
            self._take()
            return ratios.negative(self._exponent(depth + 1))
        if depth > MOST_DEPTH:
            raise Unreadable(f"it is nested deeper than {MOST_DEPTH}")
        base = self._base(depth)
        if self._text() == "^":
            self._take()
            return ratios.power(base, self._exponent(depth + 1), self.budget)
        return base

    def _base(self, depth: int) -> Ratio:
        token = self._next()
        if token.kind == "number":
            return self._number(token)
        if token.kind == "word":
            return self._letters(token)
        if token.text in CLOSING:
            found = self.sum(depth + 1)
            self._expect(CLOSING[token.text])
            return found
        if token.text == "|":
            found = self.sum(depth + 1)
            self._expect("|")
            return _absolute(found)
        if token.kind == "command":
            return self._command(token.text, depth)
        raise Unreadable(f"{token.text[:20]!r} is not expected there")

    def _number(self, token: Token) -> Ratio:
        digits = token.text
        while _is_thousand(digits, len(token.text), self._peek()):
            digits += self._next().text
        if self._text() == r"\overline" or (self._text() == "." and _sign_of(self._peek(1)) == r"\overline"):
            return self._repeating(digits)
        if self._text() == "_":
            return ratios.atom(f"{digits}_{self._subscript()}")
        if _sign_of(self._peek()) == "#":
            raise Unreadable("two numbers in a row")
        if self._text() == ".":  # 5.
            self._take()
        return ratios.number(decimal(digits))

    def _repeating(self, digits: str) -> Ratio:
        if self._text() == ".":
            self._take()
            digits += "."
        self._take()
        self._expect("{")
        period = self._next().text
        self._expect("}")
        if "." not in digits or not period.isdecimal():
            raise Unreadable("a line over something else than decimals")
        places = len(digits.partition(".")[2])
        repeated = Fraction(int(period), (10 ** len(period) - 1) * 10**places)
        return ratios.number(decimal(digits.removesuffix(".")) + repeated)

    def _letters(self, token: Token) -> Ratio:
        """A variable, a constant, or several variables as a product."""
        if is_noun(token.text):
            raise Unreadable(f"the word {token.text[:20]!r} in an expression")
        found = ratios.number(1)
        for letter in token.text[:-1]:
            found = ratios.product(found, _letter(letter), self.budget)
        name = token.text[-1]
        if self._text() == "_":
            return ratios.product(found, ratios.atom(f"{name}_{self._subscript()}"), self.budget)
        return ratios.product(found, _letter(name), self.budget)

    def _subscript(self) -> str:
        self._expect("_")
        if self._text() != "{":
            return self._next().text
        self._take()
        parts = list[str]()
        while self._text() != "}":
            parts.append(self._next().text)
        self._take()
        return "".join(parts)

    def _command(self, name: str, depth: int) -> Ratio:
        if name == r"\frac":
            top, bottom = self._argument(depth), self._argument(depth)
            return ratios.product(top, ratios.inverse(bottom, self.budget), self.budget)
        if name == r"\sqrt":
            return self._root(depth)
        if name == r"\binom":
            return _binomial(self._argument(depth), self._argument(depth))
        if name in CONSTANTS:
            return ratios.atom(name, CONSTANTS[name])
        if name in GREEK:
            return ratios.atom(name)
        if name in FUNCTIONS:
            return self._function(name, depth)
        raise Unreadable(f"{name[:20]} is not known")

    def _root(self, depth: int) -> Ratio:
        index = ratios.number(2)
        if self._text() == "[":
            self._take()
            index = self.sum(depth + 1)
            self._expect("]")
        base = self._base(depth + 1) if self._text() != "-" else self._power(depth + 1)
        return ratios.power(base, ratios.inverse(index, self.budget), self.budget)

    def _function(self, name: str, depth: int) -> Ratio:
        label, call = name, FUNCTIONS[name]
        if self._text() == "_":
            label, call = f"{name}_{self._subscript()}", None
        if self._text() == "^":
            self._take()
            label, call = f"{label}^{self._exponent(depth + 1).text}", None
        argument = self._power(depth + 1)
        value = None if call is None or argument.value is None else _called(call, argument.value)
        return ratios.opaque(f"{label}({argument.text})", value)

    def _argument(self, depth: int) -> Ratio:
        """An argument in braces, or one digit, letter or command."""
        token = self._peek()
        if token is not None and token.kind == "number" and len(token.text) > 1:  # \frac12
            self.tokens[self.place] = Token("number", token.text[1:])
            return ratios.number(decimal(token.text[0]))
        return self._base(depth + 1)

    def _begins_factor(self) -> bool:
        token = self._peek()
        if token is None or token.kind == "text":
            return False
        return token.kind in ("word", "command") or token.text in "({" or token.kind == "number"

    def _peek(self, ahead: int = 0) -> Token | None:
        at = self.place + ahead
        return self.tokens[at] if at < len(self.tokens) else None

    def _text(self) -> str:
        token = self._peek()
        return "" if token is None else token.text

    def _take(self) -> str:
        return self._next().text

    def _next(self) -> Token:
        token = self._peek()
        if token is None:
            raise Unreadable("it ends too early")
        self.place += 1
        return token

    def _expect(self, text: str) -> None:
        if self._text() != text:
            raise Unreadable(f"{text!r} is missing")
        self._take()


def decimal(digits: str) -> Fraction:
    """A decimal number. Raises `Unreadable` where it has too many digits."""
    scale = digits.lower().partition("e")[2]
    if len(digits) * 10 > MOST_BITS * 3 or (scale and abs(int(scale)) > MOST_SCALE):
        raise Unreadable("a number has too many digits")
    try:
        return Fraction(digits)
    except ValueError:
        raise Unreadable(f"{digits[:20]!r} is no number") from None


def _letter(name: str) -> Ratio:
    return ratios.atom(name, CONSTANTS[name]) if name in CONSTANTS else ratios.atom(name)


def _sign_of(token: Token | None) -> str:
    """The text of a token, `#` for any number."""
    return "" if token is None else "#" if token.kind == "number" else token.text


def _is_thousand(digits: str, first: int, token: Token | None) -> bool:
    """True if a token after white space continues a number, as in `12 500`."""
    return (
        token is not None
        and first <= 3
        and token.kind == "number"
        and token.spaced
        and len(token.text.partition(".")[0]) == 3
        and "." not in digits
        and not digits.startswith("0")
    )


def _whole(ratio: Ratio, most: int) -> int:
    found = ratio.rational
    if found is None or found.denominator != 1 or not 0 <= found <= most:
        raise Unreadable(f"not a whole number from 0 to {most}")
    return int(found)


def _factorial(ratio: Ratio) -> Ratio:
    return ratios.number(math.factorial(_whole(ratio, MOST_FACTORIAL)))


def _binomial(top: Ratio, bottom: Ratio) -> Ratio:
    return ratios.number(math.comb(_whole(top, MOST_FACTORIAL), _whole(bottom, MOST_FACTORIAL)))


def _absolute(ratio: Ratio) -> Ratio:
    found = ratio.rational
    if found is not None:
        return ratios.number(abs(found))
    value = ratio.value
    return ratios.opaque(f"|{ratio.text}|", None if value is None else abs(value))


def _called(call: Callable[[complex], complex], value: complex) -> complex | None:
    try:
        return call(value)
    except (OverflowError, ValueError, ZeroDivisionError):
        return None
