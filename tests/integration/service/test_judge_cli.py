"""`agentevol judge`: misuse is one line, a file without a model needs none, figures for scripts."""

import json
from pathlib import Path

import pytest
from support.judging import log_of, transcript
from support.sotopia_profiles import write_lines, write_profiles

from agentevol.cli import main


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    """Exit code, stdout and stderr."""
    with pytest.raises(SystemExit) as ended:
        main(["judge", *arguments])
    captured = capsys.readouterr()
    assert isinstance(ended.value.code, int)
    return ended.value.code, captured.out, captured.err


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("AGENTEVOL_TOKEN", "AGENTEVOL_TRAINER_TOKEN", "AGENTEVOL_AGENT_TOKEN", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AGENTEVOL_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    write_lines(tmp_path / "items.jsonl", [transcript("one").model_dump(mode="json")])
    return tmp_path


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["items.jsonl", "--port", "1"], "--port has no effect with FILE: nothing is served"),
        (["items.jsonl", "--insecure-no-auth"], "--insecure-no-auth has no effect with FILE"),
        (["--out", "x"], "--out has no effect without FILE: a service is started"),
        (["--resume"], "--resume has no effect without FILE"),
        (["items.jsonl", "--judge", "gpt"], "no judge 'gpt': give rule, rule:moves, openai:NAME"),
        (["items.jsonl", "--judge", "openai:m", "--url", "h:1"], "'h:1' is no URL of an endpoint"),
        (["items.jsonl", "--dimensions", "wit"], "no dimensions 'wit': give sotopia, rubric, or a file"),
        (["items.jsonl", "--budget", "5"], "the budget '5' is neither dollars"),
        (
            ["items.jsonl", "--judge", "openai:m", "--budget", "5usd"],
            "needs the prices of 'm'",
        ),
        (["items.jsonl", "--samples", "0"], "Invalid value for '--samples'"),
        (["items.jsonl", "--judge", "rule", "--judge", "rule"], "two judges are named 'rule'"),
    ],
)
def test_misuse_is_one_line_and_nobody_is_asked(
    capsys: pytest.CaptureFixture[str], place: Path, arguments: list[str], words: str
) -> None:
    code, out, err = run(capsys, *arguments)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert words in err
    assert not (place / "items.judgements.jsonl").exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nowhere.jsonl"], "no such file or folder: nowhere.jsonl"),
        (["items.jsonl", "--profiles", "."], "has no environments"),
        (["items.jsonl", "--judge", "replay:nowhere"], "No such file or directory: nowhere"),
        (["--host", "0.0.0.0", "--port", "0"], "set AGENTEVOL_TOKEN or give --token-file"),
    ],
)
def test_what_cannot_be_read_or_served_is_one_line(
    capsys: pytest.CaptureFixture[str], arguments: list[str], words: str
) -> None:
    code, out, err = run(capsys, *arguments)
    assert (code, out, err.count("\n")) == (1, "", 1)
    assert words in err


def test_figures_for_scripts(capsys: pytest.CaptureFixture[str], place: Path) -> None:
    write_lines(place / "log.jsonl", [log_of("one", "I offer $24.", "Deal!")])
    profiles = str(write_profiles(place / "profiles"))
    code, out, err = run(capsys, "log.jsonl", "--profiles", profiles, "--json")
    found = json.loads(out)
    assert (code, err) == (0, "")
    assert (found["items"], found["outcomes"], found["out"]) == (1, {"ok": 1}, "log.judgements.jsonl")
    assert found["judges"] == [
        {"name": "rule", "version": "rules-1-words", "kind": "rule", "reading": "words"}
    ]
    assert {one["dimension"]: one["mean"] for one in found["scores"]}["goal"] == pytest.approx(4.4)
    assert {tuple(one["raters"]) for one in found["agreement"]} == {("recorded", "rule")}
    assert run(capsys, "log.jsonl", "--profiles", profiles)[0] == 1  # the file of judgements exists
    assert run(capsys, "log.jsonl", "--profiles", profiles, "--resume")[0] == 0


def test_recorded_judgements_are_a_judge_beside_the_rules(
    capsys: pytest.CaptureFixture[str], place: Path
) -> None:
    write_lines(place / "log.jsonl", [log_of("one", "I offer $24.", "Deal!")])
    profiles = str(write_profiles(place / "profiles"))
    judges = ("--judge", "rule", "--judge", "replay:log.jsonl", "--profiles", profiles)
    code, out, _ = run(capsys, "log.jsonl", *judges, "--json")
    (line,) = (place / "log.judgements.jsonl").read_text(encoding="utf-8").splitlines()
    judged = json.loads(line)
    assert code == 0
    # The rules give 4, the record 10; what only the record has is the record's.
    assert judged["scores"][0]["goal"] == pytest.approx(7.0)
    assert judged["scores"][0]["knowledge"] == 10.0
    assert judged["spread"][0]["goal"] == pytest.approx(6.0)
    assert ("rule", "replay:log.jsonl") in {tuple(one["raters"]) for one in json.loads(out)["agreement"]}
