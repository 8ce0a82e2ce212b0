"""The attack suite on every registered environment of tools."""

from typing import Any

import pytest

from agentgym_envs.registry import REGISTRY, environment_class, lacking
from agentgym_envs.tooluse import ToolEnvironment
from agentgym_envs.tooluse.attacks import attack
from agentgym_envs.tooluse.renderings import mcp_tools, openai_functions, python_stubs, react_block


def environment(name: str) -> ToolEnvironment[Any, Any]:
    """An environment of tools; skips where it is none, or cannot be imported here."""
    if needs := lacking(name):
        pytest.skip(f"{name} needs {needs}")
    kind = environment_class(name)
    if not issubclass(kind, ToolEnvironment):
        pytest.skip(f"the actions of {name} are not tool calls")
    return kind()


@pytest.mark.parametrize("name", REGISTRY)
def test_no_attack_earns_a_reward_or_does_harm(name: str) -> None:
    report = attack(environment(name), tasks=4)
    assert {result.name: result.violations for result in report.results if result.violations} == {}


@pytest.mark.parametrize("name", REGISTRY)
def test_all_renderings_have_the_same_tools_and_arguments(name: str) -> None:
    tools = environment(name).toolset.values()
    functions = {one["function"]["name"]: one["function"]["parameters"] for one in openai_functions(tools)}
    assert {one["name"]: one["inputSchema"] for one in mcp_tools(tools)} == functions
    stubs, block = python_stubs(tools), react_block(tools)
    compile(stubs, "stubs", "exec")
    for tool in tools:
        names = list(tool.parameters.get("properties", {}))
        ordered = sorted(names, key=lambda name: name not in tool.required)
        assert f"Name: {tool.name}({', '.join(ordered)})" in block
        signature = next(line for line in stubs.splitlines() if line.startswith(f"    def {tool.name}(self"))
        for name in names:
            assert f", {name}: " in signature
