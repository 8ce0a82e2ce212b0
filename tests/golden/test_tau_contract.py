"""Domains of tau with their published tasks keep the contract of environments."""

from importlib import import_module
from pathlib import Path

import pytest

from agentevol.cli.data import IMPORTERS
from agentgym_envs.registry import make
from agentgym_envs.testing import check_environment

pytestmark = pytest.mark.golden
DOMAINS = [name for name in IMPORTERS if name.startswith("tau-")]


@pytest.mark.parametrize("name", DOMAINS)
def test_a_domain_with_its_published_tasks_keeps_the_contract(
    name: str, shared_data: Path, tmp_path: Path
) -> None:
    source = shared_data / "tau"
    if not source.is_dir():
        pytest.skip(f"no tau in {shared_data}")
    import_module(IMPORTERS[name]).import_official(source, tmp_path)
    report = check_environment(lambda: make(name, home=tmp_path))
    assert report.passed, "\n".join(report.lines())
