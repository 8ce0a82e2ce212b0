"""Contract of an importer: `Importer`, and what it reads, `Draft`.

    class Greetings(Importer):
        name = "greetings"
        summary = "Lines with a greeting each."

        def recognises(self, record):
            return isinstance(record, dict) and "greeting" in record

        def episode(self, record):
            return Draft(opening="Say something.", turns=(DraftTurn(record["greeting"]),), reward=1.0)

A record that is no episode raises `Refusal`: it is counted by its reason, and the import goes on.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, TypeVar, cast

from pydantic import BaseModel, ConfigDict, ValidationError

from agentgym_store.imports.reading import Refusal, records
from agentgym_store.records import Ending, Trajectory

ShapeT = TypeVar("ShapeT", bound=BaseModel)

NO_OBJECT = "not a JSON object"


class Shape(BaseModel):
    """A part of a foreign record; what is not named here is not read, and numbers are finite."""

    model_config = ConfigDict(frozen=True, extra="ignore", populate_by_name=True, allow_inf_nan=False)


@dataclass(frozen=True)
class DraftTurn:
    """A message of the agent, and what it was answered."""

    message: str
    observation: str = ""
    reward: float | None = None
    """None where only the return is known."""
    is_learnt: bool = True
    info: dict[str, object] = field(default_factory=dict[str, object])


@dataclass(frozen=True)
class Draft:
    """An episode as a record tells it; None is what the record does not tell."""

    opening: str
    """Text that the agent read before its first message."""
    turns: tuple[DraftTurn, ...]
    id: str | None = None
    env: str | None = None
    env_version: str | None = None
    data_version: str | None = None
    task_id: str | None = None
    split: str | None = None
    kind: str | None = None
    seed: int | None = None
    policy: str | None = None
    instruction: str = ""
    reward: float | None = None
    """The return."""
    ending: Ending | None = None
    given_turns: int = 0
    notes: tuple[str, ...] = ()
    """Omissions and assumptions, a phrase each; they are counted."""


class Importer(ABC):
    """A reader of one format. Instances have no state."""

    name: ClassVar[str]
    summary: ClassVar[str]
    """Description of a record in one sentence."""
    lossless: ClassVar[bool] = False
    """True if records are whole episodes, for which nothing is to be supplied."""

    @abstractmethod
    def recognises(self, record: Any) -> bool:
        """True if the first record of a file is in this format: a JSON value, or the text of a file that is
        not JSON.
        """

    @abstractmethod
    def episode(self, record: Any) -> Draft | Trajectory:
        """The episode of a record. Raises `Refusal`."""

    def records(self, path: Path) -> Iterator[tuple[str, Any]]:
        """Records of a file, each with its place; a `Refusal` in place of one that cannot be read."""
        return records(path)

    def episodes(self, path: Path) -> Iterator[tuple[str, "Draft | Trajectory | Refusal"]]:
        """Episodes of a file, each with its place; a `Refusal` in place of a record that is none."""
        for place, record in self.records(path):
            if isinstance(record, Refusal):
                yield place, record
                continue
            try:
                yield place, self.episode(record)
            except Refusal as refusal:
                yield place, refusal


def members(record: Any) -> Mapping[str, Any]:
    """The members of a JSON object; none of any other value."""
    return cast("Mapping[str, Any]", record) if isinstance(record, dict) else {}


def validated(shape: type[ShapeT], record: Any) -> ShapeT:
    """A part of a record, checked. Raises `Refusal`, whose reason names the member without its numbers."""
    try:
        return shape.model_validate(record)
    except ValidationError as cause:
        raise refusal_of(cause) from cause


def refusal_of(cause: ValidationError) -> Refusal:
    """The refusal of a record for its first error: `turns.N.reward: Input should be a valid number`."""
    error = cause.errors(include_url=False, include_input=False)[0]
    if not error["loc"] and error["type"] == "model_type":
        return Refusal(NO_OBJECT)
    exact = ".".join(str(part) for part in error["loc"])
    general = ".".join("N" if isinstance(part, int) else str(part) for part in error["loc"])
    return Refusal(f"{general or 'record'}: {error['msg']}"[:200], exact)
