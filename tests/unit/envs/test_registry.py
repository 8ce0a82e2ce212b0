"""The registry lists without importing, makes by name, and takes in what other distributions offer."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from agentevol.cli.envs.options import chosen
from agentgym_envs import registry
from agentgym_envs.guess import Guess


@pytest.fixture
def foreign(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A distribution `chess-world` on the path, as pip leaves it: metadata and a module."""
    metadata = tmp_path / "chess_world-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: chess-world\nVersion: 1.0\nSummary: Mate in two.\n"
    )
    lines = ["chess = chess_world:Chess", "guess = chess_world:Chess", "draughts = chess_world:Draughts"]
    (metadata / "entry_points.txt").write_text("\n".join([f"[{registry.ENTRY_POINT_GROUP}]", *lines]) + "\n")
    (tmp_path / "chess_world.py").write_text(
        "from agentgym_envs.guess import Guess\nclass Chess(Guess):\n    name = 'chess'\nDraughts = int\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def test_a_registered_name_makes_its_environment() -> None:
    assert isinstance(registry.make("guess"), Guess)
    assert registry.environment_class("guess") is Guess


def test_an_unknown_name_is_told_what_there_is() -> None:
    with pytest.raises(registry.UnknownEnvironment) as raised:
        registry.make("gues")
    assert str(raised.value) == f"no environment named 'gues'; there are: {', '.join(registry.names())}"


def test_names_are_those_of_the_registry_when_nobody_else_adds_any() -> None:
    assert registry.names() == sorted(registry.REGISTRY)
    assert "alfworld" in registry.names()


@pytest.mark.usefixtures("foreign")
def test_an_entry_point_adds_an_environment() -> None:
    assert "chess" in registry.names()
    assert registry.make("chess").name == "chess"
    entry = next(entry for entry in registry.describe() if entry.name == "chess")
    assert entry.model_dump() == {
        "name": "chess",
        "target": "chess_world:Chess",
        "distribution": "chess-world",
        "summary": "Mate in two.",
    }


@pytest.mark.usefixtures("foreign")
def test_an_entry_point_cannot_replace_an_environment_of_this_project() -> None:
    assert type(registry.make("guess")) is Guess
    assert [entry.distribution for entry in registry.describe() if entry.name == "guess"] == ["agentevol"]


@pytest.mark.usefixtures("foreign")
def test_what_is_not_an_environment_is_refused() -> None:
    with pytest.raises(registry.EnvironmentUnavailable, match="chess_world:Draughts is not an Environment"):
        registry.make("draughts")


def test_a_module_that_cannot_be_imported_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(registry.REGISTRY, "absent", "agentgym_envs.no_such_module:Absent")
    with pytest.raises(
        registry.EnvironmentUnavailable, match=r"'absent' cannot be imported: No module named"
    ):
        registry.make("absent")


def test_the_summary_is_the_first_line_of_the_module() -> None:
    summaries = {entry.name: entry.summary for entry in registry.describe()}
    assert (
        summaries["guess"]
        == 'Guess a hidden number from "higher" and "lower": the smallest complete environment.'
    )
    assert summaries["alfworld"].startswith("ALFWorld")


def test_listing_imports_no_environment() -> None:
    program = (
        "import sys; from agentgym_envs.registry import describe; entries = describe(); "
        "loaded = [e.name for e in entries if e.target.partition(':')[0] in sys.modules]; "
        "print(*(e.name for e in entries if e.distribution == 'agentevol'), loaded)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == [*sorted(registry.REGISTRY), "[]"]


def test_what_is_not_installed_is_said_with_the_extra_that_brings_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(registry.NEEDS, "absent", ("json", "nowhere_to_be_found"))
    monkeypatch.setitem(registry.REGISTRY, "absent", "nowhere_to_be_found:World")
    told = "nowhere_to_be_found: pip install 'agentevol[absent]'"
    assert (registry.lacking("absent"), registry.lacking("guess")) == (told, "")
    with pytest.raises(registry.EnvironmentUnavailable, match=f"it needs {re.escape(told)}"):
        registry.environment_class("absent")


def test_who_names_no_environments_gets_those_that_can_be_had(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(registry.NEEDS, "webshop", ("nowhere_to_be_found",))
    assert chosen(None) == [name for name in registry.names() if not registry.lacking(name)]
    told = capsys.readouterr().err.splitlines()
    assert "webshop is left out: it needs nowhere_to_be_found: pip install 'agentevol[webshop]'" in told


def test_what_is_installed_without_its_dependencies_is_a_second_command(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(registry.NEEDS, "bfcl", ("nowhere_to_be_found",))
    assert registry.lacking("bfcl") == (
        "nowhere_to_be_found: pip install 'agentevol[bfcl]' && pip install --no-deps bfcl-eval==2026.3.23"
    )
