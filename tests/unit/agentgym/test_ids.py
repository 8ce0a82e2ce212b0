"""AgentGym's ids: whose they are, how long they live, and what they wait for."""

import asyncio
from typing import Any

import httpx
import pytest
from support.server.agentgym import DIALECTS, FIRST, RESETS, caught, serving
from support.server.environments import Echo, Slow

from agentgym_server import ServerSettings, create_app
from agentgym_server.app import service_of
from agentgym_server.dialects.agentgym.environment_ids import EnvironmentIds


@pytest.mark.parametrize(("env", "id_name"), DIALECTS)
@pytest.mark.parametrize("number", [7, -1, 2**32, 10**30])
async def test_an_id_that_was_never_given(env: str, id_name: str, number: int):
    async with serving({env: Echo}) as client:
        text = f"The id {number} is not valid."
        assert await client.post(f"{env}/step", {id_name: number, "action": "say"}) == caught(env, text)
        assert await client.get(f"{env}/observation?{id_name}={number}") == caught(env, text)
        status, reply = await client.post(f"{env}/reset", {id_name: number, **RESETS[env]})
        if env == "webarena":  # its client knows one text only
            assert (status, reply) == (200, {"observation": "TimeoutError", "error": text})
        else:
            assert (status, reply) == caught(env, text)
        assert (await client.post(f"{env}/close", {id_name: number}))[1] in (False, {"closed": "closed"})


@pytest.mark.parametrize(("env", "id_name"), DIALECTS)
async def test_an_id_belongs_to_its_environment(env: str, id_name: str):
    async with serving({env: Echo, "babyai": Echo}) as client:
        assert await client.post("babyai/create") == (200, {"id": 0})
        await client.post(f"{env}/create")
        text = "The id 0 is not valid."
        assert await client.post(f"{env}/step", {id_name: 0, "action": "say"}) == caught(env, text)
        assert (await client.post(f"{env}/close", {id_name: 0}))[1] in (False, {"closed": "closed"})
        assert (await client.post("babyai/step", {"id": 0, "action": "say"}))[1]["observation"] == "1: say"


@pytest.mark.parametrize(("env", "id_name"), DIALECTS)
async def test_an_id_that_was_closed(env: str, id_name: str):
    async with serving({env: Echo}) as client:
        await client.post(f"{env}/create")
        await client.post(f"{env}/close", {id_name: 0})
        text = "The task with environment 0 has been deleted."
        assert await client.post(f"{env}/step", {id_name: 0, "action": "say"}) == caught(env, text)
        assert (await client.post(f"{env}/reset", {id_name: 0, **RESETS[env]}))[1] != [FIRST, None]
        created = (await client.post(f"{env}/create"))[1]
        assert created == {"maze": {"id": 1}, "webshop": 1, "webarena": {"env_idx": 1}}[env]


@pytest.mark.parametrize(("env", "id_name"), DIALECTS)
@pytest.mark.parametrize("wrong", ["0", "x", 0.0, 1.5, True, None, [], {}])
async def test_an_id_of_another_type(env: str, id_name: str, wrong: Any):
    async with serving({env: Echo}) as client:
        await client.post(f"{env}/create")
        for operation, more in (("step", {"action": "say"}), ("reset", RESETS[env]), ("close", {})):
            status, reply = await client.post(f"{env}/{operation}", {id_name: wrong, **more})
            assert status == 422
            assert reply["detail"][0]["loc"] == ["body", id_name]
            assert reply["detail"][0]["msg"].startswith("Input should be a valid integer")


async def test_a_reset_begins_another_episode_and_ends_the_one_before():
    async with serving({"webshop": Echo}) as client:
        await client.post("webshop/create")
        await client.post("webshop/step", {"env_idx": 0, "action": "one"})
        for index, episode in ((1, 1), (3, 0)):
            status, reply = await client.post("webshop/reset", {"env_idx": 0, "session_id": index})
            assert (status, reply) == (200, [f"Say stop. This is episode {episode}. Seed 0.", None])
        _, stepped = await client.post("webshop/step", {"env_idx": 0, "action": "two"})
        assert stepped["state"] == "1: two"
        registry = client.service.registry
        assert registry.active == 1
        assert registry.totals() == {"terminated": 0, "truncated": 0, "failed": 0, "cancelled": 2}


async def test_posts_on_one_id_are_steps_in_the_order_of_their_arrival():
    async with serving({"webshop": Echo, "maze": Slow}) as client:
        await client.post("webshop/create")
        posts = [client.post("webshop/step", {"env_idx": 0, "action": "same"}) for _ in range(2)]
        assert [reply["state"] for _, reply in await asyncio.gather(*posts)] == ["1: same", "2: same same"]
        await client.post("maze/create")
        waits = ("0.05", "0", "0.03", "0", "0.01", "0")
        posts = [client.post("maze/step", {"id": 1, "action": wait}) for wait in waits]
        assert [reply["observation"] for _, reply in await asyncio.gather(*posts)] == [
            f"step {number}" for number in range(1, 7)
        ]


async def test_ids_do_not_wait_for_each_other():
    async with serving({"maze": Slow}) as client:
        for _ in range(2):
            await client.post("maze/create")
        slow = asyncio.create_task(client.post("maze/step", {"id": 0, "action": "30"}))
        assert (await client.post("maze/step", {"id": 1, "action": "0"}))[1]["observation"] == "step 1"
        assert await client.post("maze/close", {"id": 0}) == (200, True)  # nor does closing wait for a step
        assert (await slow)[1] == {"error": "the session was closed"}


async def test_a_thousand_ids_leave_nothing_behind():
    async with serving({"maze": Echo, "webshop": Echo}, tombstone_s=0.001) as client:
        for number in range(0, 1000, 2):
            assert await client.post("maze/create") == (200, {"id": number})
            assert await client.post("maze/close", {"id": number}) == (200, True)
            assert await client.post("webshop/create") == (200, number + 1)
            assert await client.post("webshop/close", {"env_idx": number + 1}) == (200, True)
        registry = client.service.registry
        assert (registry.active, registry.capacity.taken, registry.living()) == (0, 0, [])
        assert sum(registry.created.values()) == 1000 == registry.totals()["cancelled"]
        registry.sweep()
        assert await client.get("webshop/list_envs") == (200, [])


async def test_forgotten_ids_take_no_memory_for_long():
    async with serving({"webshop": Echo}) as client:
        ids = EnvironmentIds(client.service)
        for _ in range(1000):
            ids.add("webshop", "s_gone", {}, {}, "")
        assert len(ids) <= 64


async def test_a_full_server_says_so_in_each_dialect():
    worlds = dict.fromkeys(("maze", "webshop", "webarena"), Echo)
    async with serving(worlds, max_sessions=1) as client:
        await client.post("maze/create")
        text = "1 of 1 sessions are in use"
        assert await client.post("maze/create") == (200, {"error": text})
        for env in ("webshop", "webarena"):
            reply = await client.raw("POST", f"/agentgym/{env}/create")
            assert (reply.status_code, reply.text, reply.headers["retry-after"]) == (503, text, "1")
        # a reset needs no second slot
        assert await client.post("maze/reset", {"id": 0, "game": 1}) == (
            200,
            {"observation": "Say stop. This is episode 1. Seed 0."},
        )
        client.service.drain()
        assert await client.post("maze/create") == (200, {"error": "the server is about to stop"})


async def test_an_hour_without_a_step_and_the_id_is_unknown():
    now = 0.0
    async with serving({"maze": Echo, "webshop": Echo}, clock=lambda: now) as client:
        await client.post("maze/create")
        await client.post("webshop/create")
        now = 3000.0
        assert (await client.post("maze/step", {"id": 0, "action": "say"}))[1]["observation"] == "1: say"
        now = 3601.0
        assert (await client.post("maze/step", {"id": 0, "action": "say"}))[1]["observation"] == "2: say say"
        text = "The id 1 is not valid."
        assert await client.post("webshop/step", {"env_idx": 1, "action": "say"}) == caught("webshop", text)
        assert await client.post("webshop/reset", {"env_idx": 1, "session_id": 0}) == caught("webshop", text)
        assert await client.post("webshop/close", {"env_idx": 1}) == (200, False)
        assert await client.get("webshop/list_envs") == (200, [])
        assert client.service.registry.active == 1


async def test_ids_name_their_server():
    async with serving({"maze": Echo}, instance=3) as client:
        ids = [(await client.post("maze/create"))[1]["id"] for _ in range(2)]
        assert ids == [3 * 2**32, 3 * 2**32 + 1]
        assert (await client.post("maze/step", {"id": ids[1], "action": "say"}))[1]["observation"] == "1: say"


async def test_an_id_is_a_session_of_native_v1():
    async with serving({"maze": Echo}) as client:
        await client.post("maze/create")
        (session,) = client.service.registry.living()
        step = {"json": {"turn": 1, "action": "native"}}
        assert (await client.raw("POST", f"/sessions/{session.id}/steps", **step)).status_code == 200
        _, reply = await client.post("maze/step", {"id": 0, "action": "say"})
        assert reply["observation"] == "2: native say"
        assert session.lease_ttl_s == 3600
        await client.raw("DELETE", f"/sessions/{session.id}")
        deleted = {"error": "The task with environment 0 has been deleted."}
        assert await client.post("maze/step", {"id": 0, "action": "say"}) == (200, deleted)


async def test_a_token_comes_as_the_password_of_the_address():
    app = create_app({"maze": Echo}, settings=ServerSettings(host="0.0.0.0", token="top"))
    url = "http://envs.example/agentgym/maze/create"
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app)) as http:
        assert (await http.post(url)).status_code == 401
        assert (await http.post(url, auth=("x", "top"))).json() == {"id": 0}
    await service_of(app).close()
