"""The checks of action formats: on this project's own, and on broken ones."""

import re
from itertools import count

import pytest

from agentevol.core.action_formats.check import check_action_format
from agentevol.core.action_formats.registry import ACTION_FORMATS
from agentevol.core.errors import ConfigError
from agentgym_envs.formats import Plain

HERE = __name__
NUMBERS = count()


@pytest.mark.parametrize("name", sorted(ACTION_FORMATS.own))
def test_every_action_format_passes_the_check(name: str):
    report = check_action_format(name)
    assert report.passed, report.lines()


class Shy(Plain):
    def instruction(self, environment_name: str) -> str | None:
        return "" if environment_name == "webshop" else None


class Counted(Plain):
    def instruction(self, environment_name: str) -> str | None:
        return f"Episode {next(NUMBERS)}."


class Lossy(Plain):
    def parse(self, text: str) -> str:
        return text.split("\n")[0].strip()

    def render(self, action: str) -> str:
        return action


class Boastful(Plain):
    """Renders every action, also those that it reads otherwise."""

    def render(self, action: str) -> str:
        return action


class Fragile(Plain):
    def parse(self, text: str) -> str:
        return text.split()[0]


class Numeric(Plain):
    def parse(self, text: str) -> str:
        return 7 if text == "{}" else super().parse(text)  # type: ignore[return-value]


class Remembering(Plain):
    def __init__(self) -> None:
        self.last = ""

    def parse(self, text: str) -> str:
        before, self.last = self.last, super().parse(text)
        return self.last or before


class Backtracking(Plain):
    def parse(self, text: str) -> str:
        return super().parse(text) if re.match(r"(a+)+$", text) is None else "a"


class Deaf(Plain):
    """Backtracks, and catches whatever interrupts it."""

    def parse(self, text: str) -> str:
        try:
            re.match(r"(a+)+$", text)
        except Exception:  # noqa: BLE001
            return ""
        return super().parse(text)


@pytest.mark.parametrize(
    ("name", "check", "sentence"),
    [
        ("Shy", "instruction", "the instruction for 'webshop' is empty, not None"),
        ("Counted", "instruction", "the instruction for 'alfworld' is not constant"),
        ("Lossy", "round trip", "the message of 'two\\nlines' has the action 'two'"),
        ("Boastful", "round trip", "the message of ' look ' has the action 'look'"),
        ("Fragile", "hostile", "raised FormatFault: action format"),
        ("Numeric", "hostile", "parse gave int, not text"),
        ("Remembering", "pure", "has another action in another order"),
        ("Backtracking", "quick", "not parsed within 0.05 s of processor time"),
        ("Deaf", "quick", "not parsed within 0.05 s of processor time"),
    ],
)
def test_the_check_of_action_formats_notices_what_is_broken(name: str, check: str, sentence: str):
    report = check_action_format(f"{HERE}:{name}", seconds=0.05)
    found = {one.name: " ".join(one.violations) for one in report.results if one.violations}
    assert sentence in found[check]


def test_an_unknown_format_is_refused_with_the_names():
    with pytest.raises(ConfigError) as refused:
        check_action_format("xml")
    assert str(refused.value) == (
        "no action format named 'xml'; there are: modes, modes-1, modes-2, modes-3, modes-4, plain, react, or"
        " module:attribute"
    )
