"""Contract and attack suite of the environment with imported tasks beside its own."""

from pathlib import Path

import pytest

from agentgym_envs.sql import SQL
from agentgym_envs.sql.imported.importing import import_official
from agentgym_envs.testing import check_environment
from agentgym_envs.tooluse.attacks import attack
from tests.support.pets import write


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sql")
    import_official(write(folder / "source"), folder / "home")
    return folder / "home"


def test_the_contract_is_kept(home: Path) -> None:
    report = check_environment(lambda: SQL(home=home), tasks_per_split=2, rows_per_split=4)
    assert report.passed, report.lines()


@pytest.mark.slow
def test_the_attacks_earn_nothing(home: Path) -> None:
    report = attack(SQL(home=home), tasks=20)
    assert {one.name: one.violations for one in report.results if one.violations} == {}
    assert {one.name: one.mean for one in report.results if one.name == "oracle"} == {"oracle": 1.0}
