"""Play of a checkpoint on held-out tasks, as `agentevol eval` does: beside the environment's partner, and in
all seats.
"""

import tempfile
from pathlib import Path

from agentevol.cli.benchmarks.aml.arms import SELF_PLAY
from agentevol.cli.benchmarks.aml.figures import PlayFigures, counted
from agentevol.config.run import RunConfig
from agentevol.core.protocols import Checkpoint
from agentevol.rollout.engine_factory import start_engine
from agentevol.rollout.environment_server import EnvironmentServer
from agentevol.rollout.tasks import list_seats
from agentevol.runs.evaluation import Report, trial
from agentevol.runs.seating import SELF


def has_seats(config: RunConfig) -> bool:
    """Whether episodes of the environment have several seats."""
    with (
        tempfile.TemporaryDirectory(prefix="agentevol-") as folder,
        EnvironmentServer(config.environment, Path(folder) / "server.log") as server,
    ):
        return len(list_seats(server.url, config.environment.name)) > 1


def figures_of(checkpoint: Checkpoint, config: RunConfig, play: str, episodes: int, seed: int) -> PlayFigures:
    """Figures of a checkpoint on `episodes` tasks of the run's held-out split, at its temperature."""
    own, environment = play == SELF, config.environment
    options = {**environment.options, **(SELF_PLAY.get(environment.name, {}) if own else {})}
    engine = start_engine(config.engine, checkpoint, updates=False, all_threads=False)
    try:
        played = trial(
            engine.serve(config.evaluate_sampling),
            environment.model_copy(update={"options": options, "seats": None if own else environment.seats}),
            config.evaluate_split,
            difficulty=config.evaluate.difficulty,
            episodes=episodes,
            temperature=config.evaluate_sampling.temperature,
            seed=seed,
            started=_unreported,
        )
    finally:
        engine.close()
    return counted(played.episodes)


def _unreported(_: int) -> Report:
    return lambda _: None
