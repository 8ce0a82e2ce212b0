"""The gateway before servers in this process: the whole protocol without a socket, and servers that die."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from support.server.environments import CheapMischief, Echo
from support.server.gateway import BASE, Fixed, House, home, slug

from agentgym_server import ServerSettings
from agentgym_server.app import service_of
from agentgym_server.gateway.backends.upstream import Refused
from agentgym_server.gateway.gateway import Gateway
from agentgym_server.lanes.replies import AccountReply


def rpc(method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}


@pytest.fixture
async def house() -> AsyncIterator[House]:
    made = House()
    await made.look()
    yield made
    await made.gateway.close()


async def test_sessions_are_spread_and_stay_where_they_began(house: House) -> None:
    sessions = [await house.opened() for _ in range(4)]
    assert sorted(map(home, sessions)) == ["http://a", "http://a", "http://b", "http://b"]
    for session in sessions:
        assert (await house.step(session, 1, "hi")).json()["observation"] == "1: hi"
        assert house.machines.sent[-1] == (home(session), "POST", f"/sessions/{session}/steps")
    assert (await house.http.get(f"/sessions/{sessions[0]}")).json()["turn"] == 1
    assert (await house.http.delete(f"/sessions/{sessions[0]}")).json()["state"] == "closed"


async def test_a_reply_comes_back_as_the_server_gave_it(house: House) -> None:
    reply = await house.create()
    session = reply.json()["session_id"]
    assert (reply.status_code, reply.headers["location"]) == (201, f"/sessions/{session}")
    assert reply.headers["cache-control"] == "no-store"
    first, again = await house.step(session, 1, "ä"), await house.step(session, 1, "ä")
    assert (again.content, again.headers["idempotent-replay"]) == (first.content, "true")
    wrong = await house.http.post(
        f"/sessions/{session}/steps", content=b"{", headers={"x-request-id": "mine"}
    )
    assert (wrong.status_code, slug(wrong.json())) == (415, "unsupported-media-type")
    assert wrong.headers.get_list("x-request-id") == ["mine"]
    head = await house.http.head(f"/sessions/{session}")
    assert (head.status_code, head.content) == (200, b"")
    assert int(head.headers["content-length"]) > 100


async def test_the_environments_of_all_servers_are_one_list(house: House) -> None:
    envs = (await house.http.get("/envs")).json()["envs"]
    assert [entry["env"] for entry in envs] == ["echo", "mischief", "slow"]
    assert (await house.http.get("/envs/mischief")).json()["env"] == "mischief"
    reply = await house.http.get("/envs/nowhere/schema")
    assert (reply.status_code, slug(reply.json())) == (404, "env-not-found")
    assert (await house.http.get("/openapi.json")).json()["openapi"] == "3.1.0"
    assert (await house.http.get("/docs")).status_code == 200


async def test_health_is_that_of_all_servers_together(house: House) -> None:
    for _ in range(3):
        await house.opened()
    await house.opened("mischief")
    health = (await house.http.get("/health")).json()
    assert health["status"] == "healthy"
    assert health["sessions"] == {"active": 4, "max": 2 + 2 + 1024, "free": 1024}
    assert health["created"] == 4 == health["sessions"]["active"] + sum(health["finished"].values())
    assert [server["instance"] for server in health["servers"]] == ["AAAB", "AAAC", "AAAD"]


@pytest.mark.parametrize(
    ("method", "path", "status", "kind"),
    [
        ("GET", "/sessions/s_AAAZxxxxxxxxxxxxxxxxxxxx", 404, "session-not-found"),
        ("GET", "/sessions/nonsense", 404, "session-not-found"),
        ("GET", "/nowhere", 404, "not-found"),
        ("GET", "/agentgym/nowhere/", 404, None),
        ("PUT", "/health", 405, "method-not-allowed"),
        ("PUT", "/envs/echo", 405, "method-not-allowed"),
        ("GET", "/envs/", 404, "not-found"),
    ],
)
async def test_what_nobody_has_is_not_found(
    house: House, method: str, path: str, status: int, kind: str | None
) -> None:
    reply = await house.http.request(method, path)
    assert reply.status_code == status, reply.text
    if kind is not None:
        assert slug(reply.json()) == kind


async def test_a_full_replica_is_passed_over_and_a_full_fleet_says_so(house: House) -> None:
    await asyncio.gather(*(house.opened() for _ in range(3)))
    house.gateway.fleet.living[1].begun = house.gateway.fleet.living[0].begun = 0  # it thinks both are empty
    assert (await house.create()).status_code == 201
    full = await house.create()
    assert (full.status_code, slug(full.json()), full.headers["retry-after"]) == (503, "capacity", "1")
    assert house.machines.sent[-2:] == [
        ("http://a", "POST", "/envs/echo/sessions"),
        ("http://b", "POST", "/envs/echo/sessions"),
    ]


def waiting(house: House, wait_s: int = 30, **body: Any) -> "asyncio.Task[httpx.Response]":
    request = house.http.post(
        "/envs/echo/sessions", json={"task_id": "train/0", **body}, headers={"prefer": f"wait={wait_s}"}
    )
    return asyncio.create_task(request)


@pytest.mark.parametrize("server", ["http://a", "http://b"])
async def test_who_waits_gets_the_slot_that_becomes_free_whichever_replica_has_it(
    house: House, server: str
) -> None:
    sessions = [await house.opened() for _ in range(4)]
    made = waiting(house)
    await asyncio.sleep(0.2)
    assert not made.done()
    await house.http.delete(f"/sessions/{next(one for one in sessions if home(one) == server)}")
    reply = await asyncio.wait_for(made, 15)
    assert (reply.status_code, home(reply.json()["session_id"])) == (201, server)


async def test_who_waits_gets_a_slot_of_which_the_gateway_hears_from_the_server_alone(house: House) -> None:
    sessions = [await house.opened() for _ in range(4)]
    made = waiting(house)
    await asyncio.sleep(0.1)
    victim = next(one for one in sessions if home(one) == "http://b")
    service_of(house.machines.apps["http://b"]).episodes.delete(victim)
    assert (await asyncio.wait_for(made, 15)).status_code == 201


async def test_who_waits_gets_a_slot_of_a_server_that_comes_back(house: House) -> None:
    for _ in range(4):
        await house.opened()
    house.machines.kill("http://b")
    await house.look()
    made = waiting(house)
    await asyncio.sleep(0.1)
    assert not made.done()
    house.machines.start("http://b", 4, {"echo": Echo})
    await house.look()
    reply = await asyncio.wait_for(made, 15)
    assert (reply.status_code, reply.json()["session_id"][2:6]) == (201, "AAAE")


async def test_slots_go_to_those_who_wait_in_the_order_of_their_arrival(house: House) -> None:
    sessions = [await house.opened() for _ in range(4)]
    sessions.sort(key=home)
    order: list[str] = []
    tasks: list[asyncio.Task[httpx.Response]] = []
    for name in "abc":
        tasks.append(waiting(house, labels={"name": name}))
        tasks[-1].add_done_callback(lambda done: order.append(done.result().json()["labels"]["name"]))
        await asyncio.sleep(0.02)
    for freed in (sessions[3], sessions[0], sessions[2]):  # of b, of a, of b
        await house.http.delete(f"/sessions/{freed}")
        late = await house.create()  # does not wait, and does not overtake
        assert (late.status_code, slug(late.json())) == (503, "capacity")
        await asyncio.sleep(0.2)
    await asyncio.wait_for(asyncio.gather(*tasks), 15)
    assert order == ["a", "b", "c"]


async def test_who_would_take_no_slot_does_not_wait_for_one(house: House) -> None:
    known = await house.create(key="k")
    for _ in range(3):
        await house.opened()
    made = waiting(house)
    await asyncio.sleep(0.1)
    for body in ({"task_id": "train/0", "seed": -1}, {"task_id": "train/0", "format": "xml"}):
        wrong = await house.http.post("/envs/echo/sessions", json=body, headers={"prefer": "wait=30"})
        assert (wrong.status_code, slug(wrong.json())) == (422, "validation")
    again = await house.create(key="k")
    assert (again.status_code, again.content) == (201, known.content)
    assert not made.done()
    await house.http.delete(f"/sessions/{known.json()['session_id']}")
    assert (await asyncio.wait_for(made, 15)).status_code == 201


async def test_a_wait_that_is_over_says_how_full_all_replicas_are(house: House) -> None:
    for _ in range(4):
        await house.opened()
    reply = await asyncio.wait_for(waiting(house, wait_s=1), 15)
    assert (reply.status_code, slug(reply.json()), reply.headers["retry-after"]) == (503, "capacity", "1")
    assert (reply.json()["active_sessions"], reply.json()["max_sessions"]) == (4, 4)
    assert house.gateway.queues.of("echo").empty


async def test_the_capacity_that_is_told_is_that_of_all_replicas_as_in_the_health(house: House) -> None:
    for _ in range(4):
        await house.opened()
    await house.opened("mischief")
    problem = (await house.create()).json()
    assert problem["detail"] == "4 of 4 sessions are in use"
    health = (await house.http.get("/health")).json()
    rows = [server["sessions"] for server in health["servers"] if server["name"] == "echo"]
    assert problem["active_sessions"] == sum(row["active"] for row in rows) == 4
    assert problem["max_sessions"] == sum(row["max"] for row in rows) == 4
    assert health["sessions"] == {"active": 5, "max": 4 + 1024, "free": 1023}
    item = {"op": "create", "env": "echo", "task_id": "train/0"}
    (result,) = (await house.http.post("/batch", json={"items": [item]})).json()["results"]
    assert (result["problem"]["active_sessions"], result["problem"]["max_sessions"]) == (4, 4)


async def test_the_same_key_reaches_the_same_server(house: House) -> None:
    replies = await asyncio.gather(*(house.create(key="k", seed=1) for _ in range(4)))
    assert len({reply.content for reply in replies}) == 1
    assert (await house.http.get("/health")).json()["created"] == 1


async def test_a_key_whose_reply_was_lost_finds_its_session_again(house: House) -> None:
    house.machines.deaf = {"http://a", "http://b"}
    lost = await house.create(key="k")
    assert (lost.status_code, slug(lost.json()), lost.json()["retryable"]) == (502, "worker-lost", True)
    house.machines.deaf = set()
    assert (await house.create(key="k")).status_code == 201
    assert (await house.http.get("/health")).json()["created"] == 1


async def test_a_lost_reply_without_a_key_is_not_asked_for_again(house: House) -> None:
    house.machines.deaf = {"http://a", "http://b"}
    lost = await house.create()
    assert (lost.status_code, lost.json()["retryable"]) == (502, False)
    assert [sent for sent in house.machines.sent if sent[1] == "POST"] == [
        ("http://a", "POST", "/envs/echo/sessions")
    ]


async def test_the_key_of_a_dead_server_may_go_elsewhere(house: House) -> None:
    first = (await house.create(key="k")).json()["session_id"]
    house.machines.kill(home(first))
    second = (await house.create(key="k")).json()["session_id"]
    assert {home(first), home(second)} == {"http://a", "http://b"}


async def test_sessions_of_a_dead_server_fail_at_once_and_others_go_on(house: House) -> None:
    sessions = {home(session): session for session in [await house.opened() for _ in range(2)]}
    house.machines.kill("http://a")
    for _ in range(2):
        reply = await house.step(sessions["http://a"], 1, "hi")
        problem = reply.json()
        assert (reply.status_code, slug(problem), problem["retryable"]) == (502, "worker-lost", False)
        assert problem["failure"]["kind"] == "worker-lost"
        assert "reward" not in problem
    assert (await house.step(sessions["http://b"], 1, "hi")).status_code == 200
    assert (await house.http.get("/health")).json()["status"] == "degraded"
    assert (await house.http.get("/ready")).status_code == 200
    assert home(await house.opened()) == "http://b"


async def test_a_session_of_a_dead_server_has_failed_and_says_so(house: House) -> None:
    made = (await house.create(seed=5, max_turns=7, labels={"run": "r"})).json()
    session = made["session_id"]
    for turn in (1, 2):
        await house.step(session, turn, "hi")
    await house.step(session, 1, "hi")  # a repeat, whose reply is not the last one
    house.machines.kill(home(session))
    reply = await house.http.get(f"/sessions/{session}")
    shown = reply.json()
    assert (reply.status_code, reply.headers["cache-control"]) == (200, "no-store"), reply.text
    assert shown["failure"] == {
        "kind": "worker-lost",
        "turn": 3,
        "message": "the server of this episode died",
    }
    assert (shown["state"], shown["outcome"], shown["turn"], shown["total_reward"]) == (
        "failed",
        "failed",
        2,
        0.25,
    )
    same = ("env", "task_id", "seed", "max_turns", "format", "labels", "parent", "created_at", "data_version")
    assert {name: shown[name] for name in same} == {name: made[name] for name in same}
    assert not {"observation", "info", "reward", "lease", "tools"} & shown.keys()
    AccountReply.model_validate(shown)
    assert (await house.http.head(f"/sessions/{session}")).status_code == 200
    assert slug((await house.step(session, 3, "hi")).json()) == "worker-lost"
    for _ in range(2):
        closed = await house.http.delete(f"/sessions/{session}")
        assert closed.json() == {"session_id": session, "state": "closed", "outcome": "failed"}
    after = (await house.http.get(f"/sessions/{session}")).json()
    assert (after["state"], after["outcome"], after["failure"]["kind"]) == ("closed", "failed", "worker-lost")


async def test_what_ended_or_was_closed_before_its_server_died_has_not_failed(house: House) -> None:
    ended, closed = [one for one in [await house.opened() for _ in range(4)] if home(one) == "http://a"]
    await house.step(ended, 1, "stop")
    await house.http.delete(f"/sessions/{closed}")
    house.machines.kill("http://a")
    shown = [(await house.http.get(f"/sessions/{session}")).json() for session in (ended, closed)]
    assert [(one["state"], one["outcome"], one["reason"], one["failure"]) for one in shown] == [
        ("expired", "terminated", None, None),
        ("closed", "cancelled", "closed", None),
    ]
    for one in shown:
        AccountReply.model_validate(one)


async def test_a_fork_of_a_dead_server_and_a_session_of_a_dialect_have_failed_too(house: House) -> None:
    parent = await house.opened()
    await house.step(parent, 1, "hi")
    child = (await house.http.post(f"/sessions/{parent}/fork")).json()["session_id"]
    reset = await house.http.post("/openenv/mischief/mcp", json=rpc("openenv/session/create"))
    other = reset.json()["result"]["session_id"]
    house.machines.kill(home(parent))
    house.machines.kill("http://m")
    shown = (await house.http.get(f"/sessions/{child}")).json()
    assert (shown["state"], shown["parent"], shown["turn"]) == (
        "failed",
        {"session_id": parent, "turn": 1},
        1,
    )
    assert (shown["steps_executed"], shown["total_reward"]) == (0, 0.125)
    unseen = (await house.http.get(f"/sessions/{other}")).json()
    assert (unseen["state"], unseen["failure"]["kind"]) == ("failed", "worker-lost")


async def test_a_lost_reply_of_a_server_that_lives_is_no_death(house: House) -> None:
    session = await house.opened()
    house.machines.deaf = {home(session)}
    assert (await house.http.get(f"/sessions/{session}")).status_code == 502
    house.machines.deaf = set()
    assert (await house.http.get(f"/sessions/{session}")).json()["state"] == "open"


async def test_a_server_that_comes_back_is_another_one(house: House) -> None:
    session = next(one for one in [await house.opened() for _ in range(2)] if home(one) == "http://a")
    house.machines.kill("http://a")
    house.machines.start("http://a", 77, {"echo": Echo})
    await house.look()
    assert slug((await house.step(session, 1, "hi")).json()) == "worker-lost"
    health = (await house.http.get("/health")).json()
    assert (health["status"], len(health["servers"])) == ("healthy", 3)


async def test_a_server_that_dies_during_a_step_fails_it_at_once(house: House) -> None:
    session = await house.opened("slow")
    step = asyncio.create_task(house.step(session, 1, "30"))
    await asyncio.sleep(0.05)
    house.machines.kill(home(session))
    await house.look()
    reply = await asyncio.wait_for(step, 2)
    assert (reply.status_code, slug(reply.json())) == (502, "worker-lost")


async def test_a_lost_reply_of_a_step_is_asked_for_again(house: House) -> None:
    session = await house.opened()
    house.machines.deaf = {home(session)}
    lost = await house.step(session, 1, "hi")
    assert (lost.status_code, lost.json()["retryable"]) == (502, True)
    assert len([sent for sent in house.machines.sent if sent[2].endswith("/steps")]) == 2
    house.machines.deaf = set()
    again = await house.step(session, 1, "hi")
    assert (again.json()["observation"], again.headers["idempotent-replay"]) == ("1: hi", "true")


async def test_before_all_servers_were_there_it_is_not_ready() -> None:
    house = House()
    del house.machines.apps["http://m"]
    await house.look()
    ready = await house.http.get("/ready")
    assert (ready.status_code, ready.headers["retry-after"], ready.json()["status"]) == (503, "1", "degraded")
    unknown = await house.http.get("/sessions/s_AAADxxxxxxxxxxxxxxxxxxxx")
    assert (unknown.status_code, slug(unknown.json())) == (503, "unavailable")
    house.machines.start("http://m", 3, {"mischief": CheapMischief})
    await house.look()
    assert (await house.http.get("/ready")).json()["status"] == "healthy"
    assert (await house.http.get("/sessions/s_AAADxxxxxxxxxxxxxxxxxxxx")).status_code == 404
    await house.gateway.close()


async def test_an_address_that_is_gone_is_forgotten_and_a_new_one_found(house: House) -> None:
    house.machines.start("http://c", 9, {"echo": Echo})
    house.sources[0].list = ["http://b", "http://c"]
    await house.look()
    assert len(house.gateway.fleet.living) == 4  # it answers still
    house.machines.kill("http://a")
    await house.look()
    await house.look()
    assert (await house.http.get("/health")).json()["status"] == "healthy"


async def test_two_servers_of_one_instance_are_not_mixed_up(
    house: House, caplog: pytest.LogCaptureFixture
) -> None:
    house.machines.start("http://m2", 3, {"mischief": CheapMischief})
    other = Fixed("other", "http://m2")
    gateway = Gateway([*house.sources, other], ServerSettings(), house.machines)
    for source in (*house.sources, other):
        await gateway.watch.update(source)
    assert len(gateway.fleet.living) == 3
    assert not gateway.fleet.complete
    assert "other at http://m2 has the instance of mischief; restart it" in caplog.text


async def test_a_draining_gateway_takes_no_new_sessions(house: House) -> None:
    session = await house.opened()
    house.gateway.fleet.draining = True
    reply = await house.create()
    assert (reply.status_code, slug(reply.json()), reply.headers["retry-after"]) == (503, "draining", "1")
    assert (await house.step(session, 1, "hi")).status_code == 200
    assert (await house.http.get("/health")).status_code == 503


async def test_strangers_learn_the_status_and_nothing_else() -> None:
    house = House(token="secret", agent_token="agent")
    await house.look()
    async with httpx.AsyncClient(transport=httpx.ASGITransport(house.app), base_url=BASE) as stranger:
        assert (await stranger.get("/health")).json() == {"status": "healthy"}
        for path in ("/envs", "/envs/echo", "/metrics", "/sessions/s_x", "/docs", "/openapi.json", "/zzz"):
            reply = await stranger.get(path)
            assert (reply.status_code, reply.headers["www-authenticate"]) == (401, 'Bearer realm="agentevol"')
        with pytest.raises(Refused, match="401"):
            await house.dial()
    assert [sent for sent in house.machines.sent if sent[1] != "GET"] == []
    await house.gateway.close()


async def test_scopes_hold_behind_the_gateway_too() -> None:
    house = House(token="secret", agent_token="agent")
    await house.look()
    session = await house.opened()
    async with httpx.AsyncClient(
        transport=httpx.ASGITransport(house.app), base_url=BASE, headers={"authorization": "Bearer agent"}
    ) as agent:
        step = {"turn": 1, "action": "x"}
        assert (await agent.post(f"/sessions/{session}/steps", json=step)).status_code == 200
        for path in ("/envs", "/envs/echo/tasks", f"/sessions/{session}", "/metrics"):
            reply = await agent.get(path)
            assert (reply.status_code, slug(reply.json())) == (403, "forbidden-scope")
        lost = next(one for one in [session, await house.opened()] if home(one) == "http://b")
        house.machines.kill("http://b")
        reply = await agent.get(f"/sessions/{lost}")  # nobody but the gateway is left to check
        assert (reply.status_code, slug(reply.json())) == (403, "forbidden-scope")
    socket = await house.dial(headers=[(b"authorization", b"Bearer agent")])
    assert (await socket.ask(id="a", op="envs"))["status"] == 403
    assert (await socket.ask(id="b", op="health"))["status"] == 200
    assert (await socket.ask(id="c", op="create", env="echo", task_id="train/0"))["status"] == 403
    reply = await socket.ask(id="d", op="step", session_id=session, turn=2, action="x")
    assert reply["status"] == 200
    await socket.close()
    await house.gateway.close()


async def test_a_foreign_host_or_origin_is_refused(house: House) -> None:
    for headers in ({"host": "evil.example"}, {"origin": "http://evil.example"}):
        reply = await house.http.get("/envs", headers=headers)
        assert (reply.status_code, slug(reply.json())) == (403, "forbidden-origin")


async def test_metrics_are_those_of_all_servers_and_its_own(house: House) -> None:
    for _ in range(3):
        await house.opened()
    text = (await house.http.get("/metrics")).text
    assert 'agentevol_sessions_created_total{env="echo"} 3.0' in text.splitlines()
    assert 'agentevol_gateway_servers_up{name="echo"} 2.0' in text.splitlines()
    assert text.count("# TYPE agentevol_sessions_created_total counter") == 1
    house.machines.kill("http://b")
    await house.look()
    text = (await house.http.get("/metrics")).text
    assert 'agentevol_gateway_servers_lost_total{name="echo"} 1.0' in text.splitlines()


async def test_a_big_body_is_refused_here(house: House) -> None:
    session = await house.opened()
    reply = await house.http.post(f"/sessions/{session}/steps", content=b" " * (2 << 20))
    assert (reply.status_code, slug(reply.json())) == (413, "payload-too-large")
    assert house.machines.sent[-1][2] == "/envs/echo/sessions"
