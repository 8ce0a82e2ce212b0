"""Contract of environments with a simulated user."""

import pytest
from support.tau import USER_MODEL, endpoint, wired

from agentgym_envs.tau.retail import TauRetail
from agentgym_envs.tau.users import UserMode
from agentgym_envs.testing import Report, check_environment


def violated(report: Report) -> list[str]:
    return [violation for result in report.results for violation in result.violations]


@pytest.mark.parametrize("user", ["stub", "scripted"])
def test_environments_with_a_user_by_rules_keep_the_contract(user: UserMode) -> None:
    report = check_environment(lambda: TauRetail(user=user), tasks_per_split=1, rows_per_split=8)
    assert violated(report) == []


def test_an_environment_with_a_model_as_the_user_keeps_the_contract(monkeypatch: pytest.MonkeyPatch) -> None:
    transport, _ = endpoint({"content": "I see."})
    environment = wired(TauRetail(user="llm", user_model=USER_MODEL), transport, monkeypatch)
    report = check_environment(
        lambda: TauRetail(user="llm", user_model=USER_MODEL, sources=(environment.builtin(),)),
        tasks_per_split=1,
        rows_per_split=4,
    )
    assert violated(report) == []
    assert next(result.cases for result in report.results if result.name == "fork") > 0
