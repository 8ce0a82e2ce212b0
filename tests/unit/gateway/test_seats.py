"""Two seats of one episode through the gateway, in front of two servers of which one dies."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import httpx
import pytest
from support.server.environments import Duel, Echo
from support.server.gateway import House, WebSocket, home, slug

Json = dict[str, Any]
Ask = Callable[..., Awaitable[Json]]
"""Performs an operation; returns its result, or the problem document."""
LEFT = [("right: b", 0.125, False), ("right: stop", 0.25, True)]
RIGHT = [("left: c", 0.25, False), ("", 1.0, True)]
"""Replies of an episode in which left says a and c, right b and stop; right's first has the
0.125 that it got before."""


class Seated(House):
    """Gateway with two servers of duel and echo, with four slots each."""

    def __init__(self) -> None:
        super().__init__(partner_wait_s=20)
        for url, instance in (("http://a", 1), ("http://b", 2)):
            worlds = {"echo": Echo, "duel": Duel}
            self.machines.start(url, instance, worlds, max_sessions=4, partner_wait_s=20)


@pytest.fixture
async def house() -> AsyncIterator[Seated]:
    one = Seated()
    await one.look()
    yield one
    await one.http.aclose()


def over_rest(house: Seated) -> Ask:
    async def ask(op: str, **members: Any) -> Json:
        wait_s = members.pop("wait_s", None)
        headers = {} if wait_s is None else {"prefer": f"wait={wait_s}"}
        if op == "create":
            env = members.pop("env")
            reply = await house.http.post(f"/envs/{env}/sessions", json=members, headers=headers)
        elif op == "step":
            session = members.pop("session_id")
            reply = await house.http.post(f"/sessions/{session}/steps", json=members)
        else:
            reply = await house.http.get(f"/sessions/{members['session_id']}", headers=headers)
        return reply.json()

    return ask


def over_socket(house: Seated) -> Ask:
    connection: list[WebSocket] = []
    answers: dict[str, asyncio.Future[Json]] = {}

    async def hear() -> None:
        while True:
            frame = await connection[0].hear()
            answers[frame["id"]].set_result(frame["result"] if frame["ok"] else frame["problem"])

    async def ask(op: str, **members: Any) -> Json:
        if not connection:
            connection.append(await house.dial())
            tasks.append(asyncio.create_task(hear()))
        number = str(len(answers))
        answers[number] = asyncio.get_running_loop().create_future()
        await connection[0].send(json.dumps({"id": number, "op": op, **members}))
        return await answers[number]

    tasks: list[asyncio.Task[None]] = []
    return ask


def over_batches(house: Seated) -> Ask:
    async def ask(op: str, **members: Any) -> Json:
        """A step in a batch does not wait for a partner: it is repeated."""
        async with asyncio.timeout(20):
            while True:
                item = {"op": op, **members}
                reply = await house.http.post("/batch", json={"items": [item]})
                (result,) = reply.json()["results"]
                told = result["result"] if result["ok"] else result["problem"]
                waits = not result["ok"] and slug(told) == "partner-turn"
                if not waits and told.get("your_turn", True) | (told.get("state") != "open"):
                    return told
                await asyncio.sleep(0)

    return ask


LANES = pytest.mark.parametrize("lane", [over_rest, over_socket, over_batches])


async def sit(ask: Ask) -> tuple[str, str]:
    left = await ask("create", env="duel", task_id="train/0", seats=2, seed=7, wait_s=20)
    (right,) = left["partners"]
    assert (left["your_turn"], right["your_turn"]) == (True, False)
    assert left["episode_id"] == right["episode_id"]
    return left["session_id"], right["session_id"]


async def played(ask: Ask, session: str, actions: list[str]) -> list[tuple[str, float, bool]]:
    """The replies to a seat's actions, begun when it is its turn."""
    while not (await ask("get", session_id=session, wait_s=5))["your_turn"]:
        pass
    replies: list[Json] = []
    for turn, action in enumerate(actions, 1):
        replies.append(await ask("step", session_id=session, turn=turn, action=action))
    return [(reply["observation"], reply["reward"], reply["terminated"]) for reply in replies]


async def other(house: Seated) -> tuple[str, float]:
    """An episode of echo that waits for its slot."""
    reply = await house.http.post(
        "/envs/echo/sessions", json={"task_id": "train/0"}, headers={"prefer": "wait=20"}
    )
    session = reply.json()["session_id"]
    replies = [await house.step(session, turn, action) for turn, action in ((1, "hi"), (2, "stop"))]
    return replies[-1].json()["observation"], replies[-1].json()["total_reward"]


@LANES
async def test_seats_play_through_the_gateway_what_they_play_at_a_server(house: Seated, lane: Any):
    async def episode() -> tuple[Any, ...]:
        ask = lane(house)
        left, right = await sit(ask)
        assert home(left) == home(right)
        return tuple(await asyncio.gather(played(ask, left, ["a", "c"]), played(ask, right, ["b", "stop"])))

    told = await asyncio.gather(episode(), *(other(house) for _ in range(20)), episode())
    assert told[0] == told[-1] == (LEFT, RIGHT)
    assert told[1:-1] == [("2: hi stop", 1.125)] * 20


@LANES
async def test_both_seats_of_a_server_that_died_have_failed_and_no_others(house: Seated, lane: Any):
    lost, kept = lane(house), lane(house)
    seats, others = await sit(lost), await sit(kept)
    assert {home(one) for one in (*seats, *others)} == {"http://a", "http://b"}
    pending = asyncio.create_task(lost("step", session_id=seats[0], turn=1, action="a"))
    await lost("get", session_id=seats[1], wait_s=5)  # the action of left has arrived
    house.machines.kill(home(seats[0]))
    await house.look()
    assert slug(await asyncio.wait_for(pending, 10)) == "worker-lost"
    asked = over_rest(house)
    for number, session in enumerate(seats):
        view = await asked("get", session_id=session)
        assert (view["state"], view["failure"]["kind"]) == ("failed", "worker-lost")
        assert (view["seat"], view["your_turn"]) == (Duel.seats[number], False)
        assert "partners" not in view
        assert "reward" not in view
    told = await asyncio.gather(played(kept, others[0], ["a", "c"]), played(kept, others[1], ["b", "stop"]))
    assert told == [LEFT, RIGHT]


@LANES
async def test_a_seat_that_leaves_fails_its_partner(house: Seated, lane: Any):
    ask = lane(house)
    left, right = await sit(ask)
    pending = asyncio.create_task(over_rest(house)("step", session_id=left, turn=1, action="a"))
    await ask("get", session_id=right, wait_s=5)
    await house.http.delete(f"/sessions/{right}")
    problem = await asyncio.wait_for(pending, 10)
    assert (slug(problem), problem["failure"]["kind"]) == ("partner", "partner")
    view = await ask("get", session_id=left)
    assert (view["state"], view["failure"]["kind"]) == ("failed", "partner")


def waiting(house: Seated, env: str = "echo", **body: Any) -> "asyncio.Task[httpx.Response]":
    request = house.http.post(
        f"/envs/{env}/sessions", json={"task_id": "train/0", **body}, headers={"prefer": "wait=20"}
    )
    return asyncio.create_task(request)


async def in_queue(house: Seated, env: str) -> None:
    """Return when a request waits for slots of the environment."""
    for _ in range(10_000):
        if not house.gateway.queues.of(env).empty:
            return
        await asyncio.sleep(0)
    raise AssertionError("nobody waits")


async def filled(house: Seated) -> dict[str, list[str]]:
    """Sessions of echo in all eight slots, by their server."""
    sessions = [await house.opened() for _ in range(8)]
    return {url: [one for one in sessions if home(one) == url] for url in ("http://a", "http://b")}


async def test_a_waiting_creation_with_seats_takes_a_slot_for_each_at_one_server(house: Seated):
    sessions = await filled(house)
    pair, single = waiting(house, "duel", seats=2), waiting(house)
    await in_queue(house, "duel")
    for url in sessions:
        await house.http.delete(f"/sessions/{sessions[url].pop()}")
    reply = await asyncio.wait_for(single, 10)  # of another environment, with a queue of its own
    assert reply.status_code == 201
    server = home(reply.json()["session_id"])
    assert not pair.done()
    one = "http://a" if server == "http://b" else "http://b"
    await house.http.delete(f"/sessions/{sessions[one].pop()}")
    reply = await asyncio.wait_for(pair, 10)
    assert (reply.status_code, home(reply.json()["session_id"])) == (201, one)


async def test_a_single_creation_does_not_overtake_a_waiting_pair(house: Seated):
    sessions = await filled(house)
    pair = waiting(house, "duel", seats=2)
    await in_queue(house, "duel")
    single = waiting(house, "duel")
    await house.http.delete(f"/sessions/{sessions['http://a'].pop()}")
    await house.gateway.watch.refresh()
    refused = await house.create("duel")
    assert (refused.status_code, slug(refused.json())) == (503, "capacity")
    await house.http.delete(f"/sessions/{sessions['http://a'].pop()}")
    assert (await asyncio.wait_for(pair, 10)).status_code == 201
    assert not single.done()
    await house.http.delete(f"/sessions/{sessions['http://b'].pop()}")
    assert (await asyncio.wait_for(single, 10)).status_code == 201


async def test_a_creation_with_seats_counts_as_many_sessions_until_the_next_poll(house: Seated):
    assert (await house.create("duel", seats=2)).status_code == 201
    assert sorted(server.vacancies for server in house.gateway.fleet.living[:2]) == [2, 4]
