"""Alternatives of the section `rollout`: schedules of exploration relative to training, by `rollout.mode`.

rollout.mode = "synchronous"    a round is explored, then trained on
rollout.mode = "one_step_off"   a round is explored during the training on the one before
rollout.mode = "asynchronous"   exploration never pauses; its lead is bounded by `rollout.max_staleness`
"""

from typing import Annotated, Literal

from pydantic import Field, Tag

from agentevol.config.sections.alternatives import tagged_by
from agentevol.config.sections.section import Section
from agentevol.core.protocols import InFlightRule


class RolloutSection(Section):
    """Properties of every schedule."""

    @property
    def rounds_ahead(self) -> int:
        """Maximum number of rounds under way beyond the one in training."""
        return 0

    @property
    def in_flight_rule(self) -> InFlightRule:
        """Handling of episodes under way during a weight update, of which most schedules have none."""
        return "continue"


class SynchronousConfig(RolloutSection):
    """Exploration and training in turns."""

    mode: Literal["synchronous"] = "synchronous"


class OneStepOffConfig(RolloutSection):
    """Exploration of a round during the training on the previous one, with the weights before that update."""

    mode: Literal["one_step_off"] = "one_step_off"

    @property
    def rounds_ahead(self) -> int:
        """Maximum number of rounds under way beyond the one in training."""
        return 1


class AsynchronousConfig(RolloutSection):
    """Exploration of up to `max_staleness` rounds beyond the one in training, without a pause for new
    weights.
    """

    mode: Literal["asynchronous"] = "asynchronous"
    max_staleness: int = Field(default=2, ge=1, le=64)
    """Maximum number of updates between the weights that sampled a turn and those that begin to train on
    it.
    """
    in_flight: InFlightRule = "continue"
    """Handling of episodes under way when the weights change. They continue with the new weights from their
    next turn on; they end first, and no other begins; they are aborted and played again.
    """

    @property
    def rounds_ahead(self) -> int:
        """Maximum number of rounds under way beyond the one in training."""
        return self.max_staleness

    @property
    def in_flight_rule(self) -> InFlightRule:
        """Handling of episodes under way during a weight update."""
        return self.in_flight


RolloutConfig = Annotated[
    Annotated[SynchronousConfig, Tag("synchronous")]
    | Annotated[OneStepOffConfig, Tag("one_step_off")]
    | Annotated[AsynchronousConfig, Tag("asynchronous")],
    tagged_by("mode", "synchronous", "one_step_off", "asynchronous"),
]
"""The schedule of exploration relative to training."""
