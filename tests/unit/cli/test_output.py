"""Tables of the command line: rows stay whole where nobody knows the width, and words in every terminal."""

import io
import re
from collections.abc import Callable
from contextlib import redirect_stdout
from typing import Any

import pytest

from agentevol.cli.console.output import print_table

KIND = "kind pick_clean_then_place_in_recep"
HEADER = ("group", "episodes", "scored", "success", "reward", "turns", "tokens")
FIGURES = ("3,800", "3,800", "65.6%", "0.656", "19.2", "87.8")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


Shown = Callable[..., str]


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> Shown:
    """Text that `print_table` writes to a terminal of so many columns."""
    monkeypatch.setenv("TERM", "xterm")

    def show(columns: int, *table: Any, **options: Any) -> str:
        monkeypatch.setenv("COLUMNS", str(columns))
        with redirect_stdout(Terminal()) as terminal:
            print_table(*table, **options)
        return terminal.getvalue()

    return show


def lines(text: str) -> list[str]:
    """Lines that are not empty, without colours."""
    return [line.rstrip() for line in re.sub(r"\x1b\[[0-9;]*m", "", text).splitlines() if line.strip()]


def words(text: str) -> list[list[str]]:
    return [line.split() for line in lines(text)]


def test_a_row_is_one_line_in_a_pipe_whatever_its_width(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")  # a shell may export it; a pipe has no width all the same
    sentence = "a sentence of several words " * 10
    print_table(("one", "two", "n"), [("x" * 90, sentence, 7)])
    header, _, row = words(capsys.readouterr().out)
    assert (header, row) == (["one", "two", "n"], ["x" * 90, *sentence.split(), "7"])


def test_a_terminal_of_80_columns_shows_the_longest_task_type_whole(shown: Shown) -> None:
    header, rule, *rows = lines(shown(80, HEADER, [("all", *FIGURES), (KIND, *FIGURES)]))
    assert header.split() == list(HEADER)
    assert [row.split() for row in rows] == [["all", *FIGURES], [*KIND.split(), *FIGURES]]
    assert max(map(len, (header, rule, *rows))) <= 80


def test_a_wide_terminal_keeps_columns_apart(shown: Shown) -> None:
    assert lines(shown(200, ("name", "n"), [("a", 1), ("b", 22)])) == [
        "  name    n",
        " ───────────",
        "  a       1",
        "  b      22",
    ]


def test_a_narrow_terminal_wraps_between_words(shown: Shown) -> None:
    found = lines(shown(20, ("what", "detail"), [("disk", "there is plenty of room")]))
    assert found[2:] == ["disk there is plenty", "     of room"]


def test_a_narrow_terminal_leaves_out_spare_columns_first(shown: Shown) -> None:
    row = ("run/explore/17", "task/17", "explore", 3)
    found = words(shown(24, ("id", "task", "purpose", "turns"), [row], spare=("purpose", "task")))
    assert found[::2] == [["id", "turns"], ["run/explore/17", "3"]]


def test_at_last_a_word_is_cut_and_shown_to_be_and_numbers_are_not(shown: Shown) -> None:
    found = lines(shown(22, ("id", "episodes"), [("pick_clean_then_place_in_recep", 1_234_567_890)]))
    assert found[2:] == ["pick_clean… 1234567890"]


def test_a_cell_is_one_line_that_cannot_steer_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(("task",), [("a\nb\x1b[2J[bold]",)])
    assert lines(capsys.readouterr().out)[2:] == ["  a\\nb\\x1b[2J[bold]"]


def test_a_table_without_rows_has_its_header(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(("task", "n"), [])
    assert words(capsys.readouterr().out)[0] == ["task", "n"]
