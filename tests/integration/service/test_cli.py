"""`agentevol serve`: what is refused before anything is served, in one line."""

import socket
from collections.abc import Generator
from pathlib import Path

import pytest

from agentevol.cli import main
from agentevol.config.sections.engine import TokenEngineConfig, VllmConfig


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    """Exit code and the line on stderr."""
    with pytest.raises(SystemExit) as ended:
        main(["serve", *arguments])
    captured = capsys.readouterr()
    assert isinstance(ended.value.code, int)
    assert captured.out == ""
    return ended.value.code, captured.err


@pytest.fixture(autouse=True)
def no_tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AGENTEVOL_TOKEN", "AGENTEVOL_TRAINER_TOKEN", "AGENTEVOL_AGENT_TOKEN"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def taken() -> Generator[str]:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        yield str(other.getsockname()[1])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "Missing argument 'MODEL'"),
        (["starter", "--engine", "vllm", "--threads", "2"], "--threads has no effect with --engine vllm"),
        (["starter", "--cache-gib", "2"], "--cache-gib has no effect without --engine vllm"),
        (["starter", "--tensor-parallel", "2"], "--tensor-parallel has no effect without --engine vllm"),
        (["starter", "--temperature", "0.5"], "--temperature has no effect without --out"),
        (["starter", "--lease-ttl-s", "60"], "--lease-ttl-s has no effect without --out"),
        (["starter", "--name", "x"], "--name has no effect without --out"),
        (["starter", "--token", " "], "the token is empty"),
        (["starter", "--temperature", "0"], "Invalid value for '--temperature'"),
        (["starter", "--max-new-tokens", "0"], "Invalid value for '--max-new-tokens'"),
    ],
)
def test_options_without_effect_are_refused(capsys, arguments, words):
    code, line = run(capsys, *arguments)
    assert (code, line.count("\n")) == (2, 1)
    assert words.lower() in line.lower()


def test_the_weights_of_vllm_may_be_split(monkeypatch: pytest.MonkeyPatch):
    given = list[TokenEngineConfig]()

    def served(_: str, engine: TokenEngineConfig, *_more: object) -> int:
        given.append(engine)
        return 0

    monkeypatch.setattr("agentevol.service.serve.serve", served)
    with pytest.raises(SystemExit):
        main(["serve", "starter", "--engine", "vllm", "--tensor-parallel", "2", "--cache-gib", "3"])
    assert given == [VllmConfig(tensor_parallel=2, cache_gib=3.0)]


def test_a_model_that_is_not_there_is_named(capsys, tmp_path: Path):
    code, line = run(capsys, str(tmp_path / "nothing"), "--port", "0")
    assert (code, line.startswith("error: configuration: no model ")) == (2, True)


def test_a_folder_that_is_no_table_is_left_alone(capsys, tmp_path: Path):
    (tmp_path / "notes.txt").write_text("mine", encoding="utf-8")
    code, line = run(capsys, "starter", "--out", str(tmp_path), "--port", "0")
    assert (code, line.startswith("error: store: ")) == (1, True)
    assert [file.name for file in tmp_path.iterdir()] == ["notes.txt"]


def test_others_are_not_served_without_a_token(capsys):
    code, line = run(capsys, "starter", "--host", "0.0.0.0", "--port", "0")
    assert (code, "AGENTEVOL_TOKEN" in line) == (1, True)


def test_a_port_that_is_taken_is_named(capsys, taken: str):
    code, line = run(capsys, "starter", "--port", taken)
    assert (code, f"127.0.0.1:{taken}" in line) == (1, True)
