import json

import pytest
from typer.testing import CliRunner

from agentevol.cli import app
from agentevol.config.sections.engine import EmbeddedConfig
from agentevol.rollout import engine_factory
from agentgym_envs import registry
from agentgym_envs.guess import Guess
from agentgym_envs.registry import EnvironmentUnavailable
from agentgym_envs.testing import CheckResult, Report


@pytest.mark.parametrize(
    ("violations", "code", "line"),
    [((), 0, "embedded: keeps the contract"), (("too slow",), 1, "embedded: BREAKS the contract")],
)
def test_an_engine_is_checked_with_its_settings(violations, code, line, monkeypatch: pytest.MonkeyPatch):
    started = []
    monkeypatch.setattr(engine_factory, "start_engine", lambda settings, _: started.append(settings))

    def checked(name, start, checkpoint):
        start(checkpoint)
        return Report(env=name, results=(CheckResult(name="seeds", cases=1, violations=violations),))

    monkeypatch.setattr("agentevol.engines.check.check_engine", checked)
    shown = CliRunner().invoke(app, ["check", "engine", "embedded", "engine.dtype=bfloat16"])
    assert (shown.exit_code, shown.stdout.splitlines()[0]) == (code, line)
    assert started == [EmbeddedConfig(slots=4, context=128, dtype="bfloat16")]


def test_a_setting_of_another_section_is_refused():
    refused = CliRunner().invoke(app, ["check", "engine", "embedded", "learn.epochs=3"])
    assert str(refused.exception) == "learn.epochs has no effect in this check: see engine.*"


def test_a_judge_is_checked_with_its_options():
    shown = CliRunner().invoke(
        app, ["check", "judge", "support.judges:Brief", "reward.options.offset=-1.0", "reward.concurrency=2"]
    )
    assert (shown.exit_code, shown.stdout.splitlines()[0]) == (0, "support.judges:Brief: keeps the contract")
    silent = CliRunner().invoke(app, ["check", "judge", "support.judges:Broken"])
    assert (silent.exit_code, silent.stdout.splitlines()[0]) == (
        1,
        "support.judges:Broken: BREAKS the contract",
    )
    refused = CliRunner().invoke(app, ["check", "judge", "support.judges:Brief", "reward.beta=3"])
    assert str(refused.exception) == "reward.beta has no effect in this check: see reward.options.*"


def test_what_a_machine_lacks_is_no_failure_unless_it_is_named(monkeypatch: pytest.MonkeyPatch):
    def make(name: str) -> Guess:
        if name == "sciworld":
            raise EnvironmentUnavailable("it needs Java")
        return Guess()

    monkeypatch.setattr(registry, "make", make)
    monkeypatch.setattr(registry, "names", lambda: ["guess", "sciworld"])
    everything = CliRunner().invoke(app, ["envs", "check"])
    assert everything.exit_code == 0
    assert "sciworld: not checked: it needs Java" in everything.stdout
    named = CliRunner().invoke(app, ["envs", "check", "sciworld", "--json"])
    assert named.exit_code == 1
    assert json.loads(named.stdout) == [{"env": "sciworld", "passed": None, "reason": "it needs Java"}]
