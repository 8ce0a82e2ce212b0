"""Progress messages of benchmarks, on standard error: standard output has their tables."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

    from agentevol.config.run import RunConfig
    from agentevol.core.summaries import RunSummary


def say(text: str) -> None:
    """Print the current measurement."""
    sys.stderr.write(f"measuring {text}\n")
    sys.stderr.flush()


def console() -> "Console":
    """Console of a training."""
    from rich.console import Console

    return Console(stderr=True, highlight=False)


def run_on_stderr(config: "RunConfig", out: Path) -> "RunSummary":
    """Run in the new folder `out`, as `agentevol.runs.lifecycle.run`."""
    from agentevol.runs import lifecycle

    return lifecycle.run(config, out=out, console=console())
