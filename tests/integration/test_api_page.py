"""The examples of the page of the public API run."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

PAGE = Path(__file__).resolve().parents[2] / "docs" / "api.md"
SECTIONS = dict(re.findall(r"^## (\w+)\n(.*?)(?=^## |\Z)", PAGE.read_text("utf-8"), re.M | re.S))
"""Package to its section of the page."""


@pytest.mark.parametrize(
    ("package", "examples"),
    [
        pytest.param("agentevol", 5, marks=pytest.mark.slow),  # a run and an update, as small as they can be
        ("agentgym_client", 1),
        ("agentgym_envs", 1),
        ("agentgym_server", 1),
        ("agentgym_store", 1),
    ],
)
def test_the_code_of_a_section_runs(
    package: str, examples: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("AGENTEVOL_HOME", str(tmp_path / "home"))
    code = re.findall(r"^```python\n(.*?)^```", SECTIONS[package], re.M | re.S)
    names: dict[str, Any] = {"__name__": "api"}
    for block in code:
        exec(compile(block, "api.md", "exec"), names)  # our own page, not somebody's input
    assert len(code) == examples


def test_the_script_serves_an_environment(tmp_path: Path) -> None:
    (code,) = re.findall(r"^```python\n(.*?)^```", SECTIONS["agentgym_server"], re.M | re.S)
    script = tmp_path / "script.py"
    script.write_text(code.replace("8000", "0"))  # a free port
    with subprocess.Popen([sys.executable, script], stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        assert server.stdout.readline().startswith("ready http://127.0.0.1:")
        server.terminate()
        assert server.wait(30) == 0
