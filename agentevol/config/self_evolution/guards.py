"""Settings of guards against the collapse of a policy that learns from its own episodes."""

from typing import Literal

from agentevol.config.sections.section import Section


class GuardsConfig(Section):
    """Guards: figures of explored episodes, compared with those of iteration 1."""

    collapse: Literal["warn", "stop", "off"] = "warn"
    """Consequence where distinct episodes of a task, action entropy or length are below half of iteration 1's
    for two iterations in a row: a warning, a stop of the run, or nothing.
    """
