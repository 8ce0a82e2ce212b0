"""Conformance checks of action formats, on ordinary actions and hostile texts.

> check_action_format("react").lines()[0]
'ok    instruction  3 checked'

`agentevol check format NAME` prints the report.
"""

import signal
import threading
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from functools import partial
from random import Random
from types import FrameType

from agentevol.core.action_formats.registry import CheckedFormat, loaded_format
from agentevol.core.conformance import Violations, check_result, unless
from agentgym_envs.formats import ActionFormat
from agentgym_envs.testing import Report

ENVIRONMENTS = ("alfworld", "webshop", "my world")
ACTIONS = (
    "look",
    "go to table 1",
    "search[red shoes, size 5]",
    "click[Buy Now]",
    "7",
    "-1.5e3",
    "true",
    '{"name": "get_weather", "arguments": {"city": "Zürich", "days": [1, 2]}}',
    '[{"name": "a", "arguments": {}}, {"name": "b", "arguments": {}}]',
    "SELECT name FROM track WHERE name = 'It''s'",
    "say \"yes\" and 'no'",
    "back\\slash",
    "two\nlines",
    "a\ttab",
    "naïve 東京 🙂",
    "word " * 2_000 + "end",
)
"""Actions that every format expresses."""
HOSTILE_ACTIONS = (
    "",
    " ",
    " look ",
    "look\n",
    "Action: look",
    "Thought: no\n\nAction: look",
    "look</s>",
    "<think>look",
    "look</think>",
    "<tool_call>{}</tool_call>",
    "</tool_call>",
    "```",
    "<|im_end|>",
    '"',
    "}",
    "\\u0041",
    "\x00\x1b[2J\x07",
    "\u202e\ufeff\u2028",
)
"""Actions that a format expresses, or refuses to render with `ValueError`."""
HOSTILE_TEXTS = (
    *HOSTILE_ACTIONS,
    "\r\n\t ",
    "Thought:",
    "Action:",
    "Action: Action:",
    "Action: a</s></s>",
    "<think><think>a",
    "<tool_call>",
    '<tool_call>{"name":',
    "</tool_call><tool_call>",
    "```json\n{",
    '{"name": "a", "arguments": {"x": NaN}}',
    '{"name": "a", "name": 1}',
    "null",
    "[]",
    "{}",
    "1e999",
    "\\",
    "%s%n{0}{x}",
    "\ud7ff\ue000",
)
"""Texts of an agent that may be no message of the format at all."""
LONG = 65_536
"""Characters of the longest texts: the most that a server takes as an action by default."""
LONG_TEXTS = tuple(
    (piece * LONG)[:LONG]
    for piece in ("a", " ", "\n", "9", "[", '{"a":', "<", "<tool_call>", "Action: ", "Thought:\n", "\\", '"')
)
SECONDS = 1.0
"""Processor time within which a text of `LONG` characters has to be parsed: other episodes wait meanwhile."""


def check_action_format(name: str, seconds: float = SECONDS) -> Report:
    """Hold an action format against its contract. Raises `ConfigError` where there is none.

    A message that takes more than `seconds` of processor time to parse breaks it.
    """
    form = loaded_format(name)
    checks: dict[str, Callable[[], Violations]] = {
        "instruction": partial(_instruction, name, form),
        "round trip": partial(_round_trip, form),
        "hostile": partial(_hostile, name, form),
        "pure": partial(_pure, name, form),
        "quick": partial(_quick, form),
    }
    results = [check_result(kind, _limited(check, seconds)) for kind, check in checks.items()]
    return Report(env=name, results=tuple(results))


def _instruction(name: str, form: ActionFormat) -> Violations:
    """Text or None, and the same each time."""
    checked = CheckedFormat(name, form)
    for environment in ENVIRONMENTS:
        found = checked.instruction(environment)
        yield unless(
            found is None or bool(found.strip()), f"the instruction for {environment!r} is empty, not None"
        )
        yield unless(
            checked.instruction(environment) == found, f"the instruction for {environment!r} is not constant"
        )


def _round_trip(form: ActionFormat) -> Violations:
    """`parse` restores the action that `render` was given; a hostile action may be refused."""
    for action in ACTIONS:
        yield _restored(form, action, form.render(action))
    parsed = [form.parse(text) for text in HOSTILE_TEXTS]
    for action in (*HOSTILE_ACTIONS, *parsed):
        try:
            message = form.render(action)
        except ValueError:
            yield None
        else:
            yield _restored(form, action, message)


def _restored(form: ActionFormat, action: str, message: str) -> str | None:
    found = form.parse(message)
    return unless(found == action, f"the message of {_cut(action)} has the action {_cut(found)}")


def _hostile(name: str, form: ActionFormat) -> Violations:
    """Text for every message, and no exception."""
    checked = CheckedFormat(name, form)
    for text in _messages(form):
        checked.parse(text)
        yield None


def _pure(name: str, form: ActionFormat) -> Violations:
    """Equal messages have equal actions, in any order, and for another object of the format."""
    texts = list(_messages(form))
    before = [form.parse(text) for text in texts]
    other, after = loaded_format(name), dict[int, str]()
    for place in Random(0).sample(range(len(texts)), len(texts)):
        after[place] = other.parse(texts[place])
    for place, text in enumerate(texts):
        yield unless(after[place] == before[place], f"{_cut(text)} has another action in another order")


def _quick(form: ActionFormat) -> Violations:
    """Long messages are parsed within the limit of processor time."""
    for text in (*LONG_TEXTS, *("a" * length + "!" for length in (25, 30, 50, LONG))):
        form.parse(text)
        yield None
    for piece in ("a", " ", "\n"):
        form.parse(form.render("look").replace("look", piece * LONG))
        yield None


def _messages(form: ActionFormat) -> Iterator[str]:
    """Hostile texts, and messages of the format that are cut, doubled or broken inside."""
    yield from HOSTILE_TEXTS
    message = form.render("look")
    yield from (message[:length] for length in range(len(message)))
    yield from (message[length:] for length in range(len(message)))
    yield message * 2
    yield from (message.replace("look", text) for text in HOSTILE_TEXTS)
    yield message.replace("look", "\\ud800")
    yield message.replace("look", "look" * 100)


def _limited(check: Callable[[], Violations], seconds: float) -> Callable[[], Violations]:
    """The check, in which every case has a limit of processor time."""

    def limited() -> Violations:
        cases = check()
        while True:
            with _time_limit(seconds):
                case = next(cases, "")
            if case == "":
                return
            yield case

    return limited


@contextmanager
def _time_limit(seconds: float) -> Generator[None, None, None]:
    """Raise `TimeoutError` after that much processor time, in the main thread; others have no limit."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    slow = TimeoutError(f"a message was not parsed within {seconds:g} s of processor time")
    ended: list[TimeoutError] = []

    def end(_: int, __: FrameType | None) -> None:
        ended.append(slow)
        raise slow

    before = signal.signal(signal.SIGVTALRM, end)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
    if ended:  # the format caught it
        raise slow


def _cut(text: str) -> str:
    return repr(text if len(text) <= 60 else text[:59] + "…")
