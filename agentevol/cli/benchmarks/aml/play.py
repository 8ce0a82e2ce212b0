"""Play of a checkpoint on held-out tasks, as `agentevol eval` does: beside the environment's partner, in all
seats, and beside another model.
"""

import tempfile
from pathlib import Path

from agentevol.cli.benchmarks.aml.arms import MODEL, PARTNER, SELF_PLAY
from agentevol.cli.benchmarks.aml.figures import PlayFigures, counted
from agentevol.cli.benchmarks.play import play_tasks
from agentevol.config.run import RunConfig
from agentevol.core.action_formats.registry import action_format
from agentevol.core.protocols import Checkpoint
from agentevol.rollout.engine_factory import start_engine
from agentevol.rollout.environment_server import EnvironmentServer
from agentevol.rollout.tasks import list_seats
from agentevol.runs.players import PlayerSettings, player
from agentevol.runs.seating import Seating


def has_seats(config: RunConfig) -> bool:
    """Whether episodes of the environment have several seats."""
    with (
        tempfile.TemporaryDirectory(prefix="agentevol-") as folder,
        EnvironmentServer(config.environment, Path(folder) / "server.log") as server,
    ):
        return len(list_seats(server.url, config.environment.name)) > 1


def check_partner(seating: Seating, config: RunConfig) -> None:
    """Raise `ConfigError` now, and not after a training, for a partner that is not there."""
    if seating.model is not None:
        form = action_format(seating.partner_format or config.environment.format)
        player(seating.model, config.environment, form, PlayerSettings()).close()


def figures_of(
    checkpoint: Checkpoint, config: RunConfig, play: str, episodes: int, seed: int, seating: Seating
) -> PlayFigures:
    """Figures of a checkpoint on `episodes` tasks of the run's held-out split, at its temperature; `seating`
    is that of the play `model`, whose partner has the same temperature.
    """
    alone, environment = play == PARTNER, config.environment
    options = {**environment.options, **({} if alone else SELF_PLAY.get(environment.name, {}))}
    seats = environment.seats if alone else None
    engine = start_engine(config.engine, checkpoint, updates=False, all_threads=False)
    try:
        played = play_tasks(
            engine.serve(config.evaluate_sampling),
            environment.model_copy(update={"options": options, "seats": seats}),
            config.evaluate_split,
            episodes,
            seed=seed,
            temperature=config.evaluate_sampling.temperature,
            difficulty=config.evaluate.difficulty,
            seating=seating if play == MODEL else None,
        )
    finally:
        engine.close()
    return counted(played)
