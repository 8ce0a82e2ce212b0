"""Play of a checkpoint on held-out tasks: beside the environment's partner, and in all seats."""

import asyncio
import tempfile
import zlib
from collections.abc import Sequence
from pathlib import Path

from agentevol.cli.benchmarks.aml.arms import SELF_PLAY
from agentevol.cli.benchmarks.aml.figures import PlayFigures, counted
from agentevol.config.run import RunConfig
from agentevol.core.action_formats.registry import action_format
from agentevol.core.protocols import Checkpoint, RolloutEngine
from agentevol.core.splits import spread
from agentevol.rollout.concurrent_episodes import play_all
from agentevol.rollout.engine_factory import start_engine
from agentevol.rollout.environment_server import EnvironmentServer
from agentevol.rollout.episode import EpisodeRequest
from agentevol.rollout.tasks import EnvTask, list_seats, list_tasks
from agentgym_client import EnvClient
from agentgym_store.records import Trajectory

SLOTS = 48


def has_seats(config: RunConfig) -> bool:
    """Whether episodes of the environment have several seats."""
    with tempfile.TemporaryDirectory(prefix="agentevol-") as folder, _server(config, folder) as server:
        return len(list_seats(server.url, config.environment.name)) > 1


def figures_of(checkpoint: Checkpoint, config: RunConfig, play: str, episodes: int, seed: int) -> PlayFigures:
    """Figures of a checkpoint on `episodes` tasks of the run's held-out split, at its temperature."""
    environment = config.environment
    own = play == "self"
    options = {**environment.options, **(SELF_PLAY.get(environment.name, {}) if own else {})}
    config = config.model_copy(
        update={
            "environment": environment.model_copy(
                update={"options": options, "seats": None if own else environment.seats}
            )
        }
    )
    engine = start_engine(config.engine, checkpoint, updates=False, all_threads=False)
    try:
        with tempfile.TemporaryDirectory(prefix="agentevol-") as folder, _server(config, folder) as server:
            seats = len(list_seats(server.url, environment.name)) if own else 1
            split = config.evaluate_split
            tasks = list_tasks(
                server.url, environment.name, split, config.evaluate.difficulty, spread(episodes)
            )
            requests = [_request(config, task, number, seats, seed) for number, task in enumerate(tasks)]
            return counted(asyncio.run(_played(engine, config, server.url, requests)))
    finally:
        engine.close()


def _server(config: RunConfig, folder: str) -> EnvironmentServer:
    return EnvironmentServer(config.environment, Path(folder) / "server.log")


async def _played(
    engine: RolloutEngine, config: RunConfig, url: str, requests: Sequence[EpisodeRequest]
) -> list[Trajectory]:
    policy, form = engine.serve(config.evaluate_sampling), action_format(config.environment.format)
    async with EnvClient(url) as client:
        return [one async for one in play_all(client, policy, requests, form, concurrency=SLOTS)]


def _request(config: RunConfig, task: EnvTask, number: int, seats: int, seed: int) -> EpisodeRequest:
    identity = f"bench/{number}/{task.task_id}"
    return EpisodeRequest(
        id=identity,
        run="bench",
        iteration=0,
        purpose="evaluate",
        env=config.environment.name,
        task_id=task.task_id,
        split=task.split,
        kind=task.kind,
        difficulty=task.difficulty,
        instruction=task.instruction,
        seed=zlib.crc32(f"{seed}/{identity}".encode()) >> 1,
        attempt=0,
        max_turns=config.environment.max_turns,
        seats=seats,
    )
