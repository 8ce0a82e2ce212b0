"""Domains of tau with their published tasks: the contract of environments, and the attack suite."""

from importlib import import_module
from pathlib import Path

import pytest

from agentevol.cli.data import IMPORTERS
from agentgym_envs.registry import make
from agentgym_envs.testing import check_environment
from agentgym_envs.tooluse import ToolEnvironment
from agentgym_envs.tooluse.attacks import attack

pytestmark = pytest.mark.golden
DOMAINS = [name for name in IMPORTERS if name.startswith("tau-")]


@pytest.fixture(scope="module")
def home(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The published tasks of all domains, imported."""
    source = shared_data / "tau"
    if not source.is_dir():
        pytest.skip(f"no tau in {shared_data}")
    folder = tmp_path_factory.mktemp("home")
    for name in DOMAINS:
        import_module(IMPORTERS[name]).import_official(source, folder)
    return folder


@pytest.mark.parametrize("name", DOMAINS)
def test_a_domain_with_its_published_tasks_keeps_the_contract(name: str, home: Path) -> None:
    report = check_environment(lambda: make(name, home=home))
    assert report.passed, "\n".join(report.lines())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "split"),
    [
        ("tau-airline", "tau1_test"),
        ("tau-airline", "tau2_test"),
        ("tau-airline", "tau2_train"),
        ("tau-mock", "tau2_base"),
        ("tau-retail", "tau1_dev"),
        ("tau-retail", "tau1_test"),
        ("tau-retail", "tau2_test"),
        ("tau-retail", "tau2_train"),
        ("tau-telecom", "tau2_small"),
        ("tau-telecom", "tau2_test"),
        ("tau-telecom", "tau2_train"),
    ],
)
def test_no_attack_earns_more_than_declared_on_any_published_task(name: str, split: str, home: Path) -> None:
    environment = make(name, home=home)
    assert isinstance(environment, ToolEnvironment)
    report = attack(environment, tasks=None, splits=(split,))
    assert report.passed, [result for result in report.results if result.violations]
    played = {result.name: result for result in report.results}
    assert played["oracle"].mean == 1.0
    assert played["do_nothing"].mean <= environment.attack_bounds.get("do_nothing", (0.0, 0.0))[1]
