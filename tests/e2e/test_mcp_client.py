"""The official MCP client against a real server: it finds the era, lists the tools, and plays to the end."""

import json
import subprocess
import sys
from collections.abc import Iterator

import httpx
import pytest
from mcp.client import Client
from mcp.shared.exceptions import MCPError
from support.readiness import ready_address

from agentgym_client import EnvClient
from agentgym_envs.registry import make

TASK = "test/small/0"


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """A server of this very command line."""
    command = [sys.executable, "-m", "agentevol", "envs", "up", "alfworld", "assistant", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        yield ready_address(process)
        process.kill()


def plan() -> list[str]:
    """Commands that win the task."""
    world = make("alfworld")
    commands = world.expert(world.task(TASK))
    assert commands
    return commands


@pytest.mark.parametrize(
    ("mode", "version"), [("auto", "2026-07-28"), ("2026-07-28", "2026-07-28"), ("legacy", "2025-11-25")]
)
async def test_the_official_client_plays_an_episode_to_its_end(address: str, mode: str, version: str):
    async with EnvClient(address) as trainer:
        session = await trainer.open("alfworld", TASK, seed=1)
        async with Client(f"{address}/sessions/{session.id}/mcp", mode=mode) as agent:
            assert agent.protocol_version == version
            assert [tool.name for tool in (await agent.list_tools()).tools] == ["act", "look"]
            looked = await agent.call_tool("look", {})
            assert looked.structured_content == {
                "result": session.observation.text,
                "available_actions": list(session.observation.actions or ()),
            }
            commands = plan()
            states = [
                (await agent.call_tool("act", {"action": command})).meta["agentevol/state"]
                for command in commands
            ]
            assert states == ["open"] * (len(commands) - 1) + ["ended"]
            with pytest.raises(MCPError) as refused:
                await agent.call_tool("act", {"action": "look"})
            assert refused.value.error.code == -32000
            assert refused.value.error.data["type"] == "urn:agentevol:problem:session-ended"
    async with httpx.AsyncClient(base_url=address) as http:
        seen = (await http.get(f"/sessions/{session.id}")).json()
    assert (seen["state"], seen["turn"], seen["total_reward"]) == ("ended", len(commands), 1.0)


async def test_the_official_client_plays_an_environment_of_tools(address: str):
    office = make("assistant")
    task = office.tasks("test", "multi")[0]
    calls = list(map(json.loads, office.expert(task) or []))
    assert len(calls) > 2
    async with EnvClient(address) as trainer:
        session = await trainer.open("assistant", task.id)
        offered = {one["function"]["name"]: one["function"] for one in session.observation.tools or ()}
    async with Client(f"{address}/sessions/{session.id}/mcp") as agent:
        listed = {tool.name: tool for tool in (await agent.list_tools()).tools}
        assert list(listed) == list(offered)
        assert {name: tool.input_schema for name, tool in listed.items()} == {
            name: one["parameters"] for name, one in offered.items()
        }
        hints = {name: tool.annotations.read_only_hint for name, tool in listed.items()}
        kinds = {name: office.toolset[name].kind for name in listed}
        assert hints == {name: kind in ("read", "generic") for name, kind in kinds.items()}
        assert set(hints.values()) == {True, False}
        for name in ("reset", "verify", "gold"):
            with pytest.raises(MCPError) as refused:
                await agent.call_tool(name, {})
            assert refused.value.error.code == -32602
        results = [await agent.call_tool(call["name"], call["arguments"]) for call in calls]
    assert not any(result.is_error for result in results)
    async with httpx.AsyncClient(base_url=address) as http:
        seen = (await http.get(f"/sessions/{session.id}")).json()
    assert (seen["state"], seen["turn"], seen["total_reward"]) == ("ended", len(calls), 1.0)


async def test_the_official_client_is_told_what_is_wrong(address: str):
    async with EnvClient(address) as trainer:
        session = await trainer.open("alfworld", TASK)
    async with Client(f"{address}/sessions/{session.id}/mcp") as agent:
        nothing = await agent.call_tool("act", {"action": "fly to the moon"})
        assert (nothing.is_error, nothing.content[0].text) == (True, "Nothing happens.")
        for name, arguments in (("reset", {}), ("act", {}), ("act", {"action": 5})):
            with pytest.raises(MCPError) as refused:
                await agent.call_tool(name, arguments)
            assert refused.value.error.code == -32602


async def test_the_official_client_finds_no_unknown_session(address: str):
    with pytest.raises(ExceptionGroup) as refused:
        await Client(f"{address}/sessions/s_{'A' * 24}/mcp").__aenter__()
    assert refused.group_contains(MCPError, match="Not Found")
