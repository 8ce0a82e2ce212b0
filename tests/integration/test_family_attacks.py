"""Attack suite on AgentGym's families of tools, with more tasks than the contract tests play."""

import pytest

from agentgym_envs.families.environment import FamilyEnvironment
from agentgym_envs.registry import make
from agentgym_envs.tooluse.attacks import attack


@pytest.mark.parametrize("name", ["weather", "movie", "academia", "todo", "sheet"])
def test_no_attack_earns_anything(name: str) -> None:
    family = make(name)
    assert isinstance(family, FamilyEnvironment)
    # With fewer tasks, a constant that answers its own task and one more is above the bound.
    report = attack(family, tasks=20)
    assert {result.name: result.violations for result in report.results if result.violations} == {}
