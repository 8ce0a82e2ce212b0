"""`agentevol feedback`."""

import json
from pathlib import Path

import pytest
from support.ui import episode, make_run

from agentevol.cli import main
from agentgym_store.feedback.table import FeedbackTable


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return make_run(tmp_path / "first", [episode("a"), episode("b", (1.0,))])


def call(*arguments: object) -> int | str | None:
    with pytest.raises(SystemExit) as ended:
        main(["feedback", *map(str, arguments)])
    return ended.value.code


def test_records_are_added_listed_counted_and_imported(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call("add", run, "a", "--as", "human:Anna", "--turn", 2, "--action", "look") == 0
    assert call("add", run, "a", "--as", "human:Anna", "--score", 4) == 0
    assert call("add", run, "a", "--as", "human:Anna", "--score", 5) == 0
    assert call("add", run, "a", "--as", "human:Anna", "--than", "b", "--verdict", "tie") == 0
    capsys.readouterr()
    assert call("list", run, "--json") == 0
    lines = capsys.readouterr().out
    found = [json.loads(line) for line in lines.splitlines()]
    assert [(one["opinion"]["kind"], one["turn"]) for one in found] == [
        ("correction", 1),
        ("score", None),
        ("comparison", None),
    ]
    assert call("stats", run, "--json") == 0
    assert json.loads(capsys.readouterr().out)["source"] == {"human:Anna": 3}
    file = tmp_path / "opinions.jsonl"
    file.write_text(lines)
    other = make_run(tmp_path / "second", [episode("a"), episode("b", (1.0,))])
    assert call("import", other, file) == 0
    assert call("import", other, file) == 0
    assert "0 records added; 3 were there already" in capsys.readouterr().out
    assert len(FeedbackTable(other / "feedback").records()) == 3


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("a", "--as", "human:Anna"), "one of --score"),
        (("a", "--as", "human:Anna", "--score", 9), "9 is not on the scale"),
        (("a", "--as", "Anna", "--score", 4), "a source is one of"),
        (("nobody", "--as", "human:Anna", "--score", 4), "0 episodes are named"),
        (("a", "--as", "human:Anna", "--action", "x", "--turn", 7), "has 2 turns"),
    ],
)
def test_what_is_not_valid_is_told(
    run: Path, arguments: tuple[object, ...], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call("add", run, *arguments) != 0
    assert told in capsys.readouterr().err
    assert FeedbackTable(run / "feedback").records() == []


def test_a_bad_line_imports_nothing(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good = {"trajectory_id": "a", "source": "human:A", "opinion": {"kind": "flag", "reason": "broken"}}
    file = tmp_path / "opinions.jsonl"
    for bad, told in (
        ({**good, "source": "A"}, "line 2: source"),
        ({**good, "trajectory_id": "x"}, "record 2"),
    ):
        file.write_text(f"{json.dumps(good)}\n{json.dumps(bad)}\n")
        assert call("import", run, file) == 1
        assert told in capsys.readouterr().err
    assert FeedbackTable(run / "feedback").records() == []


def test_what_fits_no_episode_is_one_line_and_nothing_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = make_run(
        tmp_path / "tasks",
        [
            episode("a"),
            episode("other").model_copy(update={"task_id": "another"}),
            episode("given").model_copy(update={"given_turns": 1}),
        ],
    )
    cases = (
        (("a", "--than", "other"), "episodes of one task are compared"),
        (("a", "--than", "a"), "not compared with itself"),
        (("given", "--turn", 1, "--action", "look"), "the first 1 turns of episode 'given' were given"),
        (("a", "--score", "nan"), "finite"),
    )
    for arguments, told in cases:
        assert call("add", made, *arguments, "--as", "human:Anna") == 1
        error = capsys.readouterr().err
        assert told in error
        assert len(error.strip().splitlines()) == 1
    assert call("add", made, "given", "--turn", 2, "--action", "look", "--as", "human:Anna") == 0
    assert len(FeedbackTable(made / "feedback").records()) == 1
