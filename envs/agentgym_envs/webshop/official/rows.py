"""Validation of the benchmark's own files: `products`, `annotations`, `instructions`, `prices`.

Invalid rows are refused, with their place and a reason; the original's rules hold where it has any.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from math import isfinite
from pathlib import Path
from sys import intern
from typing import Annotated, Any, cast

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError

from agentgym_envs.import_report import Refused
from agentgym_envs.webshop.catalogues.stored import CatalogueError
from agentgym_envs.webshop.official.jsonstream import items, members
from agentgym_envs.webshop.products import LONGEST_ASIN, NO_ATTRIBUTES, Product, product

MOST_DOLLARS = 1e9
MOST_TOLD = 150
"""Maximum number of characters of a file that a message quotes."""
_NO_OBJECT = ("model_type", "dict_type")

Annotations = Mapping[str, Mapping[str, Any]]
Instructions = Mapping[str, Sequence[Mapping[str, Any]]]
Refuse = Callable[[Refused], None]
"""Callback for refused rows."""


class _Lenient(BaseModel):
    """Part of a file: unknown fields are ignored."""

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


def products(path: Path, annotations: Annotations, refuse: Refuse = lambda _: None) -> Iterator[Product]:
    """Products of a file, in order, by the benchmark's rules: without rows that lack an id of their own or
    have a longer one.
    """
    seen: set[str] = set()
    for number, row in enumerate(items(path), start=1):
        asin = cast("dict[str, Any]", row).get("asin") if isinstance(row, dict) else None
        if isinstance(asin, str) and (asin == "nan" or len(asin) > LONGEST_ASIN or asin in seen):
            continue
        try:
            found = _product(row, annotations)
        except ValueError as error:
            named = f" ({asin})" if isinstance(asin, str) else ""
            refuse(_refused(f"{path.name}: product {number:,}{named}", error))
        else:
            seen.add(found.asin)
            yield found


def annotations(path: Path, refuse: Refuse) -> Annotations:
    """`attributes` by product, with `instruction` and `instruction_attributes` if there is one."""
    found: dict[str, Mapping[str, Any]] = {}
    for asin, value in members(path):
        try:
            annotation = _Annotation.model_validate(value)
            wanted = annotation.instruction_attributes or []
            _encodable(*annotation.attributes, *wanted, annotation.instruction or "")
            if annotation.instruction and not wanted:
                refuse(_refused(f"{path.name}: {asin}", ValueError("its instruction has no attributes")))
            found[asin] = _kept(annotation)
        except ValueError as error:
            refuse(_refused(f"{path.name}: {asin}", error))
    return found


def instructions(path: Path, refuse: Refuse) -> Instructions:
    """Human-written instructions by product."""
    found: dict[str, Sequence[Mapping[str, Any]]] = {}
    for asin, listed in members(path):
        if isinstance(listed, list):
            rows = cast("list[Any]", listed)
            found[asin] = list(_sound_instructions(rows, f"{path.name}: {asin}", refuse))
        else:
            refuse(_refused(f"{path.name}: {asin}", ValueError("it is no list")))
    return found


def prices(path: Path) -> dict[str, dict[str, float]]:
    """Mode -> product -> purchase price in dollars; raises `CatalogueError` for an invalid price."""
    found: dict[str, dict[str, float]] = {}
    for mode, table in members(path):
        if not isinstance(table, dict):
            raise CatalogueError(f"{path}: {_line(mode)}: no table of prices")
        rows = cast("dict[str, Any]", table)
        for asin, price in rows.items():
            number = isinstance(price, int | float) and not isinstance(price, bool)
            if not number or not 0 <= price <= MOST_DOLLARS:
                raise CatalogueError(f"{path}: {_line(f'{mode}: {asin}')}: no price in dollars")
        found[mode] = {asin: float(price) for asin, price in rows.items()}
    return found


def _refused(name: str, error: ValueError) -> Refused:
    """Refusal with the first error."""
    if not isinstance(error, ValidationError):
        return Refused(_line(name), _line(str(error)))
    first = error.errors(include_url=False, include_input=False)[0]
    reason = "it is no object" if first["type"] in _NO_OBJECT else first["msg"]
    place = ".".join(str(part)[:30] for part in first["loc"])
    return Refused(_line(name), _line(f"{place}: {reason}" if place else reason))


def _line(text: str) -> str:
    """Text of a file, made printable for a terminal."""
    cut = text if len(text) <= MOST_TOLD else f"{text[: MOST_TOLD - 3]}..."
    return "".join(sign if sign.isprintable() else "?" for sign in cut)


def _product(row: Any, annotated: Annotations) -> Product:
    checked = _Row.model_validate(row)
    if not checked.asin:
        raise ValueError("asin: is empty")
    try:
        known = annotated.get(checked.asin)
        attributes = known["attributes"] if known else NO_ATTRIBUTES
        found = product({"pricing": None} | row, attributes)
    except ValueError:
        raise _no_price(checked.pricing) from None
    if not found.prices or not all(map(isfinite, found.prices)):
        raise _no_price(checked.pricing)
    options = (part for group, values in found.options.items() for part in (group, *values))
    paths = found.query, found.category, found.product_category
    _encodable(found.asin, found.title, found.description, *found.bullets, *paths, *options)
    return found


def _no_price(pricing: str | None) -> ValueError:
    return ValueError(f"pricing: {(pricing or '')[:40]!r} is no price")


def _kept(annotation: _Annotation) -> Mapping[str, Any]:
    """Compact copy: there are a million, whose attributes are few thousand texts."""
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
            refuse(_refused(f"{name}, instruction {number}", error))
        else:
            yield found.model_dump()


def _encodable(*texts: str) -> None:
    """Raise `ValueError` for a lone surrogate (`\\ud83d`): JSON may contain it, but no file can hold it."""
    try:
        "".join(texts).encode()
    except UnicodeEncodeError:
        raise ValueError("it has half of a character, a lone surrogate") from None
