"""Models of request bodies, and the messages for invalid ones.

A member with a default may be absent; null is a value of its own, and valid for `seed` alone.
"""

from typing import Annotated, Any, Literal, NamedTuple, TypeVar, cast

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    GetCoreSchemaHandler,
    Tag,
    ValidationError,
)
from pydantic_core import CoreSchema, ErrorDetails, PydanticCustomError

from agentgym_envs.formats import FORMATS
from agentgym_server.wire.problems import Problem, clipped

MAX_ERRORS = 16


class _NotNull:
    """Marker of a type `T | None` whose None stands for an absent member: null is invalid."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """The schema of `T` alone; defaults are not validated."""
        nullable = handler(source)
        assert nullable["type"] == "nullable"
        return nullable["schema"]


def _drop_default(schema: dict[str, Any]) -> None:
    del schema["default"]


def absent() -> Any:
    """The default of an `Omittable` member: None, which the JSON schema does not show."""
    return Field(default=None, json_schema_extra=_drop_default)


def _known_format(name: str) -> str:
    if name not in FORMATS:
        raise PydanticCustomError("unknown_format", "must be one of: {known}", {"known": ", ".join(FORMATS)})
    return name


ValueT = TypeVar("ValueT")
Omittable = Annotated[ValueT | None, _NotNull()]
"""A member that may be absent, but not null."""
LabelText = Annotated[str, Field(max_length=128)]
Labels = Annotated[dict[LabelText, LabelText], Field(max_length=16)]
LeaseSeconds = Annotated[float, Field(ge=1, le=86400)]
Format = Annotated[str, AfterValidator(_known_format), Field(json_schema_extra={"enum": [*FORMATS]})]


class Body(BaseModel):
    """A request's body: strict types, unknown fields are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, use_attribute_docstrings=True)


class TextAction(Body):
    """A clean environment action."""

    type: Literal["text"]
    text: str


class ToolCall(Body):
    """A call of one of the environment's tools."""

    type: Literal["tool_call"]
    name: str
    arguments: dict[str, Any]


class Completion(Body):
    """Raw model output, parsed by the session's format."""

    type: Literal["completion"]
    text: str


def _action_tag(value: object) -> str | None:
    if isinstance(value, str):
        return "string"
    if isinstance(value, dict):
        kind = cast("dict[str, object]", value).get("type")
        return kind if isinstance(kind, str) else None
    return None


Action = Annotated[
    Annotated[str, Tag("string")]
    | Annotated[TextAction, Tag("text")]
    | Annotated[ToolCall, Tag("tool_call")]
    | Annotated[Completion, Tag("completion")],
    Discriminator(_action_tag),
]


class CreateRequest(Body):
    """Begin an episode of a task."""

    task_id: Annotated[str, Field(json_schema_extra={"minLength": 1, "maxLength": 256})]
    """One of the environment's tasks; anything else is not found."""
    seed: Annotated[int, Field(ge=0, le=2**53 - 1)] | None = None
    """None: the server draws one."""
    max_turns: Omittable[Annotated[int, Field(ge=1, le=10000)]] = absent()
    lease_ttl_s: Omittable[LeaseSeconds] = absent()
    format: Omittable[Format] = absent()
    """Name of the action format of `completion` actions."""
    seats: Omittable[Annotated[int, Field(ge=2, le=64)]] = absent()
    """Number of seats of the environment: a session for each is created. Absent: one agent plays."""
    labels: Labels = {}


class StepRequest(Body):
    """Play one action as a numbered turn."""

    turn: Annotated[int, Field(ge=1, le=2**31 - 1)]
    action: Action
    deadline_s: Omittable[Annotated[float, Field(gt=0)]] = absent()
    """Shortens the step's deadline."""


class Step(NamedTuple):
    """Parsed step request."""

    turn: int
    action: str | dict[str, Any]
    deadline_s: float | None = None


def step_request(body: object) -> Step:
    """The body of a step; raises the problem `validation`.

    Almost every one is a turn and a string, which is checked without a model.
    """
    members = cast("dict[str, Any]", body) if isinstance(body, dict) else {}
    turn, action = members.get("turn"), members.get("action")
    if len(members) == 2 and type(turn) is int and 0 < turn < 2**31 and type(action) is str:
        return Step(turn, action)
    request = validated(StepRequest, cast("object", body))
    return Step(request.turn, members["action"], request.deadline_s)


class ForkRequest(Body):
    """Branch a session; without `at_turn`, at its current turn."""

    at_turn: Omittable[Annotated[int, Field(ge=0, le=2**31 - 1)]] = absent()
    lease_ttl_s: Omittable[LeaseSeconds] = absent()
    labels: Omittable[Labels] = absent()
    """Absent: the parent's."""


class LeaseRequest(Body):
    """Renew a lease."""

    lease_ttl_s: Omittable[LeaseSeconds] = absent()


class BatchRequest(Body):
    """Operations to carry out: items of different sessions concurrently, of one session in order."""

    items: list[Any]


BodyT = TypeVar("BodyT", bound=Body)


def validated(model: type[BodyT], body: object) -> BodyT:
    """The body as its model; raises the problem `validation`."""
    try:
        return model.model_validate(body)
    except ValidationError as cause:
        errors = cause.errors(include_url=False, include_context=True, include_input=False)
        raise invalid(*((pointer(error, body), message(error)) for error in errors[:MAX_ERRORS])) from None


def invalid(*errors: tuple[str, str]) -> Problem:
    """The problem `validation` of these (JSON pointer, message) pairs."""
    rows = [{"path": clipped(path), "message": clipped(text)} for path, text in errors]
    detail = "; ".join(f"{row['path'] or '/'} {row['message']}" for row in rows)
    return Problem("validation", clipped(detail), errors=rows)


def pointer(error: ErrorDetails, body: object) -> str:
    """The JSON pointer of an error: the parts of its location that the body has or lacks."""
    location = error["loc"]
    if location[:1] == ("action",):  # the next part is the kind of action that it was validated as
        location = (*location[:1], *location[2:])
    parts: list[str] = []
    value: Any = body
    for position, part in enumerate(location):
        last = position == len(location) - 1
        if _holds(value, part):
            parts.append(str(part))
            value = value[part]
        elif last and error["type"] == "missing":
            parts.append(str(part))
    return "".join("/" + part.replace("~", "~0").replace("/", "~1") for part in parts)


def _holds(value: Any, part: str | int) -> bool:
    if isinstance(value, dict):
        return part in value
    return isinstance(value, list) and isinstance(part, int) and part < len(cast("list[Any]", value))


LIMITS = ("max_length", "gt", "ge", "le")
MESSAGES = {
    "missing": "is required",
    "extra_forbidden": "unknown field",
    "int_type": "must be an integer",
    "string_type": "must be a string",
    "float_type": "must be a number",
    "dict_type": "must be an object",
    "list_type": "must be an array",
    "model_type": "must be an object",
    "model_attributes_type": "must be an object",
    "string_too_long": "must have at most {max_length} characters",
    "too_long": "must have at most {max_length} members",
    "greater_than": "must be greater than {gt}",
    "greater_than_equal": "must be at least {ge}",
    "less_than_equal": "must be at most {le}",
    "union_tag_invalid": "must be a string, or an object whose type is text, tool_call or completion",
    "union_tag_not_found": "must be a string, or an object whose type is text, tool_call or completion",
}


def message(error: ErrorDetails) -> str:
    """Short description of an error."""
    template = MESSAGES.get(error["type"])
    if template is None:
        return error["msg"]
    limits = {name: f"{limit:.15g}" for name, limit in error.get("ctx", {}).items() if name in LIMITS}
    return template.format(**limits)
