"""Strict JSON (RFC 8259): `parse` for requests, `dump` for replies."""

import json
import math
import re
from typing import Any, NoReturn

from pydantic_core import to_json

MAX_DEPTH = 64
STRING = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
SURROGATE_ESCAPE = re.compile(r"\\u[dD][89a-fA-F]")

_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode


class InvalidJson(ValueError):
    """Text that is not JSON; `position` is the offending character, None for the text as a whole."""

    def __init__(self, reason: str, position: int | None = None) -> None:
        super().__init__(reason)
        self.position = position


def parse(body: bytes) -> Any:
    """The value of a JSON text.

    Raises `InvalidJson` for text that is not JSON, and for invalid UTF-8, NaN and infinities (also as numbers
    too big), duplicate keys, unpaired surrogate escapes and nesting deeper than 64.
    """
    try:
        text = body.decode()
    except UnicodeDecodeError as cause:
        raise InvalidJson("invalid UTF-8", cause.start) from None
    return parse_text(text)


def parse_text(text: str) -> Any:
    """The value of a JSON text that is already decoded; see `parse`."""
    if text.count("[") + text.count("{") > MAX_DEPTH:
        _check_depth(text)
    try:
        value = _decode(text)
    except json.JSONDecodeError as cause:
        raise InvalidJson(cause.msg, cause.pos) from None
    except InvalidJson:
        raise
    except ValueError:  # an integer of thousands of digits
        raise InvalidJson("number out of range") from None
    if SURROGATE_ESCAPE.search(text):
        _check_surrogates(value)
    return value


def dump(value: object) -> bytes:
    """Compact UTF-8 JSON.

    Raises `TypeError` or `ValueError` for values without a JSON form: other types, NaN, lone surrogates,
    cycles.
    """
    text = to_json(value, inf_nan_mode="constants")
    if b"NaN" in text or b"Infinity" in text:  # inside a string, or `_encode` raises
        return _encode(value).encode()
    return text


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise InvalidJson("duplicate key")
    return value


def _constant(name: str) -> NoReturn:
    raise InvalidJson(f"{name} is not JSON")


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise InvalidJson("number out of range")
    return number


_decode = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_constant, parse_float=_finite).decode


def _check_depth(text: str) -> None:
    depth = 0
    for character in re.sub(r"[^\[\]{}]", "", STRING.sub("", text)):
        depth += 1 if character in "[{" else -1
        if depth > MAX_DEPTH:
            raise InvalidJson(f"nested deeper than {MAX_DEPTH}")


def _check_surrogates(value: object) -> None:
    try:
        _encode(value).encode()
    except UnicodeEncodeError:
        raise InvalidJson("unpaired surrogate escape") from None
