"""The benchmark's own files: which of a folder's they are, and what of them is sound.

    items_shuffle.json, items_shuffle_1000.json     a list of products
    items_ins_v2.json, items_ins_v2_1000.json       id -> attributes, instruction, instruction_attributes
    items_human_ins.json                            id -> instructions that people wrote, each with its goal
    purchase_prices.json                            mode -> id -> price; not the benchmark's: one draw of its

What is not sound is refused, with its place and a reason; where the original has a rule, that rule holds.
"""

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from math import isfinite
from pathlib import Path
from sys import intern
from typing import Annotated, Any, NamedTuple

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError

from agentgym_envs.imports import Refused
from agentgym_envs.webshop.jsonstream import items, members
from agentgym_envs.webshop.products import LONGEST_ASIN, NO_ATTRIBUTES, Product, product
from agentgym_envs.webshop.stored import CatalogueError

PUBLISHED = {
    "items_shuffle_1000.json": "08dfda9a",
    "items_human_ins.json": "b2ab7479",
    "items_ins_v2_1000.json": "22837ad9",
}
"""File -> how the id of its git blob begins, where that is known."""
PRICES = "purchase_prices.json"

Refuse = Callable[[Refused], None]
"""To be told what is left out."""


class Files(NamedTuple):
    """Those of one catalogue."""

    products: Path
    annotations: Path
    human: Path | None
    prices: Path | None

    def all(self) -> Iterator[tuple[str, Path]]:
        """What each is, for a catalogue's settings, with the file."""
        return ((name, path) for name, path in self._asdict().items() if path is not None)


def find(source: Path) -> Files:
    """The files of a folder, or those beside a file of products; raises `CatalogueError` where one is
    missing, or it is not clear which is meant.
    """
    folder = source.parent if source.is_file() else source
    if not folder.is_dir():
        raise CatalogueError(f"{source} is no folder")
    lists = [source] if source.is_file() else sorted(folder.glob("items_shuffle*.json"))
    if not lists:
        raise CatalogueError(f"{source} has no items_shuffle.json or items_shuffle_1000.json")
    if len(lists) > 1:
        raise CatalogueError(f"{source} has {len(lists)} files of products; name one: {lists[-1]}")
    small = "_1000" in lists[0].name
    annotations = _fitting(folder, "items_ins_v2*.json", small)
    if annotations is None:
        raise CatalogueError(f"{folder} has no items_ins_v2.json or items_ins_v2_1000.json")
    prices = folder / PRICES
    human = _fitting(folder, "items_human_ins*.json", small)
    return Files(lists[0], annotations, human, prices if prices.is_file() else None)


def _fitting(folder: Path, pattern: str, small: bool) -> Path | None:
    """Of several, the one that is of the same size by its name; the whole one serves both."""
    found = sorted(folder.glob(pattern), key=lambda path: (("_1000" in path.name) != small, path.name))
    return found[0] if found else None


class _Lenient(BaseModel):
    """A part of a file: what is not named here is not looked at."""

    model_config = ConfigDict(strict=True, extra="ignore")


class _Value(_Lenient):
    value: str


def _as_list(given: Any) -> Any:
    return [given] if isinstance(given, str) else given


class _Row(_Lenient):
    asin: str
    name: str
    full_description: str
    small_description: Annotated[list[str], BeforeValidator(_as_list)]
    pricing: str | None = None
    product_category: str
    category: str
    query: str
    customization_options: Annotated[
        dict[str, list[_Value] | None], BeforeValidator(lambda given: given or {})
    ] = {}


class _Annotation(_Lenient):
    attributes: list[str]
    instruction: str | None = None
    instruction_attributes: list[str] | None = None


class _Instruction(_Lenient):
    instruction: str
    instruction_attributes: list[str]
    instruction_options: list[str]


Annotations = Mapping[str, Mapping[str, Any]]
Instructions = Mapping[str, Sequence[Mapping[str, Any]]]


def products(path: Path, annotations: Annotations, refuse: Refuse = lambda _: None) -> Iterator[Product]:
    """Of a file, in order: as the benchmark, without rows that have no id of their own or a longer one."""
    seen: set[str] = set()
    for number, row in enumerate(items(path), start=1):
        asin: Any = row.get("asin") if isinstance(row, dict) else None  # pyright: ignore[reportUnknown]
        if isinstance(asin, str) and (asin == "nan" or len(asin) > LONGEST_ASIN or asin in seen):
            continue
        try:
            found = _product(row, annotations)
        except ValueError as error:
            name = f"{path.name}: product {number:,}" + (f" ({asin})" if isinstance(asin, str) else "")
            refuse(Refused(name, reason_of(error)))
        else:
            seen.add(found.asin)
            yield found


def annotations(path: Path, refuse: Refuse) -> Annotations:
    """By product: `attributes`, and `instruction` with `instruction_attributes` where there is one."""
    found: dict[str, Mapping[str, Any]] = {}
    for asin, value in members(path):
        try:
            annotation = _Annotation.model_validate(value)
            _encodable(*annotation.attributes, annotation.instruction or "")
            if annotation.instruction and not annotation.instruction_attributes:
                refuse(Refused(f"{path.name}: {asin}", "its instruction has no attributes"))
            found[asin] = _kept(annotation)
        except ValueError as error:
            refuse(Refused(f"{path.name}: {asin}", reason_of(error)))
    return found


def instructions(path: Path, refuse: Refuse) -> Instructions:
    """By product: what people wrote."""
    found: dict[str, Sequence[Mapping[str, Any]]] = {}
    for asin, listed in members(path):
        if isinstance(listed, list):
            rows: list[Any] = listed
            found[asin] = list(_sound_instructions(rows, f"{path.name}: {asin}", refuse))
        else:
            refuse(Refused(f"{path.name}: {asin}", "is no list"))
    return found


def prices(path: Path) -> dict[str, dict[str, float]]:
    """Mode -> product -> what it costs, in dollars; raises `CatalogueError` for what is no price."""
    found: dict[str, dict[str, float]] = {}
    for mode, table in members(path):
        rows: dict[str, Any] = table if isinstance(table, dict) else {"": None}
        for asin, price in rows.items():
            if isinstance(price, bool) or not isinstance(price, int | float) or not 0 <= price < float("inf"):
                raise CatalogueError(f"{path}: {mode}: {asin}: no price in dollars")
        found[mode] = {asin: float(price) for asin, price in rows.items()}
    return found


def blob_id(path: Path) -> str:
    """The id that git gives a file's content."""
    digest = hashlib.sha1(f"blob {path.stat().st_size}\0".encode(), usedforsecurity=False)
    with path.open("rb") as file:
        while piece := file.read(1 << 20):
            digest.update(piece)
    return digest.hexdigest()


def reason_of(error: ValueError) -> str:
    """The first thing that is wrong, in a line."""
    if isinstance(error, ValidationError):
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"]))
        return f"{place}: {first['msg']}" if place else str(first["msg"])
    return str(error)


def _product(row: Any, annotated: Annotations) -> Product:
    checked = _Row.model_validate(row)
    if not checked.asin:
        raise ValueError("asin: is empty")
    try:
        known = annotated.get(checked.asin)
        attributes = known["attributes"] if known else NO_ATTRIBUTES
        found = product({"pricing": None} | row, attributes)
    except ValueError:
        raise ValueError(f"pricing: {checked.pricing!r} is no price") from None
    if not found.prices or not all(map(isfinite, found.prices)):
        raise ValueError(f"pricing: {checked.pricing!r} is no price")
    options = (part for group, values in found.options.items() for part in (group, *values))
    paths = found.query, found.category, found.product_category
    _encodable(found.asin, found.title, found.description, *found.bullets, *paths, *options)
    return found


def _kept(annotation: _Annotation) -> Mapping[str, Any]:
    """As little as can be: there are a million, whose attributes are few thousand texts."""
    kept: dict[str, Any] = {"attributes": tuple(map(intern, annotation.attributes))}
    if annotation.instruction and annotation.instruction_attributes:
        kept["instruction"] = annotation.instruction
        kept["instruction_attributes"] = tuple(map(intern, annotation.instruction_attributes))
    return kept


def _sound_instructions(rows: Sequence[Any], name: str, refuse: Refuse) -> Iterator[Mapping[str, Any]]:
    for number, row in enumerate(rows, start=1):
        try:
            found = _Instruction.model_validate(row)
            _encodable(found.instruction, *found.instruction_attributes, *found.instruction_options)
        except ValueError as error:
            refuse(Refused(f"{name}, instruction {number}", reason_of(error)))
        else:
            yield found.model_dump()


def _encodable(*texts: str) -> None:
    """JSON may say half of a character (`\\ud83d`), which no file can hold."""
    try:
        "".join(texts).encode()
    except UnicodeEncodeError:
        raise ValueError("it has half of a character, a lone surrogate") from None
