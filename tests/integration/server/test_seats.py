"""Several seats in one episode: a session each, over REST, WebSocket and batches."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest
from support.server.environments import Chorus, Duel, Echo, WorkerDuel
from support.server.local_socket import LocalSocket

from agentgym_envs.core import StepResult
from agentgym_server import ServerSettings, create_app
from agentgym_server.app import service_of
from agentgym_server.service import Service

WORLDS = {"duel": Duel, "worker-duel": WorkerDuel, "chorus": Chorus, "echo": Echo, "gifts": lambda: Gifts()}
BOTH = pytest.mark.parametrize("env", ["duel", "worker-duel"])
Json = dict[str, Any]


class Table:
    """A served application."""

    def __init__(self, http: httpx.AsyncClient, service: Service, app: Any) -> None:
        self.http, self.service, self.app = http, service, app

    async def sit(self, env: str, **body: Any) -> tuple[Json, Json]:
        given = {"task_id": "train/0", "seats": 2, "seed": 7, **body}
        reply = await self.http.post(f"/envs/{env}/sessions", json=given)
        assert reply.status_code == 201, reply.text
        left = reply.json()
        (right,) = left.pop("partners")
        return left, right

    async def step(self, seat: Json, turn: int, action: str) -> httpx.Response:
        body = {"turn": turn, "action": action}
        return await self.http.post(f"/sessions/{seat['session_id']}/steps", json=body)

    def later(self, seat: Json, turn: int, action: str) -> "asyncio.Task[httpx.Response]":
        return asyncio.create_task(self.step(seat, turn, action))

    async def view(self, seat: Json, wait_s: int = 0) -> Json:
        headers = {"prefer": f"wait={wait_s}"} if wait_s else {}
        return (await self.http.get(f"/sessions/{seat['session_id']}", headers=headers)).json()


@asynccontextmanager
async def served(**settings: Any) -> AsyncIterator[Table]:
    app = create_app(WORLDS, settings=ServerSettings(**settings))
    service = service_of(app)
    await service.start()
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as http:
        yield Table(http, service, app)
    await service.close()


@pytest.fixture
async def table() -> AsyncIterator[Table]:
    async with served(partner_wait_s=5, step_deadline_s=0.5) as one:
        yield one


def slug(document: Json) -> str:
    return document["type"].removeprefix("urn:agentevol:problem:")


def said(reply: Json) -> tuple[str, float, bool]:
    return reply["observation"], reply["reward"], reply["terminated"]


LEFT = [("right: b", 0.125, False), ("right: stop", 0.25, True)]
RIGHT = [("left: c", 0.25, False), ("", 1.0, True)]
"""Replies of an episode in which left says a and c, right b and stop; right's first has the
0.125 that it got before."""
FIRST = "You are right. Say stop. This is episode 0. Seed 7. / left: a"


async def over_rest(table: Table, env: str) -> tuple[list[Any], list[Any], str]:
    left, right = await table.sit(env)
    first = table.later(left, 1, "a")
    opening = (await table.view(right, wait_s=5))["observation"]
    answer = table.later(right, 1, "b")
    second = [await first, table.later(left, 2, "c")]
    one = await answer
    last = await table.step(right, 2, "stop")
    ended = await second[1]
    return [said(second[0].json()), said(ended.json())], [said(one.json()), said(last.json())], opening


async def over_socket(table: Table, env: str) -> tuple[list[Any], list[Any], str]:
    async with LocalSocket(table.app, "/ws") as socket:
        body = {"op": "create", "env": env, "task_id": "train/0", "seats": 2, "seed": 7}
        left = (await socket.ask({"id": "0", **body}))["result"]
        ids = {"left": left["session_id"], "right": left["partners"][0]["session_id"]}

        def say(seat: str, turn: int, action: str) -> None:
            frame = {"op": "step", "session_id": ids[seat], "turn": turn, "action": action}
            socket.say({"id": f"{seat}{turn}", **frame})

        told: Json = {}
        say("left", 1, "a")
        opened = await socket.ask({"id": "g", "op": "get", "session_id": ids["right"], "wait_s": 5})
        say("right", 1, "b")
        told |= await _heard(socket)
        say("left", 2, "c")
        told |= await _heard(socket)
        say("right", 2, "stop")
        told |= await _heard(socket)
        told |= await _heard(socket)
    return [told["left1"], told["left2"]], [told["right1"], told["right2"]], opened["result"]["observation"]


async def _heard(socket: LocalSocket) -> Json:
    frame = await socket.hear()
    return {frame["id"]: said(frame["result"])}


async def over_batches(table: Table, env: str) -> tuple[list[Any], list[Any], str]:
    left, right = await table.sit(env)

    async def batch(*steps: tuple[Json, int, str]) -> list[Json]:
        items = [
            {"op": "step", "session_id": seat["session_id"], "turn": turn, "action": action}
            for seat, turn, action in steps
        ]
        return (await table.http.post("/batch", json={"items": items})).json()["results"]

    async def played(*steps: tuple[Json, int, str]) -> Json:
        """The result of the last step, which is repeated while its partner has not acted."""
        async with asyncio.timeout(10):
            while not (result := (await batch(*steps))[-1])["ok"]:
                assert slug(result["problem"]) == "partner-turn"
                await asyncio.sleep(0)
        return result["result"]

    (pending,) = await batch((left, 1, "a"))
    assert (pending["status"], slug(pending["problem"])) == (503, "partner-turn")
    assert pending["problem"]["retryable"] is True
    opening = (await table.view(right, wait_s=5))["observation"]
    one = await played((right, 1, "b"), (left, 1, "a"))
    two = await played((left, 2, "c"), (right, 1, "b"))
    four = await played((right, 2, "stop"))
    three = await played((left, 2, "c"))
    return [said(one), said(three)], [said(two), said(four)], opening


LANES = pytest.mark.parametrize("lane", [over_rest, over_socket, over_batches])


@LANES
@BOTH
async def test_every_lane_plays_two_seats_alike(table: Table, lane: Any, env: str):
    assert await lane(table, env) == (LEFT, RIGHT, FIRST)
    health = (await table.http.get("/health")).json()
    assert health["finished"]["terminated"] == 2
    assert health["sessions"]["active"] == 0


@BOTH
async def test_seats_among_two_hundred_other_sessions_play_what_they_play_alone(table: Table, env: str):
    async def other(index: int) -> tuple[str, float]:
        made = await table.http.post("/envs/echo/sessions", json={"task_id": "train/1", "seed": index})
        await table.step(made.json(), 1, f"word {index}")
        last = (await table.step(made.json(), 2, "stop")).json()
        return last["observation"], last["total_reward"]

    played = await asyncio.gather(
        *(other(index) for index in range(100)),
        over_rest(table, env),
        over_batches(table, env),
        over_socket(table, env),
        *(other(index) for index in range(100, 200)),
    )
    assert played[100:103] == [(LEFT, RIGHT, FIRST)] * 3
    assert played[:100] == [(f"2: word {index} stop", 1.125) for index in range(100)]


async def test_an_episode_has_one_id_and_each_seat_its_own_view(table: Table):
    left, right = await table.sit("duel", labels={"run": "x"})
    assert left["episode_id"] == right["episode_id"]
    assert [(one["seat"], one["your_turn"], one["labels"]) for one in (left, right)] == [
        ("left", True, {"run": "x"}),
        ("right", False, {"run": "x"}),
    ]
    assert left["observation"] == "You are left. Say stop. This is episode 0. Seed 7."
    assert right["observation"] == ""
    assert (await table.http.get("/envs/duel")).json()["seats"] == ["left", "right"]
    assert (await table.http.get("/envs/echo")).json()["seats"] == []


class Gifts(Duel):
    """As `Duel`; right gets a reward and costs with everything that it hears, and `end` ends it at once."""

    name = "gifts"

    def step_seats(self, actions: Mapping[str, str]) -> Mapping[str, StepResult]:
        if actions == {"left": "end"}:
            return {seat: self._over(seat, 0.5) for seat in self.seats}
        results = super().step_seats(actions)
        given = {"reward": 0.25, "costs": {"harm": 0.5, "noise": None if "left" in actions else 1.0}}
        return {
            seat: result.model_copy(update=given) if seat == "right" else result
            for seat, result in results.items()
        }


async def test_a_reward_before_the_first_action_is_part_of_the_first_step(table: Table):
    left, right = await table.sit("gifts")
    first = table.later(left, 1, "a")
    before = await table.view(right, wait_s=5)
    assert (before["your_turn"], before["reward"], before["total_reward"]) == (True, 0.0, 0.0)
    answer = table.later(right, 1, "b")
    await first
    last = table.later(left, 2, "c")
    played = (await answer).json()
    assert (played["reward"], played["total_reward"]) == (0.5, 0.5)
    assert played["costs"] == {"harm": 1.0, "noise": None}
    ended = (await table.step(right, 2, "stop")).json()
    assert (ended["reward"], ended["total_reward"], ended["costs"]) == (
        0.25,
        0.75,
        {"harm": 0.5, "noise": 1.0},
    )
    assert (await last).json()["total_reward"] == 0.375


async def test_a_seat_that_never_acted_keeps_the_reward_of_its_end(table: Table):
    left, right = await table.sit("gifts")
    await table.step(left, 1, "end")
    view = await table.view(right, wait_s=5)
    assert (view["state"], view["turn"], view["reward"], view["total_reward"]) == ("ended", 0, 0.5, 0.5)


async def test_a_step_out_of_turn_is_refused_and_does_nothing(table: Table):
    left, right = await table.sit("duel")
    refused = await table.step(right, 1, "early")
    assert (refused.status_code, slug(refused.json())) == (409, "out-of-turn")
    waiting = table.later(left, 1, "a")
    assert (await table.view(right, wait_s=5))["observation"].endswith("/ left: a")
    other = await table.step(left, 1, "something else")
    assert slug(other.json()) == "action-mismatch"
    assert (await table.step(right, 1, "stop")).json()["reward"] == 1.125
    assert (await waiting).json()["observation"] == "right: stop"
    again = await table.step(left, 1, "a")
    assert (again.content, again.headers["idempotent-replay"]) == ((await waiting).content, "true")


async def test_simultaneous_seats_are_answered_when_both_have_acted(table: Table):
    left, right = await table.sit("chorus")
    first = table.later(left, 1, "a")
    second = await table.step(right, 1, "b")
    assert said(second.json()) == said((await first).json()) == ("left: a / right: b", 0.5, False)
    first = table.later(right, 2, "stop")
    assert (await table.step(left, 2, "stop")).json()["total_reward"] == 1.0
    assert (await first).json()["terminated"] is True


async def test_a_seat_that_leaves_fails_its_partner(table: Table):
    left, right = await table.sit("duel")
    waiting = table.later(left, 1, "a")
    await table.view(right, wait_s=5)
    assert (await table.http.delete(f"/sessions/{right['session_id']}")).json()["outcome"] == "cancelled"
    reply = (await waiting).json()
    assert (slug(reply), reply["failure"]["kind"]) == ("partner", "partner")
    assert "reward" not in reply
    assert (await table.view(left))["failure"] == {
        "kind": "partner",
        "turn": 1,
        "message": "seat 'right': closed",
    }
    assert table.service.registry.capacity.taken == 0


async def test_a_seat_whose_lease_ends_in_its_turn_fails_its_partner():
    now = [0.0]
    app = create_app(WORLDS, settings=ServerSettings(), clock=lambda: now[0])
    service = service_of(app)
    await service.start()
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as http:
        table = Table(http, service, app)
        left, right = await table.sit("duel", lease_ttl_s=10)
        now[0] = 9.0
        await http.post(f"/sessions/{left['session_id']}/lease")
        now[0] = 12.0  # the lease of right does not run before its turn
        waiting = table.later(left, 1, "a")
        assert (await table.view(right, wait_s=5))["state"] == "open"
        now[0] = 23.0
        assert (await table.view(right))["state"] == "expired"
        assert (await waiting).json()["failure"]["kind"] == "partner"
    await service.close()


@pytest.mark.parametrize("action", ["exit", "hang"])
async def test_a_lost_worker_fails_both_seats(table: Table, action: str):
    left, right = await table.sit("worker-duel")
    waiting = table.later(left, 1, "a")
    await table.view(right, wait_s=5)
    kind = "worker-lost" if action == "exit" else "step-timeout"
    assert (await table.step(right, 1, action)).json()["failure"]["kind"] == kind
    assert (await waiting).json()["failure"]["kind"] == kind
    assert table.service.registry.capacity.taken == 0


async def test_a_world_that_lets_nobody_act_has_failed(table: Table):
    left, _ = await table.sit("duel")
    assert (await table.step(left, 1, "nobody")).json()["failure"]["kind"] == "internal"


async def test_a_turn_limit_truncates_all_seats(table: Table):
    left, right = await table.sit("duel", max_turns=1)
    waiting = table.later(left, 1, "a")
    await table.view(right, wait_s=5)
    cut = (await table.step(right, 1, "b")).json()
    for reply in (cut, (await waiting).json()):
        assert (reply["truncated"], reply["info"]["truncation_reason"]) == (True, "max_turns")
    assert cut["observation"] == ""
    assert table.service.registry.totals()["truncated"] == 2


async def test_seats_are_asked_for_by_their_number_and_take_as_many_slots(table: Table):
    for env, seats in (("echo", 2), ("duel", 3)):
        refused = await table.http.post(f"/envs/{env}/sessions", json={"task_id": "train/0", "seats": seats})
        assert (refused.status_code, slug(refused.json())) == (501, "unsupported-operation")
    async with served(max_sessions=3) as small:
        left, _ = await small.sit("duel")
        full = await small.http.post("/envs/duel/sessions", json={"task_id": "train/0", "seats": 2})
        assert (full.status_code, slug(full.json())) == (503, "capacity")
        body = {"task_id": "train/0", "seats": 2}
        waiting = asyncio.create_task(
            small.http.post("/envs/duel/sessions", json=body, headers={"prefer": "wait=5"})
        )
        await asyncio.sleep(0)
        await small.http.delete(f"/sessions/{left['session_id']}")
        assert (await waiting).status_code == 201
        fork = await small.http.post(f"/sessions/{(await waiting).json()['session_id']}/fork")
        assert slug(fork.json()) == "unsupported-operation"


async def test_a_repeated_key_opens_no_second_episode(table: Table):
    body = {"task_id": "train/0", "seats": 2}
    one, two = [
        await table.http.post("/envs/duel/sessions", json=body, headers={"idempotency-key": "k"})
        for _ in range(2)
    ]
    assert one.content == two.content
    assert table.service.registry.active == 2


async def test_one_agent_plays_as_before_without_seats(table: Table):
    made = (await table.http.post("/envs/duel/sessions", json={"task_id": "train/0"})).json()
    assert "seat" not in made
    assert (await table.step(made, 1, "stop")).json()["terminated"] is True
