"""The client of the package's engine, with small programs in place of the engine: none needs the package."""

import os
import subprocess
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pytest
from pydantic import ValidationError
from support.sotopia import say, scene

from agentgym_envs.sotopia.package.client import (
    INTERPRETER,
    EndpointFailed,
    JudgeFailed,
    PackageEngine,
    PackageError,
    PackageLost,
    PackageMissing,
    PackageTimeout,
    RequestRefused,
)
from agentgym_envs.sotopia.package.records import record
from agentgym_envs.sotopia.package.request import EpisodeRequest
from agentgym_envs.sotopia.protocol.dimensions import SOTOPIA

HELLO = """
import json, os, sys, time
def answer(reply):
    print(json.dumps(reply), flush=True)
answer({"ok": {"sotopia": "0.1.5", "litellm": "1", "python": "3"}})
"""
Started = Callable[[str], PackageEngine]
WANTED = EpisodeRequest(scene=scene(), script=(say("Hi"), ()))


@pytest.fixture
def start(tmp_path: Path) -> Started:
    """Start a program as the engine."""

    def started(text: str) -> PackageEngine:
        program = tmp_path / "program.py"
        program.write_text(text)
        return PackageEngine(sys.executable, program=program, timeout_s=0.3, start_timeout_s=20)

    return started


def test_without_an_interpreter_the_error_says_how_to_get_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv(INTERPRETER, raising=False)
    with pytest.raises(PackageMissing, match=r"no interpreter .* is named; .*pip install sotopia==0.1.5"):
        PackageEngine()
    with pytest.raises(PackageMissing, match=r"nowhere: No such file or directory; .*pip install"):
        PackageEngine(tmp_path / "nowhere")
    monkeypatch.setenv(INTERPRETER, str(tmp_path / "elsewhere"))
    with pytest.raises(PackageMissing, match="elsewhere: No such file"):
        PackageEngine()


@pytest.mark.skipif(find_spec("sotopia") is not None, reason="this interpreter has the package")
def test_an_interpreter_without_the_package_is_told_apart() -> None:
    with pytest.raises(PackageMissing, match=r"No module named 'sotopia'; .*pip install sotopia==0.1.5"):
        PackageEngine(sys.executable)


def test_another_release_is_refused(start: Started) -> None:
    with pytest.raises(PackageMissing, match=r"has sotopia 0\.1\.4, not 0\.1\.5"):
        start(HELLO.replace("0.1.5", "0.1.4"))


def test_a_program_that_does_not_start_is_quoted(start: Started) -> None:
    with pytest.raises(PackageMissing, match="exit code 3: no such library"):
        start("import sys; print('no such library', file=sys.stderr); sys.exit(3)")


def test_a_process_that_ends_is_an_error_with_its_last_words(start: Started) -> None:
    with start(HELLO + "sys.stdin.readline(); sys.exit('out of memory')") as engine:
        with pytest.raises(PackageLost, match="exit code 1: out of memory"):
            engine.episode(WANTED)
        with pytest.raises(PackageLost, match="the engine is closed"):
            engine.episode(WANTED)


def test_a_process_that_has_ended_before_a_request_is_an_error(start: Started) -> None:
    with start(HELLO) as engine:
        os.waitid(os.P_PID, engine.pid, os.WEXITED | os.WNOWAIT)
        with pytest.raises(PackageLost, match="exit code 0: it has written nothing"):
            engine.episode(WANTED)


def test_a_process_that_does_not_reply_is_killed(start: Started) -> None:
    engine = start(HELLO + "time.sleep(600)")
    with pytest.raises(PackageTimeout, match=r"no reply in 0\.3 s"):
        engine.episode(WANTED)
    with pytest.raises(ProcessLookupError):
        os.kill(engine.pid, 0)
    with pytest.raises(PackageLost, match="closed"):
        engine.episode(WANTED)


@pytest.mark.parametrize("reply", ["hello", "[]", "{}", '{"error": 1}', '{"error": {"kind": "judge"}}'])
def test_a_garbled_reply_is_an_error(start: Started, reply: str) -> None:
    with start(HELLO + f"sys.stdin.readline(); print({reply!r}, flush=True); sys.stdin.readline()") as engine:
        with pytest.raises(PackageLost, match="garbled"):
            engine.episode(WANTED)
        with pytest.raises(PackageLost, match="closed"):  # what comes next belongs to nobody
            engine.episode(WANTED)


@pytest.mark.parametrize(
    ("kind", "error"),
    [
        ("judge", JudgeFailed),
        ("endpoint", EndpointFailed),
        ("request", RequestRefused),
        ("package", RequestRefused),
    ],
)
def test_an_error_of_the_engine_has_its_type(start: Started, kind: str, error: type[PackageError]) -> None:
    program = (
        f"sys.stdin.readline(); answer({{'error': {{'kind': {kind!r}, 'message': 'why'}}}}); time.sleep(9)"
    )
    with start(HELLO + program) as engine:
        with pytest.raises(PackageError, match=r"^why$") as raised:
            engine.episode(WANTED)
        assert type(raised.value) is error


def test_the_process_has_a_home_of_its_own_and_none_of_our_variables(
    start: Started, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET_API_KEY", "ours")
    seen = "{'sotopia': '0.1.5', 'litellm': '|'.join(sorted(os.environ)), 'python': os.environ['HOME']}"
    engine = start("import json, os\nprint(json.dumps({'ok': " + seen + "}), flush=True)\ninput()")
    names, home = engine.versions.litellm.split("|"), Path(engine.versions.python)
    expected = {"CUSTOM_API_KEY", "HOME", "LITELLM_LOCAL_MODEL_COST_MAP", "SOTOPIA_STORAGE_BACKEND"}
    assert set(names) - {"PATH", "LANG", "LC_ALL", "LC_CTYPE", "TMPDIR"} == expected
    assert home != Path.home()
    assert home.is_dir()
    engine.close()
    engine.close()
    assert not home.exists()
    with pytest.raises(ProcessLookupError):
        os.kill(engine.pid, 0)


def test_the_engine_reads_a_request_of_plain_values() -> None:
    line = WANTED.line("speed", episodes=3)
    assert {name: line[name] for name in ("kind", "order", "max_turns", "max_stale", "view", "endpoint")} == {
        "kind": "speed",
        "order": "round-robin",
        "max_turns": 20,
        "max_stale": 2,
        "view": "package",
        "endpoint": None,
    }
    assert line["script"] == [[["speak", "Hi"]], []]
    assert line["episodes"] == 3
    assert line["environment"]["agent_goals"] == ["Sell the bread", "Buy the bread"]
    assert "age_constraint" not in line["environment"]  # None is no value of the package's profile
    assert [agent["pk"] for agent in line["agents"]] == ["a", "b"]


@pytest.mark.parametrize("name", ["", "../x", "a/b", ".hidden", "x" * 129])
def test_the_key_of_an_episode_is_a_file_name(name: str) -> None:
    with pytest.raises(ValidationError, match="id"):
        EpisodeRequest(scene=scene(), id=name)


def test_our_record_of_a_short_episode() -> None:
    scores = ", ".join(f'"{one.name}": ["So.", {one.high}]' for one in SOTOPIA)
    reply = f'{{"evaluations": {{"agent_1": {{{scores}}}, "agent_2": {{{scores}}}}}}}'
    found = record(WANTED.model_copy(update={"judge_replies": (reply,)}))
    assert found["names"] == ["Ana Reed", "Bo Lind"]
    assert [step["obs"][0] for step in found["steps"]] == [
        'Ana Reed said: "Hi"',
        "Bo Lind left the conversation",
    ]
    assert found["steps"][1] == {
        "turn": 2,
        "acting": [False, True],
        "actions": [["none", ""], ["leave", ""]],
        "obs": ["Bo Lind left the conversation", "Bo Lind left the conversation"],
        "may_act_next": [True, False],
        "terminated": True,
        "comments": None,
    }
    assert found["reasons"] == "Environment comments: terminated: Too few active agents; "
    assert found["rewards"] == {"Ana Reed": 40 / 7, "Bo Lind": 40 / 7}
    assert [(one["agent"], one["turn_number"]) for one in found["prompts"]] == [(0, 0), (1, 1)]


def test_the_client_needs_neither_the_package_nor_an_extra() -> None:
    program = "import sys, agentgym_envs.sotopia.package.client; print(sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "'agentgym_envs.sotopia.package.client'" in done.stdout
    assert not any(f"'{name}'" in done.stdout for name in ("sotopia", "httpx", "numpy", "torch"))
