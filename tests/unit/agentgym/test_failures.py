"""What AgentGym's clients hear of what cannot be read, and of environments that break."""

from typing import Any

import pytest
from support.server.agentgym import DIALECTS, RESETS, caught, serving
from support.server.environments import CheapMischief, Echo, Mischief

from agentgym_envs.core import Observation, Task


@pytest.mark.parametrize("env", ["maze", "webshop", "webarena"])
@pytest.mark.parametrize(
    ("body", "detail"),
    [
        (b"", {"type": "missing", "loc": ["body"], "msg": "Field required"}),
        (b"{}", {"type": "missing", "msg": "Field required"}),
        (b"[0]", {"type": "model_attributes_type", "loc": ["body"]}),
        (b"5", {"type": "model_attributes_type", "loc": ["body"]}),
        (b"{'id': 0}", {"type": "json_invalid", "loc": ["body", 1]}),
        (b'{"id": 0, "env_idx": 0, "action": "\\ud800"}', {"type": "json_invalid"}),
        (b'{"id": 0, "env_idx": 0, "action": "\xff"}', {"type": "json_invalid"}),
        (b'{"id": NaN}', {"type": "json_invalid"}),
        (b"[" * 100_000, {"type": "json_invalid"}),
        (b"1" * 5000, {"type": "json_invalid"}),
        (b'{"id": 0, "env_idx": 0}', {"type": "missing", "loc": ["body", "action"]}),
        (b'{"id": 0, "env_idx": 0, "action": 5}', {"type": "string_type", "loc": ["body", "action"]}),
        (b'{"id": 0, "env_idx": 0, "action": null}', {"type": "string_type"}),
        (
            b'{"id": 0, "env_idx": 0, "action": "%b"}' % (b"x" * 100_000),
            {"loc": ["body", "action"], "msg": "must have at most 65536 characters"},
        ),
    ],
)
async def test_a_step_that_cannot_be_read(env: str, body: bytes, detail: dict[str, Any]):
    async with serving({env: Echo}) as client:
        await client.post(f"{env}/create")
        status, reply = await client.post(f"{env}/step", content=body)
        assert status == 422
        assert detail.items() <= reply["detail"][0].items()
        assert len(str(reply)) < 500
        assert client.service.registry.active == 1


@pytest.mark.parametrize("query", ["", "?id=", "?id=x", "?id=1.5", "?id=" + "9" * 5000, "?action=say"])
async def test_a_question_without_a_readable_id(query: str):
    async with serving({"maze": Echo}) as client:
        await client.post("maze/create")
        status, reply = await client.get(f"maze/observation{query}")
        assert status == 422
        assert reply["detail"][0]["loc"] == ["query", "id"]


@pytest.mark.parametrize("seed", [-1, 2**53, "0", None])
async def test_a_seed_out_of_range_ends_no_episode(seed: Any):
    async with serving({"webarena": Echo}) as client:
        await client.post("webarena/create")
        await client.post("webarena/step", {"env_idx": 0, "action": "say"})
        status, reply = await client.post("webarena/reset", {"env_idx": 0, "idx": 0, "seed": seed})
        assert (status, reply["detail"][0]["loc"]) == (422, ["body", "seed"])
        assert await client.get("webarena/observation?env_idx=0") == (200, "1: say")


async def test_a_body_beyond_the_limit_is_refused():
    async with serving({"maze": Echo}) as client:
        reply = await client.raw("POST", "/agentgym/maze/step", content=b" " * (2**20 + 1))
        assert reply.status_code == 413


async def test_errors_repeat_little_of_what_was_sent():
    async with serving({"maze": Echo}) as client:
        _, reply = await client.post("maze/step", content=b'{"id": %b, "action": ""}' % (b"9" * 4000))
        assert len(reply["error"]) == 256
        missing = await client.raw("GET", f"/agentgym/{'x' * 5000}")
        assert len(missing.content) < 400


FAILURES = {
    "maze": {"error": "the environment broke"},
    "webshop": {"error": "the environment broke"},  # 200: any other status is posted again, five times
    "webarena": {"observation": "the environment broke", "error": "the environment broke"},
}


@pytest.mark.parametrize(("env", "id_name"), DIALECTS)
async def test_a_broken_environment_earns_nothing_and_does_not_act_again(env: str, id_name: str):
    async with serving({env: CheapMischief}) as client:
        await client.post(f"{env}/create")
        await client.post(f"{env}/step", {id_name: 0, "action": "say"})
        for _ in range(3):
            assert await client.post(f"{env}/step", {id_name: 0, "action": "raise"}) == (200, FAILURES[env])
        status, other = await client.post(f"{env}/step", {id_name: 0, "action": "say"})
        assert (status, other["error"]) == (200, "the episode failed")
        assert await client.get(f"{env}/observation?{id_name}=0") == caught(
            env, "the episode failed: the environment broke"
        )
        assert client.service.registry.totals()["failed"] == 1
        assert (await client.post(f"{env}/reset", {id_name: 0, **RESETS[env]}))[0] == 200
        _, stepped = await client.post(f"{env}/step", {id_name: 0, "action": "say"})
        assert "1: say" in (stepped.get("state"), stepped.get("observation"))


async def test_a_lost_worker_costs_its_episode():
    async with serving({"webshop": Mischief}, workers=1) as client:
        await client.post("webshop/create")
        for _ in range(2):
            assert await client.post("webshop/step", {"env_idx": 0, "action": "exit"}) == (
                200,
                {"error": "the worker of this episode died"},
            )
        assert (await client.post("webshop/reset", {"env_idx": 0, "session_id": 0}))[0] == 200
        assert (await client.post("webshop/step", {"env_idx": 0, "action": "say"}))[1]["reward"] == 0.125


class Unready(Echo):
    def reset(self, task: Task, seed: int) -> Observation:
        if task.id == "train/1":
            raise RuntimeError("cannot begin")
        return super().reset(task, seed)


async def test_a_reset_that_fails_leaves_an_id_that_can_be_reset():
    worlds = dict.fromkeys(("maze", "webshop", "webarena"), Unready)
    resets = {"maze": {"game": 1}, "webshop": {"session_id": 1}, "webarena": {"seed": 0, "idx": 1}}
    async with serving(worlds) as client:
        for number, (env, id_name) in enumerate(DIALECTS):
            await client.post(f"{env}/create")
            failed = await client.post(f"{env}/reset", {id_name: number, **resets[env]})
            text = "the environment broke"
            expected = (200, {"observation": "TimeoutError", "error": text})
            assert failed == (expected if env == "webarena" else caught(env, text))
            gone = f"The task with environment {number} has been deleted."
            assert await client.post(f"{env}/step", {id_name: number, "action": "say"}) == caught(env, gone)
            assert (await client.post(f"{env}/reset", {id_name: number, **RESETS[env]}))[0] == 200
            assert (await client.post(f"{env}/step", {id_name: number, "action": "say"}))[0] == 200
        assert client.service.registry.active == 3
