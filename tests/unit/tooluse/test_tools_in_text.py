"""Tools told as signatures in the first observation, in every environment of tools that has the option."""

import pytest
from support.tool_environments import NAMES

from agentevol.config.presets.defaults import BY_ENVIRONMENT
from agentgym_envs.registry import make, names
from agentgym_envs.tools import simplest_call
from agentgym_envs.tooluse import ToolEnvironment


def test_every_environment_of_tools_has_the_option_and_runs_use_it() -> None:
    assert tuple(name for name in names() if isinstance(make(name), ToolEnvironment)) == NAMES
    used = [BY_ENVIRONMENT[name]["environment"]["options"] for name in NAMES]
    assert used == [{"tools_in": "text"}] * len(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_the_first_observation_has_a_signature_of_each_tool_and_no_schema(name: str) -> None:
    plain, told = make(name), make(name, tools_in="text")
    task = told.tasks(told.splits[0])[0]
    first, schemas = told.reset(task, 0), plain.reset(task, 0).tools
    assert schemas
    functions = [schema["function"]["name"] for schema in schemas]
    lines = [line.partition("(")[0] for line in first.text.splitlines() if line.endswith(")")]
    assert set(functions) <= set(lines)
    result = told.step(simplest_call(schemas[0]))
    assert (first.tools, result.observation.tools) == (None, None)
    told.close()
    plain.close()


@pytest.mark.parametrize("name", NAMES)
def test_another_place_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="tools_in is schemas or text, not 'nowhere'"):
        make(name, tools_in="nowhere")
