"""What callers may send beside chat completions: one model per body."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from agentevol.service.episodes import Outcome
from agentevol.service.refusals import invalid
from agentgym_server.requests import Body, LabelText
from agentgym_store.records import Cancelled, Failed, Terminated, Truncated

Name = Annotated[str, Field(min_length=1, max_length=256, pattern=r"^[^\x00-\x1f\x7f]+$")]


class SessionBody(Body):
    """Begin an episode."""

    task_id: Name
    env: Name = "external"
    """The name of an environment, or whatever tells kinds of tasks apart."""
    instruction: Annotated[str, Field(max_length=65536)] = ""
    group: Name | None = None
    """Episodes of equal group are compared with each other; None: those of a task and version of weights."""
    seed: Annotated[int, Field(ge=0, le=2**53 - 1)] | None = None
    """What every call of the episode draws from; None: one is drawn."""
    metadata: Annotated[dict[LabelText, LabelText], Field(default_factory=dict, max_length=16)]
    lease_ttl_s: Annotated[float, Field(ge=1, le=86400)] | None = None


class RewardBody(Body):
    """Give a reply its reward."""

    reward: Annotated[float, Field(allow_inf_nan=False)]
    call: Annotated[int, Field(ge=1)] | Name | None = None
    """The number of a call, or the id of its completion; None is the last one."""
    choice: Annotated[int, Field(ge=0)] | None = None
    """Of several; None is the one that the conversation went on from, or the first."""


class EndBody(Body):
    """End an episode."""

    outcome: Literal["terminated", "truncated", "cancelled", "failed"]
    limit: Name | None = None
    """For `truncated`: which limit, for example `max_turns`."""
    kind: Name | None = None
    """For `failed`: what broke, for example `tool-timeout`."""
    detail: Annotated[str, Field(max_length=2000)] = ""
    """For `failed`."""
    success: bool | None = None
    """In place of rewards: 1 or 0 for the last call."""

    @model_validator(mode="after")
    def _members_fit(self) -> "EndBody":
        if (self.limit is not None) != (self.outcome == "truncated"):
            raise ValueError("limit goes with truncated, and is required there")
        if (self.kind is not None) != (self.outcome == "failed"):
            raise ValueError("kind goes with failed, and is required there")
        if self.detail and self.outcome != "failed":
            raise ValueError("detail goes with failed")
        return self

    def said(self) -> Outcome:
        """The outcome."""
        if self.outcome == "truncated" and self.limit is not None:
            return Outcome(Truncated(limit=self.limit), self.success)
        if self.outcome == "failed" and self.kind is not None:
            return Outcome(Failed(failure=self.kind, detail=self.detail), self.success)
        return Outcome(Terminated() if self.outcome == "terminated" else Cancelled(), self.success)


class UpdateBody(Body):
    """Replace the weights."""

    model: Annotated[str, Field(min_length=1, max_length=4096)]
    """A folder on the machine of the service, or whatever `agentevol serve` takes."""

    def checked(self) -> str:
        """The model; raises `Refusal` for what no path holds."""
        if "\x00" in self.model:
            raise invalid("a path has no NUL", "model")
        return self.model
