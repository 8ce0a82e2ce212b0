"""Sessions: creation, keys, leases, tombstones, capacity, forks, and accounts that add up."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from support.clock import Clock
from support.server.environments import CheapMischief, Echo, Slow

from agentgym_envs.deliberate import Deliberate
from agentgym_server import ServerSettings, create_app

WORLDS = {"echo": Echo, "slow": Slow, "mischief": CheapMischief}


@pytest.fixture
def time() -> Clock:
    return Clock()


@pytest.fixture
async def http(time: Clock) -> AsyncIterator[httpx.AsyncClient]:
    app = create_app(WORLDS, settings=ServerSettings(max_sessions=3), clock=time)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as client:
        yield client


async def create(
    http: httpx.AsyncClient, env: str = "echo", headers: dict[str, str] | None = None, **body: Any
) -> httpx.Response:
    return await http.post(f"/envs/{env}/sessions", json={"task_id": "train/0", **body}, headers=headers)


async def opened(http: httpx.AsyncClient, env: str = "echo", **body: Any) -> str:
    reply = await create(http, env, **body)
    assert reply.status_code == 201, reply.text
    return reply.json()["session_id"]


async def play(http: httpx.AsyncClient, session: str, *actions: str, first: int = 1) -> list[dict[str, Any]]:
    replies = []
    for turn, action in enumerate(actions, first):
        reply = await http.post(f"/sessions/{session}/steps", json={"turn": turn, "action": action})
        replies.append(reply.json())
    return replies


def slug(reply: httpx.Response) -> str:
    return reply.json()["type"].removeprefix("urn:agentevol:problem:")


async def test_creation_gives_the_whole_session(http: httpx.AsyncClient):
    reply = await create(http, seed=7, max_turns=5, lease_ttl_s=60, labels={"run": "r"}, format="react")
    body = reply.json()
    session = body["session_id"]
    assert reply.headers["location"] == f"/sessions/{session}"
    assert reply.headers["cache-control"] == "no-store"
    assert body.pop("created_at").endswith("Z")
    assert body.pop("lease")["ttl_s"] == 60
    assert body == {
        "session_id": session,
        "env": "echo",
        "task_id": "train/0",
        "seed": 7,
        "state": "open",
        "turn": 0,
        "observation": "Say stop. This is episode 0. Seed 7.",
        "info": {"available_actions": ["say", "stop"]},
        "reward": 0.0,
        "total_reward": 0.0,
        "terminated": False,
        "truncated": False,
        "max_turns": 5,
        "format": "react",
        "tools": None,
        "parent": None,
        "labels": {"run": "r"},
        "env_version": "1.0.0",
        "data_version": "builtin:1.0.0",
        "failure": None,
        "outcome": None,
        "reason": None,
    }


async def test_a_seed_is_drawn_and_told(http: httpx.AsyncClient):
    seeds = {(await create(http)).json()["seed"] for _ in range(3)}
    assert len(seeds) == 3
    assert all(0 <= seed < 2**53 for seed in seeds)


@pytest.mark.parametrize("task", ["train/9", "", "\n", "x" * 257, "../../etc/passwd", "no\x00pe"])
async def test_an_unknown_task_is_not_found_and_takes_no_slot(http: httpx.AsyncClient, task: str):
    for _ in range(4):
        reply = await create(http, task_id=task)
        assert (reply.status_code, slug(reply)) == (404, "task-not-found")
    assert (await http.get("/health")).json()["sessions"]["active"] == 0
    assert (await create(http)).status_code == 201


async def test_the_same_key_creates_one_session(http: httpx.AsyncClient):
    key = {"Idempotency-Key": "k1"}
    replies = await asyncio.gather(*(create(http, headers=key) for _ in range(3)))
    assert {reply.status_code for reply in replies} == {201}
    assert len({reply.content for reply in replies}) == 1
    assert (await http.get("/health")).json()["created"] == 1


async def test_a_key_with_another_body_is_refused(http: httpx.AsyncClient):
    key = {"Idempotency-Key": "k1"}
    await create(http, headers=key, seed=1)
    reply = await create(http, headers=key, seed=2)
    assert (reply.status_code, slug(reply)) == (422, "idempotency-key-reused")


async def test_a_key_is_forgotten_after_ten_minutes(http: httpx.AsyncClient, time: Clock):
    key = {"Idempotency-Key": "k1"}
    first = await create(http, headers=key, lease_ttl_s=7200)
    time.now += 599
    assert (await create(http, headers=key, lease_ttl_s=7200)).content == first.content
    time.now += 2
    other = await create(http, headers=key, lease_ttl_s=7200)
    assert other.json()["session_id"] != first.json()["session_id"]


async def test_a_key_whose_request_failed_is_free(http: httpx.AsyncClient):
    key = {"Idempotency-Key": "k1"}
    sessions = [await opened(http) for _ in range(3)]
    assert slug(await create(http, headers=key)) == "capacity"
    await http.delete(f"/sessions/{sessions[0]}")
    assert (await create(http, headers=key)).status_code == 201


@pytest.mark.parametrize("key", ["", "x" * 129, "sn\u00f6wman"])
async def test_a_bad_key_is_refused(http: httpx.AsyncClient, key: str):
    headers = {"Idempotency-Key": key.encode("latin-1").decode("latin-1")}
    request = http.build_request("POST", "/envs/echo/sessions", json={"task_id": "train/0"})
    request.headers["Idempotency-Key"] = headers["Idempotency-Key"]
    assert slug(await http.send(request)) == "validation"


async def test_a_lease_that_ran_out_cancels_the_session_and_frees_its_slot(
    http: httpx.AsyncClient, time: Clock
):
    sessions = [await opened(http, lease_ttl_s=10) for _ in range(3)]
    time.now += 9.9
    assert slug(await create(http)) == "capacity"
    time.now += 0.2
    assert (await create(http)).status_code == 201
    view = (await http.get(f"/sessions/{sessions[0]}")).json()
    assert (view["state"], view["outcome"], view["reason"]) == ("expired", "cancelled", "lease-expired")
    assert "observation" not in view
    reply = await http.post(f"/sessions/{sessions[0]}/steps", json={"turn": 1, "action": "hello"})
    assert (reply.status_code, slug(reply)) == (410, "session-expired")


async def test_an_expired_session_is_swept_without_being_asked_for(
    time: Clock, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("agentgym_server.sessions.registry.SWEEP_S", 0.001)
    closed = asyncio.Event()

    class Watched(Echo):
        def close(self) -> None:
            closed.set()

    app = create_app({"echo": Watched}, settings=ServerSettings(), clock=time)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as http:
        await opened(http, lease_ttl_s=1)
        time.now += 1.5
        assert not closed.is_set()
        async with asyncio.timeout(5):
            await closed.wait()


async def test_steps_and_renewals_keep_a_lease_and_looking_does_not(http: httpx.AsyncClient, time: Clock):
    session = await opened(http, lease_ttl_s=10)
    time.now += 8
    await play(http, session, "hello")
    time.now += 8
    renewed = (await http.post(f"/sessions/{session}/lease", json={"lease_ttl_s": 20})).json()
    assert renewed["lease"]["ttl_s"] == 20
    time.now += 18
    assert (await http.get(f"/sessions/{session}")).json()["state"] == "open"
    time.now += 3
    assert (await http.get(f"/sessions/{session}")).json()["state"] == "expired"


async def test_a_running_step_is_not_idle(http: httpx.AsyncClient, time: Clock):
    session = await opened(http, "slow", lease_ttl_s=10)
    body = {"turn": 1, "action": "0.05"}
    running = asyncio.create_task(http.post(f"/sessions/{session}/steps", json=body))
    await asyncio.sleep(0.02)
    time.now += 60
    assert (await http.get(f"/sessions/{session}")).json()["state"] == "open"
    assert (await running).status_code == 200
    assert (await http.get(f"/sessions/{session}")).json()["state"] == "open"


async def test_a_lease_is_clamped():
    app = create_app(WORLDS, settings=ServerSettings(max_lease_ttl_s=100))
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as other:
        assert (await create(other, lease_ttl_s=5000)).json()["lease"]["ttl_s"] == 100


async def test_a_tombstone_stands_for_ten_minutes(http: httpx.AsyncClient, time: Clock):
    session = await opened(http)
    gone = {"session_id": session, "state": "closed", "outcome": "cancelled"}
    for _ in range(2):
        assert (await http.delete(f"/sessions/{session}")).json() == gone
    time.now += 599
    assert (await http.get(f"/sessions/{session}")).json()["state"] == "closed"
    time.now += 2
    reply = await http.get(f"/sessions/{session}")
    assert (reply.status_code, slug(reply)) == (404, "session-not-found")


async def test_a_full_server_says_so_and_may_be_asked_again(http: httpx.AsyncClient):
    sessions = [await opened(http) for _ in range(3)]
    reply = await create(http)
    body = reply.json()
    assert (reply.status_code, slug(reply), body["retryable"]) == (503, "capacity", True)
    assert (body["active_sessions"], body["max_sessions"]) == (3, 3)
    assert int(reply.headers["retry-after"]) >= 1
    await play(http, sessions[0], "stop")  # an ended episode needs no slot
    assert (await create(http)).status_code == 201


async def test_a_request_that_prefers_to_wait_gets_the_next_free_slot_in_order(http: httpx.AsyncClient):
    sessions = [await opened(http) for _ in range(3)]
    wait = {"Prefer": "wait=5"}
    first = asyncio.create_task(create(http, headers=wait, labels={"n": "1"}))
    await asyncio.sleep(0.01)
    second = asyncio.create_task(create(http, headers=wait, labels={"n": "2"}))
    await asyncio.sleep(0.01)
    assert slug(await create(http)) == "capacity"
    await http.delete(f"/sessions/{sessions[0]}")
    assert (await first).json()["labels"] == {"n": "1"}
    assert not second.done()
    await http.delete(f"/sessions/{sessions[1]}")
    assert (await second).json()["labels"] == {"n": "2"}


async def test_waiting_in_vain_ends_with_capacity(http: httpx.AsyncClient):
    for _ in range(3):
        await opened(http)
    reply = await create(http, headers={"Prefer": "respond-async, wait=0"})
    assert slug(reply) == "capacity"
    app = create_app(WORLDS, settings=ServerSettings(max_sessions=1))
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as other:
        await opened(other)
        began = asyncio.get_running_loop().time()
        assert slug(await create(other, headers={"Prefer": "wait=1"})) == "capacity"
        assert asyncio.get_running_loop().time() - began > 0.9


async def test_every_session_has_one_ending_and_the_accounts_add_up(http: httpx.AsyncClient, time: Clock):
    terminated = await opened(http)
    await play(http, terminated, "stop")
    await http.delete(f"/sessions/{terminated}")
    await play(http, await opened(http, max_turns=1), "a")
    failed = await opened(http, "mischief")
    await play(http, failed, "raise")
    assert (await http.delete(f"/sessions/{failed}")).json()["outcome"] == "failed"
    await http.delete(f"/sessions/{await opened(http)}")
    await opened(http, lease_ttl_s=1)
    time.now += 2
    await opened(http)
    await create(http, task_id="train/9")
    health = (await http.get("/health")).json()
    await asyncio.sleep(0.6)  # the sweeper has counted the expired one
    health = (await http.get("/health")).json()
    assert health["finished"] == {"terminated": 1, "truncated": 1, "failed": 1, "cancelled": 2}
    assert (health["created"], health["sessions"]["active"]) == (6, 1)


async def test_the_rewards_of_an_episode_sum_to_its_total(http: httpx.AsyncClient):
    session = await opened(http)
    replies = await play(http, session, "a", "b", "stop")
    assert [reply["reward"] for reply in replies] == [0.125, 0.125, 1.0]
    view = (await http.get(f"/sessions/{session}?history=true")).json()
    assert view["total_reward"] == 1.25 == sum(row["reward"] for row in view["history"])
    assert [row["action"] for row in view["history"]] == ["a", "b", "stop"]
    assert view["history"][1] == {
        "turn": 2,
        "action": "b",
        "observation": "2: a b",
        "reward": 0.125,
        "terminated": False,
        "truncated": False,
        "info": {"available_actions": ["say", "stop"]},
    }
    assert (view["steps_executed"], view["turn"], view["outcome"]) == (3, 3, "terminated")


@pytest.mark.parametrize("body", [None, {}, {"at_turn": 2}, {"at_turn": 1}, {"at_turn": 0}])
async def test_a_fork_goes_on_from_its_turn_and_leaves_its_parent_alone(
    http: httpx.AsyncClient, body: dict[str, int] | None
):
    parent = await opened(http, seed=3, labels={"a": "b"})
    await play(http, parent, "one", "two")
    reply = await http.post(f"/sessions/{parent}/fork", json=body) if body is not None else None
    reply = reply or await http.post(f"/sessions/{parent}/fork")
    child, at_turn = reply.json(), (body or {}).get("at_turn", 2)
    said = ["one", "two"][:at_turn]
    assert reply.status_code == 201
    assert child["parent"] == {"session_id": parent, "turn": at_turn}
    assert (child["turn"], child["total_reward"], child["labels"]) == (at_turn, 0.125 * at_turn, {"a": "b"})
    expected = f"{at_turn}: {' '.join(said)}" if said else "Say stop. This is episode 0. Seed 3."
    assert child["observation"] == expected
    (moved,) = await play(http, child["session_id"], "three", first=at_turn + 1)
    assert moved["observation"] == f"{at_turn + 1}: {' '.join([*said, 'three'])}"
    (other,) = await play(http, parent, "four", first=3)
    assert other["observation"] == "3: one two four"


async def test_a_fork_at_the_start_has_earned_nothing_as_a_fraction(http: httpx.AsyncClient):
    parent = await opened(http)
    reply = await http.post(f"/sessions/{parent}/fork")
    assert '"total_reward":0.0,' in reply.text  # not 0: typed clients tell them apart


async def test_a_fork_beyond_the_last_turn_is_a_conflict(http: httpx.AsyncClient):
    parent = await opened(http)
    reply = await http.post(f"/sessions/{parent}/fork", json={"at_turn": 1})
    assert (reply.status_code, slug(reply)) == (409, "turn-conflict")


async def test_an_ended_episode_can_be_forked_before_its_end_only(http: httpx.AsyncClient):
    parent = await opened(http)
    await play(http, parent, "one", "stop")
    assert slug(await http.post(f"/sessions/{parent}/fork")) == "session-ended"
    child = (await http.post(f"/sessions/{parent}/fork", json={"at_turn": 1})).json()
    assert (child["state"], child["observation"]) == ("open", "1: one")


async def test_what_cannot_be_forked_says_so(http: httpx.AsyncClient):
    parent = await opened(http, "slow")
    reply = await http.post(f"/sessions/{parent}/fork")
    assert (reply.status_code, slug(reply)) == (501, "unsupported-operation")


async def test_tasks_come_in_pages_without_secrets(http: httpx.AsyncClient):
    page = (await http.get("/envs/echo/tasks?split=test&offset=1&limit=1")).json()
    assert page == {
        "env": "echo",
        "split": "test",
        "offset": 1,
        "limit": 1,
        "total": 3,
        "tasks": [
            {
                "task_id": "test/1",
                "split": "test",
                "index": 1,
                "summary": "Say stop. This is episode 1.",
                "kind": "chat",
                "difficulty": "hard",
                "instruction": "Say stop. This is episode 1.",
            }
        ],
    }
    everything = (await http.get("/envs/echo/tasks?offset=2&limit=2")).json()
    assert [task["task_id"] for task in everything["tasks"]] == ["train/2", "test/0"]
    assert everything["total"] == 6
    easy = (await http.get("/envs/echo/tasks?split=train&difficulty=easy")).json()
    assert [task["task_id"] for task in easy["tasks"]] == ["train/0", "train/2"]
    assert (await http.get("/envs/echo/tasks?split=train&offset=99")).json()["tasks"] == []


async def test_a_task_is_found_by_its_id(http: httpx.AsyncClient):
    page = (await http.get("/envs/echo/tasks?task_id=test/1")).json()
    listed = (await http.get("/envs/echo/tasks?split=test&offset=1&limit=1")).json()
    assert page == {**listed, "split": None, "offset": 0, "limit": 100, "total": 1}
    of_split = (await http.get("/envs/echo/tasks?task_id=test/1&split=test&difficulty=hard")).json()
    assert of_split == {**page, "split": "test"}
    assert (await http.get("/envs/echo/tasks?task_id=test/1&offset=1")).json()["tasks"] == []


async def test_the_place_of_a_task_that_is_made_on_access_is_not_looked_for():
    transport = httpx.ASGITransport(create_app({"deliberate": Deliberate}))
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as http:
        row = (await http.get("/envs/deliberate/tasks?task_id=train/shallow/999999")).json()["tasks"][0]
        listed = (await http.get("/envs/deliberate/tasks?split=train&limit=1")).json()["tasks"][0]
    assert (row["task_id"], row["split"], row["index"]) == ("train/shallow/999999", "train", None)
    assert listed["index"] == 0


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("task_id=test/9", "task-not-found"),
        ("task_id=", "task-not-found"),
        ("task_id=test/1&split=train", "task-not-found"),
        ("task_id=test/1&difficulty=easy", "task-not-found"),
        ("split=nope", "task-not-found"),
        ("difficulty=nope", "validation"),
        ("limit=0", "validation"),
        ("limit=1001", "validation"),
        ("limit=1.0", "validation"),
        ("offset=-1", "validation"),
        ("splitt=train", "validation"),
        ("limit=1&limit=2", "validation"),
    ],
)
async def test_a_bad_query_is_refused(http: httpx.AsyncClient, query: str, expected: str):
    assert slug(await http.get(f"/envs/echo/tasks?{query}")) == expected


async def test_an_unknown_split_is_told_with_those_that_there_are(http: httpx.AsyncClient):
    detail = (await http.get("/envs/echo/tasks?split=nope")).json()["detail"]
    assert detail == "no split has this name; there are: train, test"


async def test_the_catalogue_describes_its_environments(http: httpx.AsyncClient):
    entries = (await http.get("/envs")).json()["envs"]
    assert [entry["env"] for entry in entries] == ["echo", "slow", "mischief"]
    assert entries[0] == (await http.get("/envs/echo")).json()
    assert entries[0]["splits"] == {"train": 3, "test": 3}
    assert [entry["capabilities"]["fork"] for entry in entries] == ["any", "none", "any"]
    schema = (await http.get("/envs/echo/schema")).json()
    assert schema["action"]["formats"] == ["plain", "react", "modes"]
    assert schema["tools"] is None


async def test_interleaved_sessions_equal_the_same_played_alone():
    app = create_app(WORLDS, settings=ServerSettings())
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as http:

        async def episode(number: int) -> list[str]:
            task = f"train/{number % 3}"
            body = (await create(http, task_id=task, seed=number)).json()
            replies = await play(http, body["session_id"], f"a{number}", f"b{number}", "stop")
            return [body["observation"], *(reply["observation"] for reply in replies)]

        together = await asyncio.gather(*(episode(number) for number in range(200)))
        alone = [await episode(number) for number in range(200)]
    assert together == alone
    assert together[7][2] == "2: a7 b7"


async def test_a_batch_carries_out_every_item_and_keeps_their_order(http: httpx.AsyncClient):
    one, two = await opened(http), await opened(http)
    items = [
        {"op": "step", "session_id": one, "turn": 1, "action": "a"},
        {"op": "step", "session_id": two, "turn": 1, "action": "b"},
        {"op": "step", "session_id": one, "turn": 2, "action": "c"},
        {"op": "step", "session_id": one, "turn": 2, "action": "c"},
        {"op": "step", "session_id": one, "turn": 9, "action": "c"},
        {"op": "nope"},
        7,
        {"op": "batch", "items": []},
        {"op": "create", "env": "echo", "task_id": "train/1", "seed": 5},
        {"op": "delete", "session_id": two},
        {"op": "get", "session_id": "s_unknown"},
        {"op": "tasks", "env": "echo", "split": "test", "limit": 1},
        {"op": "health"},
    ]
    reply = await http.post("/batch", json={"items": items})
    results = reply.json()["results"]
    assert reply.status_code == 200
    assert [row["status"] for row in results] == [
        200, 200, 200, 200, 409, 422, 422, 422, 201, 200, 404, 200, 200,
    ]  # fmt: skip
    assert [row["ok"] for row in results] == [row["status"] < 400 for row in results]
    assert results[2]["result"]["observation"] == "2: a c"
    assert results[3]["replay"] is True
    assert results[3]["result"] == results[2]["result"]
    assert results[8]["result"]["observation"].endswith("Seed 5.")
    assert slug(await http.post("/batch", json={"items": [{}] * 257})) == "validation"
