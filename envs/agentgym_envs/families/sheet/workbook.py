"""Generated sheets, and the state of an episode on them."""

import random
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, Self, cast

from agentgym_envs.families.sheet.grid import Grid, number_of
from agentgym_envs.families.states import EpisodeState
from agentgym_envs.knowledge.names import unaccented, words
from agentgym_envs.knowledge.rows import Draw, listed
from agentgym_envs.tooluse import ToolError

VERSION = 1
"""Version of the workbooks; part of every seed."""
REVISION = 2
"""Counts changes that leave most workbooks as they were. 2: students in an order on which readers agree."""
WORLDS = {"train": 200, "valid": 50, "test": 100, "agentgym": 20}
"""Number of workbooks by split."""
HALF_A_CENT = 0.005 + 1e-9
"""Largest difference of numbers with decimals: sheets show two of them."""
CATEGORIES = listed("food travel books tools rent")
SUBJECTS = listed("Mathematics Chemistry History Music")

Sheets = Mapping[str, Grid]


@dataclass
class SheetState(EpisodeState):
    """Sheets as they are now; those that were not changed are the workbook's own."""

    sheets: dict[str, Grid] = field(default_factory=dict[str, Grid])
    base: Sheets = field(default_factory=dict[str, Grid])
    opened: str = ""
    searched: int = 0
    """Work of searches by patterns so far, in states times characters."""

    def copy(self) -> Self:
        sheets = {
            name: grid if grid is self.base[name] else grid.copy() for name, grid in self.sheets.items()
        }
        return replace(self, seen=set(self.seen), sheets=sheets)

    def reading(self) -> Grid:
        """The open sheet; raises `ToolError` if there is none."""
        if self.opened not in self.sheets:
            raise ToolError("Error: no sheet is open; call open_sheet first")
        return self.sheets[self.opened]

    def writing(self) -> Grid:
        """A copy of the open sheet, which becomes the sheet where `keep` is called."""
        return self.reading().copy()

    def keep(self, grid: Grid) -> list[list[str]]:
        """Make a changed copy the open sheet; its cells."""
        self.sheets[self.opened] = grid
        return [list(row) for row in grid.cells]

    def change(self) -> Any:
        found = dict[str, Any]()
        for name, grid in self.base.items():
            now = self.sheets.get(name)
            if now is None:
                found[name] = None
            elif now is not grid and now.as_json() != grid.as_json():
                found[name] = now.as_json()
        return found or None

    def reached(self, change: Any) -> bool:
        """True if sheets changed as wanted: sizes, notes and merged ranges are equal, cells the `same`."""
        wanted, found = (cast("dict[str, Any]", one or {}) for one in (change, self.change()))
        return wanted.keys() == found.keys() and all(_equal(wanted[name], found[name]) for name in wanted)


def same(wanted: str, found: str) -> bool:
    """True for equal texts, and for numbers that differ by less than half a cent where one has decimals."""
    left, right = number_of(wanted), number_of(found)
    if left is None or right is None:
        return wanted.strip() == found.strip()
    return abs(left - right) <= (HALF_A_CENT if "." in wanted else 1e-9 * max(1.0, abs(left)))


def _equal(wanted: dict[str, Any] | None, found: dict[str, Any] | None) -> bool:
    if wanted is None or found is None:
        return wanted is found
    if any(wanted[part] != found[part] for part in ("notes", "merged")):
        return False
    sizes = [[len(row) for row in one["cells"]] for one in (wanted, found)]
    pairs = zip(wanted["cells"], found["cells"], strict=False)
    return sizes[0] == sizes[1] and all(
        same(one, other) for left, right in pairs for one, other in zip(left, right, strict=True)
    )


@lru_cache(512)
def workbook(split: str, number: int) -> Sheets:
    """The sheets of one number: stock, products, students, expenses, log."""
    draw, own = Draw(f"agentevol.sheet.{VERSION}.{split}.{number}"), words(split)
    coined, people = draw.sample(own.coined, 60), draw.sample(own.surnames, 40)
    house = coined.pop()
    made = {"stock": _stock, "products": _products, "students": _students, "expenses": _expenses, "log": _log}
    return {f"{house} {kind}": make(draw, coined, people) for kind, make in made.items()}


def _stock(draw: random.Random, coined: list[str], people: list[str]) -> Grid:  # noqa: ARG001 - one signature
    names = draw.sample(coined, draw.randrange(5, 9))
    stock = draw.sample(range(20, 90), len(names))
    rows = [[name, str(left), str(draw.randrange(1, 20))] for name, left in zip(names, stock, strict=True)]
    return Grid([["Product", "Stock", "Sold"], *rows])


def _products(draw: random.Random, coined: list[str], people: list[str]) -> Grid:
    names = draw.sample(coined, draw.randrange(6, 10))
    ratings = draw.sample(range(10, 51), len(names))
    rows = [
        [name, f"{draw.randrange(400, 9000) / 100:.2f}", f"{rating / 10:.1f}", draw.choice(people)]
        for name, rating in zip(names, ratings, strict=True)
    ]
    return Grid([["Product", "Price", "Rating", "Seller"], *rows])


def _students(draw: random.Random, coined: list[str], people: list[str]) -> Grid:  # noqa: ARG001
    names = sorted(draw.sample(people, draw.randrange(6, 10)))
    while names != sorted(names, key=unaccented):
        names = sorted(draw.sample(people, len(names)))
    rows = [[name, *(str(draw.randrange(30, 101)) for _ in SUBJECTS)] for name in names]
    for line in draw.sample(rows, 2):
        line[draw.randrange(1, 5)] = str(draw.choice([-5, 104, 130, 999]))
    return Grid([["Name", *SUBJECTS], *rows])


def _expenses(draw: random.Random, coined: list[str], people: list[str]) -> Grid:  # noqa: ARG001
    rows = [
        [f"2026-02-{day:02}", draw.choice(CATEGORIES), f"{draw.randrange(100, 20000) / 100:.2f}"]
        for day in sorted(draw.sample(range(1, 29), draw.randrange(7, 12)))
    ]
    return Grid([["Date", "Category", "Amount"], *rows, ["Total", "", ""]])


def _log(draw: random.Random, coined: list[str], people: list[str]) -> Grid:
    rows = [[draw.choice(coined), "", draw.choice(people)] for _ in range(draw.randrange(5, 8))]
    for place in sorted(draw.sample(range(1, len(rows)), 2)):
        rows.insert(place, ["", "", ""])
    return Grid([["Visitors of the month", "", ""], ["Place", "", "Guest"], *rows])


def setting(split: str, draw: Draw) -> dict[str, Any]:
    """The number of the workbook of a task."""
    return {"world": draw.randrange(WORLDS[split])}


def state(split: str, setting: Mapping[str, Any]) -> SheetState:
    """The state at the beginning."""
    own = workbook(split, setting["world"])
    return SheetState(split=split, world=setting["world"], sheets=dict(own), base=own)
