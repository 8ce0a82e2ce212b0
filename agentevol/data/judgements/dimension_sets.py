"""Sets of dimensions: Sotopia's seven, those of a rubric for transcripts, and a user's own.

[{"name": "courtesy", "low": 0, "high": 10, "description": "How polite is the agent?"}]
"""

import json
from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import AfterValidator, Field, TypeAdapter, ValidationError, model_validator

from agentevol.core.errors import ConfigError, one_line
from agentgym_envs.core import Record
from agentgym_envs.sotopia.protocol.dimensions import SOTOPIA, Dimension

RUBRIC: Final = (
    Dimension("task understanding", 1, 10, "Does the agent do what the task asks for?"),
    Dimension("quality of reasoning", 1, 10, "Do the agent's actions follow from what it has observed?"),
    Dimension("efficiency", 1, 10, "Does the agent avoid actions that do not bring it nearer to the goal?"),
    Dimension("recovery from mistakes", 1, 10, "Does the agent notice failed actions, and try another way?"),
)
"""Dimensions of transcripts."""
TURN_RUBRIC: Final = (
    Dimension("relevance", 1, 10, "Does the action bear on the task and on what was observed before it?"),
    Dimension("correctness", 1, 10, "Is the action valid, and are its arguments and claims right?"),
    Dimension("progress", 1, 10, "Does the action bring the agent nearer to the goal?"),
)
"""Dimensions of single turns."""
NAMED: Final = {"sotopia": SOTOPIA, "rubric": RUBRIC}
MOST: Final = 32
"""Dimensions of a set."""


class DimensionRecord(Record):
    """Dimension with the range of its integer scores."""

    name: Annotated[str, Field(min_length=1, max_length=64, pattern=r"^\w([\w .-]*\w)?$")]
    low: Annotated[int, Field(ge=-1000, le=1000, strict=True)]
    high: Annotated[int, Field(ge=-1000, le=1000, strict=True)]
    description: Annotated[str, Field(max_length=8192)] = ""
    """Description of what is scored, for a judge that is a model."""

    @model_validator(mode="after")
    def _low_is_below_high(self) -> "DimensionRecord":
        if self.low >= self.high:
            raise ValueError(f"low {self.low} is not below high {self.high}")
        return self


def _distinct(given: tuple[DimensionRecord, ...]) -> tuple[DimensionRecord, ...]:
    names = [one.name for one in given]
    if doubled := [name for name in names if names.count(name) > 1]:
        raise ValueError(f"two dimensions are named {doubled[0]!r}")
    return given


_Own = Annotated[
    tuple[DimensionRecord, ...],
    Field(min_length=1, max_length=MOST, strict=False),  # a list in the body of a request
    AfterValidator(_distinct),
]
DimensionSet = Literal["sotopia", "rubric"] | _Own
"""A named set, or a user's own."""
_OWN: Final[TypeAdapter[tuple[DimensionRecord, ...]]] = TypeAdapter(_Own)


def dimensions_of(given: DimensionSet) -> tuple[Dimension, ...]:
    """Dimensions of a set in their order."""
    if isinstance(given, str):
        return NAMED[given]
    return tuple(Dimension(one.name, one.low, one.high, one.description) for one in given)


def read_dimensions(given: str) -> DimensionSet:
    """The set of this name, or that of a file of JSON. Raises `ConfigError`."""
    if given in NAMED:
        return "sotopia" if given == "sotopia" else "rubric"
    file = Path(given)
    if not file.is_file():
        raise ConfigError(f"no dimensions {given!r}: give {', '.join(NAMED)}, or a file of JSON")
    try:
        return _OWN.validate_python(json.loads(file.read_text(encoding="utf-8")))
    except ValidationError as cause:
        first = cause.errors()[0]
        place = ".".join(map(str, first["loc"])) or "dimensions"
        raise ConfigError(f"{file}: {place}: {first['msg']}") from None
    except (ValueError, RecursionError) as cause:
        raise ConfigError(f"{file} is no JSON: {one_line(cause)}") from None
