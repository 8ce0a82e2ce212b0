"""Two agents of `social` over the server: record by record what they are in process, in every family."""

import asyncio
from random import Random
from typing import Any

import httpx
import pytest

from agentgym_client import EnvClient, Session
from agentgym_envs.core import StepResult
from agentgym_envs.social import Social, SocialTask
from agentgym_envs.social.families import FAMILIES
from agentgym_server import create_app

Record = tuple[str, float, bool, bool, Any]
Actions = dict[str, list[str]]


def in_process(task: SocialTask, seed: int) -> tuple[Actions, dict[str, list[Record]]]:
    """Random moves of both seats, and what each observes; the first reply and every fourth are small talk."""
    world, draws = Social(), Random(task.id)
    shown = world.reset_seats(task, seed)
    actions: Actions = {seat: [] for seat in world.seats}
    seen: dict[str, list[Record]] = {seat: [] for seat in world.seats}
    acting = {seat: StepResult(observation=one) for seat, one in shown.items()}
    while True:
        for seat, result in acting.items():
            record = result.observation.text, result.reward, result.terminated, result.truncated
            seen[seat].append((*record, result.info.get("dimensions")))
        if any(result.terminated or result.truncated for result in acting.values()):
            return actions, seen
        (seat,) = acting
        move = task.family.random_move(task.setting, world.seats.index(seat), draws)
        # A greeting first: a seat that never acts has no step whose result could be compared.
        is_move = actions[seat] and draws.random() < 0.75
        actions[seat].append(move if is_move else "Well, well.")
        acting = world.step_seats({seat: actions[seat][-1]})


async def served(session: Session, actions: list[str]) -> list[Record]:
    text = (await session.await_turn()).text
    seen: list[Record] = [(text, 0.0, False, False, None)]
    for action in actions:
        result = await session.step(action)
        record = result.observation.text, result.reward, result.terminated, result.truncated
        seen.append((*record, result.info.get("dimensions")))
    await session.close()
    return seen


@pytest.mark.parametrize("family", FAMILIES)
async def test_seats_over_the_server_equal_seats_in_process(family: str) -> None:
    async with EnvClient(
        "http://localhost", transport=httpx.ASGITransport(create_app({"social": Social}))
    ) as client:
        for number in range(3):
            task = Social().task(f"test/{family}/2/{number}")
            actions, seen = in_process(task, number)
            first, second = await client.open_seats("social", task.id, seed=number)
            both = await asyncio.gather(served(first, actions["first"]), served(second, actions["second"]))
            assert dict(zip(("first", "second"), both, strict=True)) == seen
            assert (
                sum(record[4] is not None for records in both for record in records) == 2
            )  # both are scored
