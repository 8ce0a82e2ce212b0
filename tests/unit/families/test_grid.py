"""Tables of cells."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentgym_envs.families.sheet.grid import Grid, parsed, position_of, text_of
from agentgym_envs.tooluse import ToolError


def grid() -> Grid:
    return Grid([["Name", "Score"], ["Ann", "10"], ["Bob", ""], ["Cid", "9"]])


@given(st.integers(1, 9999), st.integers(1, 702))
def test_positions_are_read_as_they_are_written(row: int, column: int):
    assert parsed(position_of(row, column)) == (row, column)


@pytest.mark.parametrize(
    ("row", "column", "text"), [(1, 1, "A1"), (3, 26, "Z3"), (3, 27, "AA3"), (9, 702, "ZZ9")]
)
def test_positions_are_letters_and_numbers(row: int, column: int, text: str):
    assert position_of(row, column) == text


@pytest.mark.parametrize("text", ["", "A", "1", "A0", "a1b", "ÄA1", "A１", "AAA1", "A99999", "R1C1"])
def test_other_texts_are_no_positions(text: str):
    with pytest.raises(ToolError):
        parsed(text)


def test_sorting_leaves_frozen_rows_sorts_numbers_and_puts_blanks_last():
    one = grid()
    one.frozen = 1
    one.sort(2, descending=False)
    assert one.cells == [["Name", "Score"], ["Cid", "9"], ["Ann", "10"], ["Bob", ""]]
    one.sort(2, descending=True)
    assert one.cells == [["Name", "Score"], ["Ann", "10"], ["Cid", "9"], ["Bob", ""]]


def test_sorting_compares_texts_where_one_cell_is_no_number():
    one = grid()
    one.sort(2, descending=False)
    assert [row[1] for row in one.cells] == ["10", "9", "Score", ""]


def test_notes_move_with_their_cells():
    one = grid()
    one.frozen, one.notes[1][0] = 1, "first"
    one.sort(2, descending=False)
    one.insert_row(["Dee"], 2)
    one.insert_column([], 1)
    assert one.as_json()["notes"] == [[4, 2, "first"]]
    assert one.cells[1] == ["", "Dee", ""]
    one.delete_column(1)
    one.delete_row(4)
    assert one.as_json()["notes"] == []


def test_merged_cells_keep_the_first_value_and_move():
    one = grid()
    one.merge("A1", "B2")
    assert one.cells[:2] == [["Name", ""], ["", ""]]
    one.insert_row([], 2)
    one.insert_column([], 1)
    assert one.as_json()["merged"] == [[0, 1, 2, 2]]
    one.delete_row(1)
    one.delete_column(3)
    assert one.as_json()["merged"] == [[0, 1, 1, 1]]
    one.delete_row(2)
    assert one.as_json()["merged"] == []


@pytest.mark.parametrize(
    ("values", "row"),
    [([], 0), ([], 6), (["a", "b", "c"], 1), (["x" * 501], 1), ([[]], 1), ([float("inf")], 1)],
)
def test_a_row_that_does_not_fit_is_refused(values: list[object], row: int):
    with pytest.raises(ToolError):
        grid().insert_row(values, row)


def test_cells_that_overlap_are_not_merged_twice():
    one = grid()
    one.merge("A1", "B1")
    for start, end in (("B1", "B2"), ("A1", "A1"), ("B2", "A1"), ("A1", "C1")):
        with pytest.raises(ToolError):
            one.merge(start, end)


def test_merged_cells_are_not_sorted():
    one = grid()
    one.merge("A2", "B2")
    with pytest.raises(ToolError):
        one.sort(1, descending=False)


@pytest.mark.parametrize(
    ("value", "text"), [(None, ""), (True, "TRUE"), (5, "5"), (5.0, "5"), (2.5, "2.5"), ("=A1", "=A1")]
)
def test_cells_hold_text(value: object, text: str):
    assert text_of(value) == text
