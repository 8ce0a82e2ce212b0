"""Typed access to the fields of a request, with FastAPI's error messages (without the input).

{"detail": [{"type": "missing", "loc": ["body", "id"], "msg": "Field required"}]}
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeVar, cast

from pydantic import Field, TypeAdapter, ValidationError

from agentgym_server.wire import strict_json

FieldT = TypeVar("FieldT")
Place = Literal["body", "query"]

INTEGER = TypeAdapter(int)
SEED = TypeAdapter[int](Annotated[int, Field(ge=0, le=2**53 - 1)])
TEXT = TypeAdapter(str)


class Unfit(Exception):
    """Request with wrong, missing or unreadable fields: status 422."""

    def __init__(self, errors: list[dict[str, Any]]) -> None:
        super().__init__(str(errors))
        self.errors = errors


class Fields:
    """Fields by name; unknown ones are ignored. Errors are collected until `check`."""

    def __init__(self, place: Place, values: Mapping[str, Any]) -> None:
        self._place: Place = place
        self._values = values
        self._errors: list[dict[str, Any]] = []

    def integer(self, *names: str, default: int | None = None) -> int:
        """The integer under the first of these names that is present; required without a default."""
        return self._read(INTEGER, names, default, 0)

    def given(self, *names: str) -> bool:
        """True if one of these is present and not null."""
        return any(self._has(name, null_counts=False) for name in names)

    def seed(self, name: str) -> int:
        """The seed of this name, which is required."""
        return self._read(SEED, (name,), None, 0)

    def text(self, name: str, default: str | None = None) -> str:
        """The string of this name; required without a default."""
        return self._read(TEXT, (name,), default, "")

    def check(self) -> None:
        """Raise `Unfit` if a field that was read is missing or of another type."""
        if self._errors:
            raise Unfit(self._errors)

    def _has(self, name: str, null_counts: bool) -> bool:
        """True if a field is present; null counts as absent where there is a default."""
        return name in self._values and (null_counts or self._values[name] is not None)

    def _read(
        self, kind: TypeAdapter[FieldT], names: tuple[str, ...], default: FieldT | None, stand_in: FieldT
    ) -> FieldT:
        name = next((name for name in names if self._has(name, null_counts=default is None)), None)
        if name is None:
            if default is None:
                self._errors.append(_missing(self._place, names[0]))
            return stand_in if default is None else default
        try:
            # a query holds text, so an integer is parsed from it
            return kind.validate_python(self._values[name], strict=self._place == "body")
        except ValidationError as cause:
            error = cause.errors(include_url=False, include_context=False, include_input=False)[0]
            self._errors.append({"type": error["type"], "loc": [self._place, name], "msg": error["msg"]})
            return stand_in


def body_fields(body: bytes) -> Fields:
    """The fields of a JSON object; raises `Unfit` for anything else."""
    if not body:
        raise Unfit([_missing("body")])
    try:
        value = strict_json.parse(body)
    except strict_json.InvalidJson as cause:
        location = ["body", cause.position or 0]
        error = {"type": "json_invalid", "loc": location, "msg": f"JSON decode error: {cause}"}
        raise Unfit([error]) from None
    if not isinstance(value, dict):
        message = "Input should be a valid dictionary or object to extract fields from"
        raise Unfit([{"type": "model_attributes_type", "loc": ["body"], "msg": message}])
    return Fields("body", cast("dict[str, Any]", value))


def _missing(*location: str) -> dict[str, Any]:
    return {"type": "missing", "loc": list(location), "msg": "Field required"}
