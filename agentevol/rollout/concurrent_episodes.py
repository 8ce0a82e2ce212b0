"""Concurrent episodes of one policy, with any number of seats."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from itertools import chain, islice

from agentevol.core.protocols import Policy
from agentevol.rollout.episode import EpisodeRequest, play
from agentevol.rollout.seats import Episode, play_seats
from agentevol.rollout.session_forks import Forks
from agentgym_client import EnvClient
from agentgym_envs.formats import ActionFormat
from agentgym_store.records import Trajectory


async def play_episode(
    client: EnvClient,
    policy: Policy,
    request: EpisodeRequest,
    action_format: ActionFormat,
    forks: Forks | None = None,
    partner: Policy | None = None,
    partner_format: ActionFormat | None = None,
) -> Episode:
    """Play one episode to its ending; the trajectories of its seats. Raises nothing but `CancelledError`."""
    if request.seats == 1:
        return (await play(client, policy, request, action_format, forks),)
    return await play_seats(client, policy, request, action_format, partner, partner_format)


async def play_all(
    client: EnvClient,
    policy: Policy,
    requests: Sequence[EpisodeRequest],
    action_format: ActionFormat,
    *,
    concurrency: int,
    partner: Policy | None = None,
    partner_format: ActionFormat | None = None,
) -> AsyncIterator[Trajectory]:
    """Play all requests, at most `concurrency` at a time, and yield the trajectories of each episode as it
    ends. `partner` as in `play_seats`.
    """
    waiting = iter(requests)
    running: set[asyncio.Task[Episode]] = set()

    def start(request: EpisodeRequest) -> None:
        playing = play_episode(
            client, policy, request, action_format, partner=partner, partner_format=partner_format
        )
        running.add(asyncio.create_task(playing))

    for request in islice(waiting, concurrency):
        start(request)
    try:
        while running:
            done, _ = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
            running -= done
            for request in islice(waiting, len(done)):
                start(request)
            for trajectory in chain.from_iterable([task.result() for task in done]):
                yield trajectory
    finally:
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
