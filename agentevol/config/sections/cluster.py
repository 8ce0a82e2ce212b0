"""Configuration of the processes on Ray: `RayConfig`."""

from pydantic import Field, model_validator

from agentevol.config.sections.section import Section


class RayConfig(Section):
    """Placement of the processes on Ray."""

    address: str | None = None
    """None starts Ray on this machine; `auto` or an address joins a cluster that this machine belongs to."""
    cpus: int | None = Field(default=None, ge=1)
    """Number of processors of a Ray started here; None lets Ray count."""
    environment_labels: dict[str, str] = Field(default_factory=dict[str, str])
    """With `address`: labels of the nodes of which one hosts the environment server (`ray start --labels
    role=worlds`). Without any it is on the machine that starts the run.
    """
    max_replacements: int = Field(default=5, ge=0)
    """Maximum replacements of one worker or learner without an episode finished, or a new training step
    taken; then the run stops.
    """
    start_timeout_s: float = Field(default=1800.0, gt=0)
    """Seconds after which a worker that has not started counts as lost."""

    @model_validator(mode="after")
    def _joins_or_starts(self) -> "RayConfig":
        if self.address is not None and self.cpus is not None:
            raise ValueError("cpus has no effect with address: a cluster knows its processors")
        if self.environment_labels and self.address is None:
            raise ValueError("environment_labels has no effect without address: there is one machine")
        if self.address is not None and self.address.startswith("ray://"):
            raise ValueError("address: begin the run on a node of the cluster, with ray.address = 'auto'")
        return self
