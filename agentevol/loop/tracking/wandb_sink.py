"""Weights & Biases, online or offline as `WANDB_MODE` says; the project is `WANDB_PROJECT`."""

import os

from agentevol.core.errors import ConfigError
from agentevol.core.summaries import IterationSummary
from agentevol.loop.tracking.scalars import scalars
from agentevol.loop.tracking.sinks import TrackedRun

PROJECT = "agentevol"


class WeightsAndBiases:
    """Sink that logs to a run of W&B, which a resumed run continues.

    Only metrics and settings are sent: neither code, nor what the terminal shows, nor facts of the machine.
    """

    def __init__(self, run: TrackedRun) -> None:
        import wandb  # pyright: ignore[reportMissingImports]

        offline = os.environ.get("WANDB_MODE") in ("offline", "dryrun", "disabled")
        if not offline and not wandb.login(prompt=False):  # it would ask at the terminal, in a thread
            raise ConfigError("W&B has no key: set WANDB_API_KEY, or WANDB_MODE=offline")
        self._run = wandb.init(
            project=os.environ.get("WANDB_PROJECT", PROJECT),
            name=run.name,
            id=run.id,
            resume="allow",
            dir=str(run.folder),
            config=dict(run.config),
            settings=wandb.Settings(
                console="off",
                silent=True,
                disable_code=True,
                disable_git=True,
                save_code=False,
                x_disable_meta=True,
                x_disable_stats=True,
                x_disable_machine_info=True,
                x_save_requirements=False,
            ),
        )

    def log(self, summary: IterationSummary) -> None:
        """Hand the metrics of an iteration to W&B's own process, which sends them."""
        self._run.log(dict(scalars(summary)), step=summary.iteration)

    def close(self) -> None:
        """Have everything sent."""
        self._run.finish()
