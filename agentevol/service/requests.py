"""Models of request bodies other than chat completions."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from agentevol.service.errors import invalid
from agentevol.service.sessions.trajectory import Outcome
from agentgym_server.wire.requests import Body, LabelText
from agentgym_store.records import Cancelled, Failed, Terminated, Truncated

Name = Annotated[str, Field(min_length=1, max_length=256, pattern=r"^[^\x00-\x1f\x7f]+$")]


class SessionBody(Body):
    """Start an episode."""

    task_id: Name
    env: Name = "external"
    """Name of the environment, or any name that separates kinds of tasks."""
    instruction: Annotated[str, Field(max_length=65536)] = ""
    group: Name | None = None
    """Episodes of equal group are compared with each other; None: those of the same task and policy
    version.
    """
    seed: Annotated[int, Field(ge=0, le=2**53 - 1)] | None = None
    """Seed of every call of the episode; None: a random one."""
    metadata: Annotated[dict[LabelText, LabelText], Field(default_factory=dict, max_length=16)]
    lease_ttl_s: Annotated[float, Field(ge=1, le=86400)] | None = None


class RewardBody(Body):
    """Set the reward of a reply."""

    reward: Annotated[float, Field(allow_inf_nan=False)]
    call: Annotated[int, Field(ge=1)] | Name | None = None
    """Number of a call, or id of its completion; None is the last one."""
    choice: Annotated[int, Field(ge=0)] | None = None
    """Index among several choices; None is the one that the conversation continues, or the first."""


class EndBody(Body):
    """End an episode."""

    outcome: Literal["terminated", "truncated", "cancelled", "failed"]
    limit: Name | None = None
    """For `truncated`: the name of the limit, for example `max_turns`."""
    kind: Name | None = None
    """For `failed`: the kind of failure, for example `tool-timeout`."""
    detail: Annotated[str, Field(max_length=2000)] = ""
    """For `failed`."""
    success: bool | None = None
    """Replaces rewards: 1 or 0 for the last call."""

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
    """Replace the weights of the policy."""

    model: Annotated[str, Field(min_length=1, max_length=4096)]
    """Folder on the machine of the service, or any other model that `agentevol serve` accepts."""

    def checked(self) -> str:
        """The model; raises `Refusal` for a value that no path can have."""
        if "\x00" in self.model:
            raise invalid("a path has no NUL", "model")
        return self.model
