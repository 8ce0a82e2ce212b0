"""Tools of a live MCP server beside one's own: offered, called, refused, and lost."""

import json
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from agentgym_envs.tooluse import ToolError, tool, with_finish
from agentgym_envs.tooluse.mcp import McpServer, McpToolEnvironment

PROGRAM = '''
"""An MCP server of two tools."""

import sys

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError

server = MCPServer("stock")


@server.tool()
def in_stock(item: str) -> int:
    """Number of pieces in stock."""
    if item not in ("bolt", "nut"):
        raise ToolError(f"no {item}")
    return {"bolt": 7, "nut": 0}[item]


@server.tool()
def greet(state: str) -> str:
    """A greeting."""
    return f"Hello {state}"


if len(sys.argv) > 1:
    server.run("streamable-http", port=int(sys.argv[1]))
else:
    server.run()
'''
TASKS = {
    "state": {"ordered": []},
    "tasks": [
        {
            "id": "order-nuts",
            "split": "train",
            "instruction": "Order what is out of stock.",
            "actions": [
                {"name": "in_stock", "arguments": {"item": "nut"}},
                {"name": "order", "arguments": {"item": "nut"}},
            ],
        }
    ],
}


@tool("write")
def order(state: dict, item: str) -> str:
    """Order an item.

    Args:
        item: Name of the item.
    """
    state["ordered"].append(item)
    return "ordered"


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("mcp") / "stock.py"
    path.write_text(PROGRAM)
    return path


@pytest.fixture
def piped(program: Path) -> Iterator[McpServer]:
    """A server that is a process of ours."""
    server = McpServer([sys.executable, str(program)])
    yield server
    server.close()


def environment(found: McpServer, folder: Path) -> McpToolEnvironment[dict]:
    (folder / "tasks.json").write_text(json.dumps(TASKS))

    class Stock(McpToolEnvironment[dict]):
        name = "stock"
        server = found
        toolset = with_finish(order)
        tasks_file = folder / "tasks.json"

    return Stock()


def call(name: str, /, **arguments: object) -> str:
    return json.dumps({"name": name, "arguments": arguments})


def test_the_expert_solves_a_task_with_both_kinds_of_tools(piped: McpServer, tmp_path: Path):
    stock = environment(piped, tmp_path)
    task = stock.task("order-nuts")
    first = stock.reset(task, seed=0)
    assert first.tools is not None
    assert [one["function"]["name"] for one in first.tools] == ["order", "finish", "in_stock", "greet"]
    assert first.tools[2]["function"]["description"] == "Number of pieces in stock."
    assert not stock.deterministic
    results = [stock.step(action) for action in stock.expert(task)]
    assert json.loads(results[0].observation.text) == {"result": 0}
    assert results[-1].reward == 1


def test_an_episode_without_the_order_earns_nothing(piped: McpServer, tmp_path: Path):
    stock = environment(piped, tmp_path)
    stock.reset(stock.task("order-nuts"), seed=0)
    stock.step(call("in_stock", item="nut"))
    assert stock.step(call("finish")).reward == 0


def test_errors_of_a_tool_and_of_arguments_are_observations(piped: McpServer, tmp_path: Path):
    stock = environment(piped, tmp_path)
    stock.reset(stock.task("order-nuts"), seed=0)
    refused = json.loads(stock.step(call("in_stock", item="cog")).observation.text)["error"]
    assert refused["code"] == "tool_error"
    assert "no cog" in refused["message"]
    misfit = json.loads(stock.step(call("in_stock", item=3)).observation.text)["error"]
    assert (misfit["code"], misfit["argument"]) == ("invalid_arguments", "item")
    with pytest.raises(ToolError):
        piped.call("nothing", {})


def test_a_tool_with_a_name_of_ones_own_is_refused(piped: McpServer, tmp_path: Path):
    stock = environment(piped, tmp_path)
    stock.toolset = with_finish(order, piped.tools()[0])
    with pytest.raises(ValueError, match="two tools are called 'in_stock'"):
        stock.reset(stock.task("order-nuts"), seed=0)


def test_a_lost_server_fails_the_episode_and_is_found_again(program: Path, tmp_path: Path):
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port = one.getsockname()[1]
    stock = environment(McpServer(f"http://127.0.0.1:{port}/mcp"), tmp_path)
    task = stock.task("order-nuts")
    with pytest.raises(ConnectionError, match=f"MCP server http://127.0.0.1:{port}/mcp: "):
        stock.reset(task, seed=0)
    with started(program, port) as process:
        stock.reset(task, seed=0)
        assert json.loads(stock.step(call("in_stock", item="bolt")).observation.text) == {"result": 7}
        process.kill()
        process.wait()
        with pytest.raises(ConnectionError):
            stock.step(call("in_stock", item="bolt"))
    with started(program, port):
        stock.reset(task, seed=0)
        assert json.loads(stock.step(call("greet", state="Ann")).observation.text) == {"result": "Hello Ann"}
    stock.server.close()


@contextmanager
def started(program: Path, port: int) -> Iterator[subprocess.Popen[bytes]]:
    """The server, once it listens; killed at the end."""
    process = subprocess.Popen([sys.executable, str(program), str(port)], stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 60
        while not listens(port):
            assert time.monotonic() < deadline, "the server did not start"
            time.sleep(0.05)
        yield process
    finally:
        process.kill()
        process.wait()


def listens(port: int) -> bool:
    with socket.socket() as one:
        return one.connect_ex(("127.0.0.1", port)) == 0
