"""A docstring, and a string below an attribute, says what the thing is: it does not begin as a question."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
SOURCES = ("agentevol", "agentgym_client", "benchmarks", "envs", "services", "trajectories")
QUESTION = re.compile(r"\s*(?:What|How|Why|Where|Who)\b")
CANDIDATE = re.compile(r"""^[ \t]*[rR]?["'][\s"'\\]*(?:What|How|Why|Where|Who)\b""", re.MULTILINE)
"""A line that begins with such a string. Few files have one, and only those are parsed."""


def questions(source: str) -> Iterator[tuple[int, str]]:
    """Line and first line of every string statement of a module that begins as a question."""
    if CANDIDATE.search(source) is None:
        return
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Expr(value=ast.Constant(value=str(text))) if QUESTION.match(text):
                yield node.lineno, text.strip().partition("\n")[0]


@pytest.mark.parametrize("package", SOURCES)
def test_no_docstring_begins_as_a_question(package: str) -> None:
    files = sorted((ROOT / package).rglob("*.py"))
    assert files
    found = [
        f"{file.relative_to(ROOT)}:{line}: {text}"
        for file in files
        for line, text in questions(file.read_text(encoding="utf-8"))
    ]
    assert found == []


EXAMPLE = '''"""What a module holds.

Why it does."""

LIMIT = 1
"""How many there may be."""
KIND = "What a kind is called"


class Box:
    """
    Where things are kept.
    """

    size: int
    r"""Why it is full."""
    color: str
    """Color. What it is for is another question."""

    def open(self) -> str:
        """Whether it opens. Where is not known."""
        return """Who opened it."""

    def close(self) -> None:
        "Who closes it."

    def whole(self) -> None:
        """Whole box."""
'''


def test_questions_are_found_in_all_places_and_nowhere_else() -> None:
    assert sorted(questions(EXAMPLE)) == [
        (1, "What a module holds."),
        (6, "How many there may be."),
        (11, "Where things are kept."),
        (16, "Why it is full."),
        (25, "Who closes it."),
    ]


def test_a_module_without_questions_has_none() -> None:
    assert list(questions('"""Description of a row in one sentence."""\n\nNAME = "How"\n')) == []
