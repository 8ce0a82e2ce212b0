"""`agentevol bench baselines`: scores by hand, environments without what they need, failed episodes."""

import json
from collections.abc import Sequence
from typing import Any

import pytest

from agentevol.cli.benchmarks import baselines
from agentevol.core.errors import ConfigError
from agentgym_envs import registry
from agentgym_envs.core import DependencyFault, StepResult
from agentgym_envs.guess import Guess, GuessTask
from agentgym_envs.registry import EnvironmentUnavailable


def rows(names: Sequence[str], tasks: int = 4) -> dict[tuple[str, str], baselines.Row]:
    found: dict[tuple[str, str], baselines.Row] = {}
    for name in names:
        measured = baselines.measured(name, tasks)
        assert not isinstance(measured, str)
        found |= {(row.env, row.split): row for row in measured}
    return found


def test_scores_of_the_smallest_environment():
    row = rows(["guess"])["guess", "train"]
    oracle, idle = row.scores["oracle"], row.scores["idle"]
    assert oracle == baselines.Mean(4, 1.0, pytest.approx(0.5101, abs=1e-4), 1.0)
    assert idle is not None
    assert (idle.mean, idle.low) == (0.0, 0.0)
    assert str(row).startswith("| `guess` | train | 4 | 1.00 (0.51 to 1.00) | ")


def test_an_environment_without_what_it_needs_is_told(monkeypatch: pytest.MonkeyPatch):
    def make(name: str) -> Any:
        raise EnvironmentUnavailable(f"{name} needs Java")

    monkeypatch.setattr(registry, "make", make)
    assert baselines.measured("sciworld", 4) == "sciworld is not measured: sciworld needs Java"


class NoExpert(Guess):
    """Half of the tasks have no expert, and steps that say 3 fail."""

    def expert(self, task: GuessTask) -> list[str] | None:
        return ["5"] if task.id.endswith("0") else None

    def step(self, action: str) -> StepResult:
        if action == "3":
            raise DependencyFault("the partner is gone")
        return super().step(action)


def test_tasks_without_an_expert_and_failed_episodes_have_no_score(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(registry, "make", lambda name: NoExpert())
    found = rows(["guess"])["guess", "train"]
    oracle, spray = found.scores["oracle"], found.scores["spray"]
    assert oracle is None or oracle.tasks < found.tasks
    assert found.failed > 0
    assert spray is None or spray.tasks < found.tasks
    assert f"{found.failed} episodes failed" in str(found)


def test_names_or_all(capsys: pytest.CaptureFixture[str]):
    with pytest.raises(ConfigError, match="name environments, or give --all"):
        baselines.main(json=True)
    baselines.main(json=True, names=["guess"], tasks=2)
    told = json.loads(capsys.readouterr().out)
    assert [row["split"] for row in told["rows"]] == ["train", "valid", "test"]
    assert set(told["rows"][0]["scores"]) == set(baselines.PLAYERS)
