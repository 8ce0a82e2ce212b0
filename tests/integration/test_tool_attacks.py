"""Attack suite on environments of tools, with more tasks than the contract tests play."""

from typing import Any

import pytest

from agentgym_envs.families.environment import FamilyEnvironment
from agentgym_envs.registry import make
from agentgym_envs.tau.telecom import TauTelecom
from agentgym_envs.tooluse.attacks import attack


@pytest.mark.parametrize("name", ["weather", "movie", "academia", "todo", "sheet"])
def test_no_attack_earns_anything(name: str) -> None:
    family = make(name)
    assert isinstance(family, FamilyEnvironment)
    # With fewer tasks, a constant that answers its own task and one more is above the bound.
    report = attack(family, tasks=20)
    assert {result.name: result.violations for result in report.results if result.violations} == {}


@pytest.mark.parametrize("name", ["tau-retail", "tau-airline", "tau-mock"])
def test_no_attack_earns_anything_at_a_desk(name: str) -> None:
    environment: Any = make(name)
    report = attack(environment, tasks=12)
    means = {result.name: result.mean for result in report.results}
    assert report.passed, [result for result in report.results if result.violations]
    assert means.pop("oracle") == 1.0
    assert means.pop("random_calls") <= 0.05  # its calls are drawn from the experts'
    assert means.pop("oracle_shuffled") in (0.0, 1.0)  # 0 where no plan has two reads in a row
    assert set(means.values()) == {0.0}


def test_attacks_on_telecom_are_within_the_stated_bounds() -> None:
    report = attack(TauTelecom(), tasks=12)
    assert report.passed, [result for result in report.results if result.violations]
    means = {result.name: result.mean for result in report.results}
    assert (means["oracle"], means["do_nothing"], means["submit_first"]) == (1.0, 0.0, 0.0)


def test_strict_telecom_closes_what_the_benchmark_pays_for() -> None:
    report = attack(TauTelecom(strict=True), tasks=12)
    means = {result.name: result.mean for result in report.results}
    assert (means["oracle"], means["always_refuse"]) == (1.0, 0.0)
