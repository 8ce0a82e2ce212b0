"""Tools of `sheet`, and the tables that its goals ask for."""

import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from agentgym_envs.families.sheet import Sheet
from agentgym_envs.families.sheet.grid import Grid
from agentgym_envs.families.sheet.workbook import same, workbook
from agentgym_envs.families.tasks import FamilyTask

CELLS = [["Name", "Price", "Stock"], ["Ann", "2.50", "3"], ["Bob", "4.00", ""], ["Cid", "1.25", "7"]]


@pytest.fixture
def environment() -> Sheet:
    made = Sheet()
    made.reset(made.task("0"), 0)
    made.state.base = {"one": Grid([list(row) for row in CELLS]), "two": Grid([["x"]])}
    made.state.sheets = dict(made.state.base)
    ask(made, "open_sheet", name="one")
    return made


def ask(environment: Sheet, tool: str, **arguments: object) -> Any:
    return json.loads(environment.step(json.dumps({"name": tool, "arguments": arguments})).observation.text)


def refused(environment: Sheet, tool: str, **arguments: object) -> str:
    return ask(environment, tool, **arguments)["error"]["message"]


def test_a_sheet_is_opened_first():
    environment = Sheet()
    environment.reset(environment.task("0"), 0)
    assert "call open_sheet first" in refused(environment, "get_all_values")
    assert "there is no sheet" in refused(environment, "open_sheet", name="Sheet9")


def test_reading(environment: Sheet):
    assert ask(environment, "get_all_values") == CELLS
    assert ask(environment, "get_range_values", start_position="A2", end_position="B3") == [
        ["Ann", "2.50"],
        ["Bob", "4.00"],
    ]
    assert ask(environment, "get_cell_value", position="b2") == "2.50"
    assert ask(environment, "get_A1_annotation", row=3, col=28) == "AB3"
    assert ask(environment, "get_note", position="A1") == ""
    assert "outside" in refused(environment, "get_cell_value", position="D1")


@pytest.mark.parametrize(
    ("operator", "value"),
    [
        ("SUM", 7.75),
        ("AVERAGE", 7.75 / 3),
        ("COUNT", 3),
        ("MAX", 4),
        ("MIN", 1.25),
        ("MINUS", -2.75),
        ("PRODUCT", 12.5),
    ],
)
def test_formulas(environment: Sheet, operator: str, value: float):
    found = ask(
        environment, "get_value_by_formula", start_position="B1", end_position="B4", operator=operator
    )
    assert found == pytest.approx(value, abs=1e-9)
    listed = ask(
        environment, "get_value_by_formula", position_list=["B2", "B3", "B4", "A1"], operator=operator
    )
    assert listed == found


@pytest.mark.parametrize(
    "arguments",
    [
        {"operator": "SUM", "position_list": ["A1"]},
        {"operator": "SUM"},
        {"operator": "SUM", "start_position": "B1"},
        {"operator": "SUM", "start_position": "B4", "end_position": "B1"},
    ],
)
def test_formulas_that_are_refused(environment: Sheet, arguments: dict[str, Any]):
    assert refused(environment, "get_value_by_formula", **arguments).startswith("Error")


def test_there_is_no_formula_language(environment: Sheet):
    assert ask(environment, "update_cell", position="C3", value="=SUM(B2:B4)")[2][2] == "=SUM(B2:B4)"


def test_writing_returns_the_whole_table(environment: Sheet):
    assert ask(environment, "update_cell", position="C3", value=5) == [
        *CELLS[:2],
        ["Bob", "4.00", "5"],
        CELLS[3],
    ]
    ask(environment, "freeze_data", dimension="rows", num=1)
    assert [row[0] for row in ask(environment, "sort_sheet_by_col", col_num=2, order="des")] == [
        "Name",
        "Bob",
        "Ann",
        "Cid",
    ]
    assert ask(environment, "delete_batch_data", dimension="row", index_list=[2, 4, 2]) == [
        CELLS[0],
        CELLS[1],
    ]
    assert ask(environment, "delete_batch_data", dimension="col", index_list=[1, 3]) == [["Price"], ["2.50"]]
    assert ask(environment, "insert_cols", values_list=[["a", "b"], ["c"]], col_idx=2) == [
        ["Price", "a", "c"],
        ["2.50", "b", ""],
    ]
    assert ask(environment, "insert_rows", values_list=[[1, 2.5, True], []], row_idx=1)[:2] == [
        ["1", "2.5", "TRUE"],
        [""] * 3,
    ]
    updated = ask(
        environment, "update_range", start_position="A1", end_position="B1", values_list=[["p", None]]
    )
    assert updated[0] == ["p", "", "TRUE"]
    merged = ask(environment, "merge_cells", start_position="A1", end_position="C1")
    assert merged[0] == ["p", "", ""]
    total = ask(
        environment, "update_cell_by_formula", position_list=["A4"], result_position="C4", operator="SUM"
    )
    assert total[3][2] == "2.5"
    ask(environment, "update_note", position="A1", content="new")
    assert ask(environment, "get_note", position="A1") == "new"


def test_a_refused_write_leaves_the_sheet_as_it_was(environment: Sheet):
    for tool, arguments in (
        ("insert_rows", {"values_list": [["a"], ["b"], ["a"] * 9], "row_idx": 2}),
        ("delete_batch_data", {"dimension": "row", "index_list": [4, 3, 9]}),
        ("delete_batch_data", {"dimension": "col", "index_list": [0]}),
        ("update_range", {"start_position": "A1", "end_position": "B1", "values_list": [["a"]]}),
        ("sort_sheet_by_col", {"col_num": 4, "order": "asc"}),
        ("freeze_data", {"dimension": "rows", "num": 5}),
        ("update_cell", {"position": "A1", "value": "x" * 501}),
    ):
        assert refused(environment, tool, **arguments)
        assert environment.net_change() is None


def test_cells_are_found_by_text_and_by_pattern(environment: Sheet):
    assert ask(environment, "filter_cells", query="Ann") == ["A2"]
    assert ask(environment, "filter_cells", query="An") == []
    assert ask(environment, "filter_cells", query={"regex": r"^\d\.\d0$"}) == ["B2", "B3"]
    assert ask(environment, "filter_cells", query={"regex": "[AC]"}, in_column=1) == ["A2", "A4"]
    assert ask(environment, "filter_cells", query={"regex": "."}, in_row=3) == ["A3", "B3"]
    assert "closed" in refused(environment, "filter_cells", query={"regex": "("})
    assert "unknown argument" in refused(environment, "filter_cells", query={"regex": "a", "flags": "i"})


def test_a_pattern_that_is_too_large_for_the_sheet_is_a_limit(environment: Sheet):
    environment.state.sheets["one"] = Grid([["a" * 500] * 20 for _ in range(20)])
    error = ask(environment, "filter_cells", query={"regex": "(a?){90}"})["error"]
    assert error["code"] == "limit"


@pytest.mark.parametrize(
    ("wanted", "found", "equal"),
    [
        ("2.50", "2.5", True),
        ("2.50", "2.504", True),
        ("2.50", "2.51", False),
        ("3", "3.0", True),
        ("3", "3.001", False),
        ("", "0", False),
        ("3", "*", False),
        ("3", "NaN", False),
        ("3", "", False),
        ("Ann", "ann", False),
        ("Ann ", "Ann", True),
        ("3", "３", False),
    ],
)
def test_cells_are_compared_as_numbers_and_texts(wanted: str, found: str, equal: bool):
    assert same(wanted, found) == equal


def named(task: FamilyTask) -> list[list[str]]:
    """The cells of the sheet that a goal names."""
    sheets = workbook(task.split, task.setting["world"])
    name = task.instruction.split("'")[1]
    return [list(row) for row in sheets[name].cells]


def sales(task: FamilyTask) -> list[list[str]]:
    header, *rows = named(task)
    rows = [[product, str(int(stock) - int(sold)), sold] for product, stock, sold in rows]
    return [header, *sorted(rows, key=lambda row: int(row[1]), reverse="descending" in task.instruction)]


def discount(task: FamilyTask) -> list[list[str]]:
    rows = named(task)
    percent = int(re.search(r"by (\d+) %", task.instruction)[1])  # type: ignore[index] - every goal has it
    for row in sorted(rows[1:], key=lambda row: float(row[2]))[:3]:
        row[1] = f"{float(row[1]) * (1 - percent / 100):.2f}"
    return rows


def deletion(task: FamilyTask) -> list[list[str]]:
    limit = int(task.instruction.rstrip(".").split()[-1])
    header, *rows = named(task)
    return [header, *(row for row in rows if (float(row[1]) >= limit) == ("below" in task.instruction))]


def total(task: FamilyTask) -> list[list[str]]:
    rows = named(task)
    category = task.instruction.split("'")[3] if "Category" in task.instruction else ""
    rows[-1][2] = f"{sum(float(row[2]) for row in rows[1:-1] if category in ('', row[1])):.2f}"
    return rows


def without_empty(task: FamilyTask) -> list[list[str]]:
    rows = [row for row in named(task) if any(row)]
    return [
        [cell for cell, column in zip(row, zip(*rows, strict=True), strict=True) if any(column)]
        for row in rows
    ]


def possible(task: FamilyTask) -> list[list[str]]:
    header, *rows = named(task)
    return [header, *([row[0], *(one if 0 <= int(one) <= 100 else "" for one in row[1:])] for row in rows)]


def inserted(task: FamilyTask) -> list[list[str]]:
    name = re.search(r"insert (\w+) with", task.instruction)[1]  # type: ignore[index] - every goal has it
    scores = re.findall(r" (\d+)[,.]", task.instruction)
    header, *rows = named(task)
    return [header, *sorted([*rows, [name, *scores]])]


def renamed(task: FamilyTask) -> list[list[str]]:
    _, _, _, old, _, new, _ = task.instruction.split("'")
    header, *rows = named(task)
    return [[new if one == old else one for one in header], *rows]


EXPECTED: dict[str, Callable[[FamilyTask], list[list[str]]]] = {
    "apply_sales": sales,
    "discount_worst": discount,
    "delete_by_condition": deletion,
    "fill_total": total,
    "remove_empty": without_empty,
    "clear_impossible": possible,
    "insert_student": inserted,
    "rename_header": renamed,
    "add_notes": named,
    "merge_title": named,
}


def agrees(wanted: dict[str, Any], expected: list[list[str]]) -> bool:
    """True if a wanted table has these cells."""
    sizes = [[len(row) for row in one] for one in (wanted["cells"], expected)]
    pairs = [
        pair for rows in zip(wanted["cells"], expected, strict=False) for pair in zip(*rows, strict=False)
    ]
    return sizes[0] == sizes[1] and all(same(one, other) for one, other in pairs)


def test_tables_that_nothing_was_done_to_are_not_the_wanted_ones():
    tasks = [task for task in Sheet().tasks("train") if task.kind not in ("add_notes", "merge_title")]
    assert not any(agrees(next(iter(task.change.values())), named(task)) for task in tasks)


def test_wanted_tables_are_those_that_the_goals_describe():
    looked_at = dict.fromkeys(EXPECTED, 0)
    for task in Sheet().tasks("train"):
        ((_, wanted),) = task.change.items()
        assert agrees(wanted, EXPECTED[task.kind](task)), task.instruction
        assert bool(wanted["notes"]) == (task.kind == "add_notes")
        assert wanted["merged"] == ([[0, 0, 0, 2]] if task.kind == "merge_title" else [])
        looked_at[task.kind] += 1
    assert min(looked_at.values()) > 10


def collated(cells: list[list[str]]) -> list[str]:
    """Names of students, as they are ordered where accented letters count as plain ones."""
    plain = str.maketrans("áéíøü", "aeiou")
    return sorted([row[0] for row in cells[1:]], key=lambda name: name.translate(plain))


def students(split: str, number: int) -> list[list[str]]:
    return next(
        [list(row) for row in grid.cells]
        for name, grid in workbook(split, number).items()
        if name.endswith("students")
    )


@pytest.mark.parametrize(("split", "count"), [("train", 200), ("valid", 50), ("test", 100), ("agentgym", 20)])
def test_students_are_in_an_order_on_which_readers_agree(split: str, count: int):
    accented = 0
    for number in range(count):
        cells = students(split, number)
        names = [row[0] for row in cells[1:]]
        assert names == sorted(names) == collated(cells)
        accented += not "".join(names).isascii()
    assert accented > 1


def test_a_student_is_inserted_where_all_readers_look():
    tasks = [task for task in Sheet().tasks("train") if task.kind == "insert_student"]
    assert len(tasks) > 20
    for task in tasks:
        ((_, wanted),) = task.change.items()
        assert [row[0] for row in wanted["cells"][1:]] == collated(wanted["cells"]), task.id


def test_the_data_version_tells_that_sheets_have_changed():
    assert Sheet().data_version == "generated:1.1.2"


def test_the_searches_of_an_episode_are_bounded(environment: Sheet):
    environment.state.sheets["one"] = Grid([["a" * 100] * 10 for _ in range(10)])
    for _ in range(9):
        assert ask(environment, "filter_cells", query={"regex": "bbbb"}) == []
    assert "searched enough" in refused(environment, "filter_cells", query={"regex": "bbbb"})
    assert ask(environment, "filter_cells", query="b") == []
