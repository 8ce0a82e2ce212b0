"""Records: passages and questions."""

from pydantic import Field

from agentgym_envs.core import Record


class SearchQAError(ValueError):
    """Passages or questions that cannot be used; one line."""


class Passage(Record):
    """Passage of a corpus."""

    title: str = Field(min_length=1)
    text: str


class SearchQuestion(Record):
    """Question with its answers."""

    id: str = Field(min_length=1, max_length=200)
    split: str = Field(pattern=r"^[a-z][a-z0-9_-]{0,30}$")
    question: str = Field(min_length=1)
    answers: tuple[str, ...] = Field(min_length=1)
    """Texts that are right."""
    evidence: tuple[str, ...] = ()
    """Titles of the passages that the answer follows from, hop by hop, where they are known."""
    kind: str = ""
    """Data set, or the relation that a generated question asks for."""
    difficulty: str = ""
    """Number of hops, or the data set's own level."""
