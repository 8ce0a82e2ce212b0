"""Base of all sections, and types of their settings."""

from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field


class Section(BaseModel):
    """A frozen part of the configuration whose unknown keys are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid")


def listed(value: object) -> object:
    """Names from `a,b` or `[a,b]`, as an override gives them without quotes; other values unchanged."""
    if not isinstance(value, str):
        return value
    return tuple(
        name.strip() for name in value.strip().removeprefix("[").removesuffix("]").split(",") if name.strip()
    )


Names = Annotated[tuple[str, ...], BeforeValidator(listed)]
"""Names, also in one text with commas."""
Level = Annotated[str, Field(coerce_numbers_to_str=True)]
"""Name of a difficulty, which may be a number."""
