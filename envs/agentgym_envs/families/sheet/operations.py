"""Tasks of `sheet`: goals that change a table."""

from collections.abc import Sequence

from agentgym_envs.families.drafts import Ask, Draft, Form, Solve, only
from agentgym_envs.families.sheet.grid import position_of
from agentgym_envs.families.sheet.workbook import CATEGORIES, SUBJECTS, SheetState
from agentgym_envs.knowledge.names import unaccented
from agentgym_envs.knowledge.rows import Draw

MOST_NOTES = 3
WORST = 3


def apply_sales(scene: SheetState, draw: Draw) -> Draft:
    """Subtract what was sold from the stock, and sort."""
    name, order = _named(scene, "stock"), draw.pick(["asc", "des"])

    def solve(ask: Ask) -> None:
        rows = _opened(ask, name)[1:]
        only(len({int(stock) - int(sold) for _, stock, sold in rows}) == len(rows))
        left = [[int(stock) - int(sold)] for _, stock, sold in rows]
        ask("update_range", start_position="B2", end_position=f"B{len(rows) + 1}", values_list=left)
        ask("freeze_data", dimension="rows", num=1)
        ask("sort_sheet_by_col", col_num=2, order=order)

    way = "ascending" if order == "asc" else "descending"
    return _operation(
        f"In the sheet {name!r}, subtract Sold from Stock in every row, and leave Sold as it is. Then"
        f" sort the rows by Stock, {way}; the header stays first.",
        solve,
    )


def discount_worst(scene: SheetState, draw: Draw) -> Draft:
    """Lower the prices of the products with the lowest ratings."""
    name, percent = _named(scene, "products"), 5 * draw.randrange(1, 8)

    def solve(ask: Ask) -> None:
        rows = _opened(ask, name)
        worst = sorted(range(1, len(rows)), key=lambda row: float(rows[row][2]))[:WORST]
        for row in worst:
            price = float(rows[row][1]) * (100 - percent) / 100
            only(abs(100 * price % 1 - 0.5) > 1e-6)  # halves of a cent are rounded in either way
            ask("update_cell", position=f"B{row + 1}", value=f"{price:.2f}")

    return _operation(
        f"In the sheet {name!r}, lower the Price of the three products with the lowest Rating by {percent} %,"
        " rounded to two decimals.",
        solve,
    )


def delete_by_condition(scene: SheetState, draw: Draw) -> Draft:
    """Delete the rows whose value is below or above a limit."""
    name, below, limit = _named(scene, "products"), draw.random() < 0.5, draw.randrange(10, 80)

    def solve(ask: Ask) -> None:
        rows = _opened(ask, name)
        chosen = [row + 1 for row in range(1, len(rows)) if (float(rows[row][1]) < limit) == below]
        only(0 < len(chosen) < len(rows) - 1)
        ask("delete_batch_data", dimension="row", index_list=chosen)

    word = "below" if below else "of at least"
    return _operation(f"In the sheet {name!r}, delete all products with a Price {word} {limit}.", solve)


def add_notes(scene: SheetState, draw: Draw) -> Draft:
    """Set the notes of some cells."""
    name = _named(scene, "products")
    chosen = draw.sample(scene.sheets[name].cells[1:], draw.randrange(1, MOST_NOTES + 1))
    notes = {row[0]: draw.pick(["check", "reorder", "new price", "sold out"]) for row in chosen}

    def solve(ask: Ask) -> None:
        first = [row[0] for row in _opened(ask, name)]
        for product, note in notes.items():
            ask("update_note", position=position_of(first.index(product) + 1, 2), content=note)

    listed = "; ".join(f"for {product}, {note!r}" for product, note in notes.items())
    return _operation(f"In the sheet {name!r}, set the note of the Price of these products: {listed}.", solve)


def fill_total(scene: SheetState, draw: Draw) -> Draft:
    """Fill the total of all amounts, or of one category."""
    name, category = _named(scene, "expenses"), draw.pick(["", *CATEGORIES])

    def solve(ask: Ask) -> None:
        rows = _opened(ask, name)
        last = len(rows)
        if not category:
            ask(
                "update_cell_by_formula",
                start_position="C2",
                end_position=f"C{last - 1}",
                result_position=f"C{last}",
                operator="SUM",
            )
            return
        cells = [f"C{row + 1}" for row in range(1, last - 1) if rows[row][1] == category]
        only(len(cells) > 1)
        ask("update_cell_by_formula", position_list=cells, result_position=f"C{last}", operator="SUM")

    whose = f"of the Category {category!r}" if category else "above"
    return _operation(
        f"In the sheet {name!r}, fill the Amount of the row Total with the sum of all amounts {whose}.", solve
    )


def remove_empty(scene: SheetState, draw: Draw) -> Draft:  # noqa: ARG001 - the signature of a form
    """Remove empty rows and columns."""
    name = _named(scene, "log")

    def solve(ask: Ask) -> None:
        rows = _opened(ask, name)
        empty = [number for number, row in enumerate(rows, 1) if not any(row)]
        ask("delete_batch_data", dimension="row", index_list=empty)
        columns = [
            number for number in range(1, len(rows[0]) + 1) if not any(row[number - 1] for row in rows)
        ]
        ask("delete_batch_data", dimension="col", index_list=columns)

    return _operation(f"In the sheet {name!r}, remove the rows and the columns that are empty.", solve)


def insert_student(scene: SheetState, draw: Draw) -> Draft:
    """Insert a student in alphabetical order."""
    name = _named(scene, "students")
    student = "".join(draw.pick(list("BCDFGHKLMNPRSTVW")) + draw.pick(["aro", "ilo", "une", "esk"]) + "var")
    scores = [draw.randrange(40, 101) for _ in SUBJECTS]

    def solve(ask: Ask) -> None:
        rows = _opened(ask, name)
        students = [row[0] for row in rows[1:]]
        later = [name > student for name in students]
        only(later == [unaccented(name) > student for name in students])
        before = [number for number, is_later in enumerate(later, 2) if is_later]
        place = before[0] if before else len(rows) + 1
        ask("insert_rows", values_list=[[student, *scores]], row_idx=place)

    told = ", ".join(f"{subject} {score}" for subject, score in zip(SUBJECTS, scores, strict=True))
    return _operation(
        f"In the sheet {name!r}, whose students are in alphabetical order, insert {student} with these"
        f" scores, in the right place: {told}.",
        solve,
    )


def clear_impossible(scene: SheetState, draw: Draw) -> Draft:  # noqa: ARG001
    """Clear the scores that cannot be."""
    name = _named(scene, "students")

    def solve(ask: Ask) -> None:
        for number, row in enumerate(_opened(ask, name)[1:], 2):
            for column, score in enumerate(row[1:], 2):
                if not 0 <= int(score) <= 100:
                    ask("update_cell", position=position_of(number, column), value="")

    return _operation(
        f"In the sheet {name!r}, scores are from 0 to 100. Clear the cells with other scores, so that"
        " they are empty.",
        solve,
    )


def rename_header(scene: SheetState, draw: Draw) -> Draft:
    """Rename a column."""
    name = _named(scene, draw.pick(["stock", "products", "students", "expenses"]))
    column = draw.randrange(1, scene.sheets[name].columns + 1)
    old, new = (
        scene.sheets[name].cells[0][column - 1],
        draw.pick(["Item", "Value", "Remark", "Group", "Points"]),
    )

    def solve(ask: Ask) -> None:
        header = _opened(ask, name)[0]
        ask("update_cell", position=position_of(1, header.index(old) + 1), value=new)

    return _operation(f"In the sheet {name!r}, rename the column {old!r} to {new!r}.", solve)


def merge_title(scene: SheetState, draw: Draw) -> Draft:  # noqa: ARG001
    """Merge the cells of the title."""
    name = _named(scene, "log")

    def solve(ask: Ask) -> None:
        width = len(_opened(ask, name)[0])
        ask("merge_cells", start_position="A1", end_position=position_of(1, width))

    return _operation(f"In the sheet {name!r}, merge all cells of the first row, which is the title.", solve)


def _operation(goal: str, solve: Solve) -> Draft:
    return Draft(goal, solve, None, operates=True)


def _named(scene: SheetState, kind: str) -> str:
    return next(name for name in scene.sheets if name.endswith(kind))


def _opened(ask: Ask, name: str) -> list[list[str]]:
    """The cells of a sheet, which is open then."""
    ask("open_sheet", name=name)
    return ask("get_all_values")


FORMS: dict[str, Sequence[Form[SheetState]]] = {
    "table": (
        apply_sales,
        discount_worst,
        delete_by_condition,
        add_notes,
        fill_total,
        remove_empty,
        insert_student,
        clear_impossible,
        rename_header,
        merge_title,
    )
}
