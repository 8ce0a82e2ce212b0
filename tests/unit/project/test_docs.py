"""The documentation is true: its commands exist, its code runs, its links lead somewhere."""

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from polars import SQLContext
from support.trajectories import trajectory

from agentevol.cli.reference import commands, reference
from agentevol.rollout import environment_server
from agentgym_envs.testing import check_environment
from agentgym_server.gateway import supervisor
from agentgym_server.workers import pool
from agentgym_store.records import Sample, Truncated, Turn
from agentgym_store.sql.authorizer import authorize, authorize_plan
from agentgym_store.sql.views import views
from agentgym_store.store import Store

ROOT = Path(__file__).resolve().parents[3]
README = ROOT / "README.md"
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").glob("*.md"))]
COMMANDS = dict(commands())
CHEAP = ("agentevol --help", "agentevol envs list", "agentevol envs check guess", "agentevol data list")
"""Commands that the pages show and that a test runs."""


def blocks(page: Path, languages: str) -> Iterator[str]:
    """Fenced blocks of a page in one of the languages (a regular expression)."""
    yield from re.findall(rf"^```(?:{languages})\n(.*?)^```", page.read_text(encoding="utf-8"), re.M | re.S)


def shown_commands(page: Path) -> list[str]:
    """Every `agentevol ...` and `make ...` that a page tells people to type."""
    text = page.read_text(encoding="utf-8")
    fenced = [line for block in blocks(page, "sh|console|bash") for line in block.splitlines()]
    indented = re.findall(r"^ {4}((?:agentevol|make) .*)$", text, re.M)
    inline = re.findall(r"`((?:agentevol|make) [^`\n]+)`", text)
    lines = [line.removeprefix("$ ").split("  #")[0].strip() for line in (*fenced, *indented, *inline)]
    return [line for line in lines if re.match(r"(agentevol|make) [-\w]", line)]


def unknown_part(line: str) -> str | None:
    """What of an `agentevol` command line does not exist: a subcommand or an option."""
    words = shlex.split(line)
    path, rest = "agentevol", words[1:]
    while rest and f"{path} {rest[0]}" in COMMANDS:
        path, rest = f"{path} {rest[0]}", rest[1:]
    command: Any = COMMANDS[path]
    if getattr(command, "commands", None) and rest and not rest[0].startswith("-"):
        return rest[0]
    known = {name for parameter in command.params for name in parameter.opts} | {"--help", "-h", "--debug"}
    return next((word for word in rest if word.startswith("-") and word.partition("=")[0] not in known), None)


SHOWN = [pytest.param(line, id=f"{page.name}: {line}") for page in PAGES for line in shown_commands(page)]


@pytest.mark.parametrize("line", SHOWN)
def test_a_command_that_a_page_shows_exists(line: str) -> None:
    if line.startswith("make "):
        targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M)
        assert line.split()[1] in targets
    else:
        assert unknown_part(line) is None


def test_the_readme_shows_the_two_commands() -> None:
    assert {"make run", "make test"} <= set(shown_commands(README))


def test_the_check_of_commands_notices_what_does_not_exist() -> None:
    assert unknown_part("agentevol envs list --json") is None
    assert unknown_part("agentevol envs lits") == "lits"
    assert unknown_part("agentevol evolve") == "evolve"
    assert unknown_part("agentevol envs list --jsn") == "--jsn"
    assert len(SHOWN) >= 8  # the pages do show commands


@pytest.mark.parametrize("line", CHEAP)
def test_a_cheap_command_that_a_page_shows_runs(
    line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGENTEVOL_HOME", str(tmp_path))
    command = [sys.executable, "-m", "agentevol", *shlex.split(line)[1:]]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.strip()


def test_the_reference_of_commands_is_up_to_date() -> None:
    page = ROOT / "docs" / "cli.md"
    assert page.read_text(encoding="utf-8") == reference(), "run: make docs"


def test_every_command_shows_an_example_of_itself() -> None:
    leaves = {path: command for path, command in COMMANDS.items() if not getattr(command, "commands", None)}
    without = [path for path, command in leaves.items() if f"Example: {path}" not in (command.help or "")]
    assert without == []
    assert len(leaves) >= 8


def test_the_environment_of_the_guide_keeps_the_contract(tmp_path: Path) -> None:
    environment, options, seats, assets, check = blocks(ROOT / "docs" / "environments.md", "python")
    names: dict[str, Any] = {"__name__": "guide"}
    exec(compile(environment, "environments.md", "exec"), names)  # our own page, not somebody's input
    exec(compile(options, "environments.md", "exec"), names)
    exec(compile(seats, "environments.md", "exec"), names)
    exec(compile(assets, "environments.md", "exec"), names)
    names["ATLAS"] = tmp_path / "atlas.bin"
    names["ATLAS"].write_bytes(b"town")
    report = check_environment(names["Backwards"])
    for one in (report, *(check_environment(names[name]) for name in ("Spelling", "Duel", "Forwards"))):
        assert one.passed, one.lines()
    exec(compile(check, "environments.md", "exec"), names)
    assert names["report"] == report


def test_the_code_of_the_gymnasium_page_runs() -> None:
    names: dict[str, Any] = {}
    code = list(blocks(ROOT / "docs" / "gymnasium.md", "python"))
    for block in code:
        exec(compile(block, "gymnasium.md", "exec"), names)  # our own page, not somebody's input
    assert len(code) == 2


def test_the_statements_of_the_page_of_trajectories_run(tmp_path: Path) -> None:
    store = Store.open(tmp_path / "table")
    sample = Sample(text="x", prompt_ids=(1,), token_ids=(2,), logprobs=(-1.0,), policy_version=0)
    turn = Turn(action="look", observation="", reward=0.0, sample=sample, info={"mode": 2}, environment_s=0.5)
    ending = Truncated(limit="max_turns")
    store.append([trajectory(id="a", turns=(turn,), ending=ending)], commit={"a": "1"})
    statements = list(blocks(ROOT / "docs" / "trajectories.md", "sql"))
    for statement in statements:
        authorize(statement)
        frame: Any = SQLContext(views(store, None, lambda _: None)).execute(statement)
        authorize_plan(frame.explain(optimized=False))
        assert frame.collect(engine="streaming").height == 1, statement
    assert len(statements) == 7


def test_the_kubernetes_example_starts_commands_that_exist() -> None:
    (block,) = blocks(ROOT / "docs" / "deployment.md", "yaml")
    documents = list(yaml.safe_load_all(block))
    pods = [one["spec"]["template"]["spec"] for one in documents if one["kind"] == "Deployment"]
    commands = [shlex.join(container["args"]) for pod in pods for container in pod["containers"]]
    assert [command.split()[:3] for command in commands] == [
        ["agentevol", "envs", "serve"],
        ["agentevol", "envs", "gateway"],
    ]
    assert [unknown_part(command) for command in commands] == [None, None]


def test_the_mcp_page_names_the_major_version_of_the_client_that_is_tested() -> None:
    pinned = re.search(r"^mcp==(\d+)\.", (ROOT / "constraints.txt").read_text(encoding="utf-8"), re.M)
    assert pinned is not None
    major = int(pinned[1])
    text = (ROOT / "docs" / "mcp.md").read_text(encoding="utf-8")
    assert f"version {major} of the official client (`pip install 'mcp>={major},<{major + 1}'`" in text


def test_the_page_of_deployment_says_how_long_restarts_wait() -> None:
    text = " ".join((ROOT / "docs" / "deployment.md").read_text(encoding="utf-8").split())
    for sentence in (
        f"starts a server again {supervisor.FIRST_PAUSE_S:g} s after its process ended",
        f"doubles the pause, up to {supervisor.LONGEST_PAUSE_S:g} s",
        f"lived longer than {supervisor.STEADY_S:g} s begins with {supervisor.FIRST_PAUSE_S:g} s again",
        f"not ready within {supervisor.START_TIMEOUT_S:g} s is ended",
        f"{pool.FIRST_PAUSE_S:g} s first and twice as long each time, up to {pool.LONGEST_PAUSE_S:g} s",
        f"then every second where that fails, {environment_server.RESTARTS} times at most",
    ):
        assert sentence in text
    assert environment_server.RETRY_S == 1.0  # "every second"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_of_a_page_lead_to_files(page: Path) -> None:
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    links = [link for link in re.findall(r"\]\(([^)#\s]+)", text) if "://" not in link]
    assert [link for link in links if not (page.parent / link).exists()] == []
