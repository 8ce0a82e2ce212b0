"""Generator of the catalogue `synth`: products and goals of our own, equal on every machine.

Neither a search nor the words of a title solve a goal: its target has near-duplicates that each lack one
requirement, most of these are stated on the page of features only, and instructions use other words than
sellers. All goals are checked with the reward itself.
"""

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agentgym_envs.search.bm25 import Index
from agentgym_envs.webshop.generator import prices as pricing
from agentgym_envs.webshop.generator.checks import problem
from agentgym_envs.webshop.generator.instructions import plain
from agentgym_envs.webshop.generator.measures import demand
from agentgym_envs.webshop.generator.units import Unit, units
from agentgym_envs.webshop.generator.wishes import wishes
from agentgym_envs.webshop.products import Product, product
from agentgym_envs.webshop.wishes import Wish

__all__ = ["VERSION", "Generated", "Wish", "generate", "rows", "write"]

VERSION = "synth-1"
"""Version of the output: changes with any byte of it."""
FILES = ("items_shuffle.json", "items_ins_v2.json", "items_human_ins.json")


@dataclass(frozen=True)
class Generated:
    """Catalogue with its goals, in the schema of the benchmark's files."""

    rows: list[dict[str, Any]]
    """As in `items_shuffle.json`, the input of `products.cleaned`."""
    annotations: dict[str, dict[str, Any]]
    """As in `items_ins_v2.json`: the attributes of every product."""
    human: dict[str, list[dict[str, Any]]]
    """As in `items_human_ins.json`."""
    prices: dict[str, float]
    """Purchase prices of products, in dollars."""
    wishes: list[Wish]
    dropped: dict[str, int]
    """Reason -> number of goals that failed a check."""


def generate(products: int = 5_000, seed: int = 0, checks: bool = True) -> Generated:
    """Generate all in memory; `ValueError` if, with `checks`, the goals are too easy."""
    made = list(units(products, seed))
    written = [unit.rows[place] for unit in made for place in unit.order]
    annotations = {row["asin"]: annotation for row, annotation in written}
    known = {row["asin"]: product(row, tuple(annotations[row["asin"]]["attributes"])) for row, _ in written}
    prices = {asin: pricing.purchase(one.prices, seed, asin) for asin, one in known.items()}
    index = Index.of({asin: one.index_text for asin, one in known.items()}) if checks else None
    kept: list[Wish] = []
    dropped: Counter[str] = Counter()
    for unit in made:
        for wish, reason in _judged(unit, known, prices, index, seed):
            if reason and checks:
                dropped[reason] += 1
            else:
                kept.append(wish)
    if index is not None:
        demand(kept, index, known, prices)
    return Generated(
        [row for row, _ in written],
        annotations,
        _human(kept, known),
        prices,
        kept,
        dict(sorted(dropped.items())),
    )


def rows(products: int, seed: int = 0) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Rows with their annotations as a stream, for catalogues of any size: those of `generate`."""
    for unit in units(products, seed):
        for place in unit.order:
            yield unit.rows[place]


def write(generated: Generated, folder: Path) -> None:
    """Write the three files of the benchmark."""
    folder.mkdir(parents=True, exist_ok=True)
    contents = generated.rows, generated.annotations, generated.human
    for name, content in zip(FILES, contents, strict=True):
        (folder / name).write_text(json.dumps(content, ensure_ascii=True), encoding="utf-8", newline="\n")


def _judged(
    unit: Unit, known: dict[str, Product], prices: dict[str, float], index: Index | None, seed: int
) -> Iterator[tuple[Wish, str]]:
    """Goals of a family with the problem of each, if any."""
    if unit.family is None:
        return
    members = [known[row["asin"]] for row, _ in unit.rows]
    for wish in wishes(unit.family, unit.split, members, seed):
        strict = wish.goal.asin == members[0].asin
        yield wish, problem(wish, members, prices, index, strict) if index is not None else ""


def _human(kept: list[Wish], known: dict[str, Product]) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for wish in kept:
        goal, target = wish.goal, known[wish.goal.asin]
        values, groups = list(goal.options), target.options.items()
        named = [f"{group}: {value}" for group, own in groups for value in values if value in own]
        annotated = {
            "asin": goal.asin,
            "instruction": plain(goal.instruction) + ".",
            "attributes": list(target.attributes),
            "options": named,
            "instruction_attributes": list(goal.attributes),
            "instruction_options": values,
            "assignment_id": wish.id,
            "worker_id": "synth",
        }
        found.setdefault(goal.asin, []).append(annotated)
    return found
