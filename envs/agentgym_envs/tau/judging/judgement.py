"""Dialogue of an episode, and what a judge says about it: `Line`, `Judgement`."""

from typing import Any, Literal, NamedTuple

from pydantic import Field, StrictBool

from agentgym_envs.core import Record


class Line(NamedTuple):
    """Text of a dialogue, and where it comes from."""

    speaker: Literal["agent", "customer", "tools", "ticket"]
    """`tools`: what calls of the agent returned; `ticket`: the task, where there is no customer."""
    text: str


class StatementVerdict(Record):
    """Whether one statement holds, and why."""

    reason: str
    holds: StrictBool


class Judgement(Record):
    """Verdicts on a task's statements, in their order."""

    verdicts: tuple[StatementVerdict, ...] = Field(min_length=1)
    figures: dict[str, Any]
    """Model, requests, tokens and latency."""

    @property
    def holds(self) -> bool:
        """True if all statements hold."""
        return all(one.holds for one in self.verdicts)

    def told(self) -> dict[str, Any]:
        """The judgement as JSON values, without the statements: they belong to the solution."""
        return {**self.figures, "verdicts": [one.model_dump() for one in self.verdicts]}
