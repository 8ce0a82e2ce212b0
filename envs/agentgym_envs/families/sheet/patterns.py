"""Regular expressions whose matching takes time linear in the text.

> Pattern("^(ab)+c?$").search("abab")
True

Literals, `.`, classes in brackets, `\\d \\w \\s` and their capitals, groups, `|`, `*`, `+`, `?`, `{m,n}`, `^`
and `$`. A pattern becomes a nondeterministic automaton, all states of which are followed at once (Thompson,
1968), so that no pattern takes exponential time. Raises `ValueError` for what is not supported.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass

LONGEST_PATTERN, MOST_STATES, MOST_REPEATS, DEEPEST = 200, 1000, 100, 20
REPEATS = {"*": (0, None), "+": (1, None), "?": (0, 1)}
COUNTED = re.compile(r"\{(\d{1,3})(,)?(\d{1,3})?\}")
CLASSES: dict[str, Callable[[str], bool]] = {
    "d": lambda one: one.isascii() and one.isdigit(),
    "w": lambda one: one.isalnum() or one == "_",
    "s": str.isspace,
}
Test = Callable[[str], bool]


@dataclass
class State:
    """A state: it reads a character, or branches, or waits for an end of the text."""

    test: Test | None = None
    ends: tuple["State", ...] = ()
    """States that follow; after a character if there is a test."""
    anchor: str = ""


Tail = Callable[[State], State]
"""Fragment of an automaton: a function from what follows to its first state."""


class Pattern:
    """A compiled expression."""

    def __init__(self, text: str) -> None:
        if len(text) > LONGEST_PATTERN:
            raise ValueError(f"a pattern has at most {LONGEST_PATTERN} characters")
        self._accept = State()
        parser = _Parser(text)
        self._start = parser.whole()(self._accept)
        self.all_states = parser.states

    @property
    def states(self) -> int:
        """Number of states, which bounds the work for one character."""
        return len(self.all_states)

    def search(self, text: str) -> bool:
        """True if some part of the text matches."""
        current = list[State]()
        for place in range(len(text) + 1):
            current = self._closed([*current, self._start], place == 0, place == len(text))
            if any(state is self._accept for state in current):
                return True
            if place < len(text):
                one = text[place]
                current = [end for state in current if state.test and state.test(one) for end in state.ends]
        return False

    def _closed(self, states: list[State], at_start: bool, at_end: bool) -> list[State]:
        """These states and those that are reached without a character."""
        seen = dict[int, State]()
        waiting = states[::-1]
        while waiting:
            state = waiting.pop()
            if id(state) in seen:
                continue
            seen[id(state)] = state
            passes = not state.anchor or (at_start if state.anchor == "^" else at_end)
            if state.test is None and passes:
                waiting += state.ends[::-1]
        return list(seen.values())


class _Parser:
    """Recursive descent over a pattern."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._place = 0
        self._depth = 0
        self._repeats = 0
        self.states = list[State]()

    def whole(self) -> Tail:
        """The automaton of the whole pattern."""
        found = self._choice()
        if self._place < len(self._text):
            raise ValueError(f"unexpected {self._text[self._place]!r} at character {self._place}")
        return found

    def _choice(self) -> Tail:
        choices = [self._sequence()]
        while self._takes("|"):
            choices.append(self._sequence())
        if len(choices) == 1:
            return choices[0]
        return lambda after: self._state(ends=tuple(choice(after) for choice in choices))

    def _sequence(self) -> Tail:
        parts = list[Tail]()
        while self._place < len(self._text) and self._text[self._place] not in "|)":
            parts.append(self._repeated())

        def tail(after: State) -> State:
            for part in reversed(parts):
                after = part(after)
            return after

        return tail

    def _repeated(self) -> Tail:
        part = self._atom()
        while bounds := self._bounds():
            part = self._times(part, *bounds)
        return part

    def _bounds(self) -> tuple[int, int | None] | None:
        for sign, bounds in REPEATS.items():
            if self._takes(sign):
                return bounds
        found = COUNTED.match(self._text, self._place)
        if found is None:
            return None
        self._place = found.end()
        least = int(found[1])
        most = int(found[3]) if found[3] else None if found[2] else least
        if max(least, most or 0) > MOST_REPEATS or (most is not None and most < least):
            raise ValueError(f"a repetition is from 0 to {MOST_REPEATS}")
        return least, most

    def _times(self, part: Tail, least: int, most: int | None) -> Tail:
        def tail(after: State) -> State:
            if most is None:
                loop = self._state()
                loop.ends = (part(loop), after)
                after = loop
            else:
                end = after
                for _ in range(most - least):
                    self._count()
                    after = self._state(ends=(part(after), end))
            for _ in range(least):
                self._count()
                after = part(after)
            return after

        return tail

    def _count(self) -> None:
        """Refuse repetitions of repetitions, which take long even where they need no state."""
        self._repeats += 1
        if self._repeats > MOST_STATES:
            raise ValueError("the pattern is too large")

    def _atom(self) -> Tail:
        one = self._next()
        if one == "(":
            return self._group()
        if one in "^$":
            return lambda after: self._state(ends=(after,), anchor=one)
        if one in "*+?{":
            raise ValueError(f"{one!r} follows nothing")
        test = self._test(one)
        return lambda after: self._state(test, (after,))

    def _group(self) -> Tail:
        self._depth += 1
        if self._depth > DEEPEST:
            raise ValueError(f"groups are nested deeper than {DEEPEST}")
        if self._takes("?") and not self._takes(":"):
            raise ValueError("this kind of group is not supported")
        found = self._choice()
        if not self._takes(")"):
            raise ValueError("a group is not closed")
        self._depth -= 1
        return found

    def _test(self, one: str) -> Test:
        if one == ".":
            return lambda other: other != "\n"
        if one == "[":
            return self._class()
        return self._escaped(self._next()) if one == "\\" else one.__eq__

    def _escaped(self, one: str) -> Test:
        if one.lower() in CLASSES:
            inside = CLASSES[one.lower()]
            return inside if one.islower() else lambda other: not inside(other)
        if one.isalnum():
            raise ValueError(f"\\{one} is not supported")
        return one.__eq__

    def _class(self) -> Test:
        negated = self._takes("^")
        tests = list[Test]()
        while not tests or not self._takes("]"):
            tests.append(self._member())
        return lambda other: any(test(other) for test in tests) != negated

    def _member(self) -> Test:
        first = self._next()
        if first == "\\":
            return self._escaped(self._next())
        if (
            self._text[self._place : self._place + 1] == "-"
            and self._text[self._place + 1 : self._place + 2] != "]"
        ):
            self._place += 1
            last = self._next()
            return lambda other: first <= other <= last
        return first.__eq__

    def _state(self, test: Test | None = None, ends: tuple[State, ...] = (), anchor: str = "") -> State:
        if len(self.states) >= MOST_STATES:
            raise ValueError("the pattern is too large")
        self.states.append(State(test, ends, anchor))
        return self.states[-1]

    def _next(self) -> str:
        if self._place >= len(self._text):
            raise ValueError("the pattern ends too early")
        self._place += 1
        return self._text[self._place - 1]

    def _takes(self, sign: str) -> bool:
        if self._text[self._place : self._place + 1] != sign:
            return False
        self._place += 1
        return True
