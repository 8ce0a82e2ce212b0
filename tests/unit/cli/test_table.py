"""Commands about a table as a whole: stats, sql, compact."""

import json
from pathlib import Path

import pytest
from support.trajectories import trajectory

from agentevol.cli import main
from agentgym_store.records import Failed, Sample, Turn
from agentgym_store.store import Store

SAID = Sample(text="x", prompt_ids=(1, 2), token_ids=(3, 4), logprobs=(-0.5, -0.5), policy_version=0)


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    """Exit code, stdout and stderr of a command."""
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    captured = capsys.readouterr()
    code = ended.value.code
    assert isinstance(code, int)
    return code, captured.out, captured.err


@pytest.fixture
def folder(tmp_path: Path) -> str:
    """A run with two commits."""
    store = Store.open(tmp_path / "run" / "trajectories")
    turn = Turn(action='say "a, b"\nc', observation="o", reward=1.0, sample=SAID, info={"mode": 2})
    store.append([trajectory(id="won", turns=(turn,))], commit={"a": "1"})
    store.append([trajectory(id="broken", ending=Failed(failure="worker-lost"))], commit={"a": "2"})
    return str(tmp_path / "run")


def test_statistics_are_a_table_with_the_modes_below(capsys: pytest.CaptureFixture[str], folder: str) -> None:
    code, out, _ = run(capsys, "trajectories", "stats", folder)
    rows = [line.split() for line in out.splitlines()]
    assert code == 0
    assert ["all", "2", "1", "100.0%", "1.000", "0.5", "1.0"] in rows
    assert ["reward", "none", "1", "0", "-", "-", "0.0", "0.0"] in rows
    assert ["tokens", "1", "to", "64", "1", "1", "100.0%", "1.000", "1.0", "2.0"] in rows
    assert rows[-2] == ["2", "1", "100.0%", "2.0", "1", "100.0%", "1.000"]


def test_statistics_are_json_for_scripts(capsys: pytest.CaptureFixture[str], folder: str) -> None:
    code, out, _ = run(capsys, "trajectories", "stats", folder, "--json", "--iteration", "1")
    found = json.loads(out)
    assert (code, found["total"]["episodes"], found["by"]["turns"]["1"]["successes"]) == (0, 2, 1)
    assert found["modes"]["2"]["share"] == 1.0


STATEMENT = 'select id, action, mode, token_ids, reward / 0 as big, given, costs as "the costs" from turns'


@pytest.mark.parametrize(
    ("option", "expected"),
    [
        (
            "--json",
            '{"id": "won", "action": "say \\"a, b\\"\\nc", "mode": 2, "token_ids": [3, 4], "big": null,'
            ' "given": false, "the costs": null}\n',
        ),
        (
            "--csv",
            'id,action,mode,token_ids,big,given,the costs\nwon,"say ""a, b""\nc",2,"[3, 4]",inf,false,\n',
        ),
    ],
)
def test_rows_of_a_statement_are_for_scripts(
    capsys: pytest.CaptureFixture[str], folder: str, option: str, expected: str
) -> None:
    assert run(capsys, "trajectories", "sql", folder, STATEMENT, option) == (0, expected, "")


def test_rows_of_a_statement_are_a_table(
    capsys: pytest.CaptureFixture[str], folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agentevol.cli.trajectories.statements.PAGE", 1)
    statement = "select id, total_reward as reward from episodes order by id"
    code, out, _ = run(capsys, "trajectories", "sql", folder, statement)
    words = [line.split() for line in out.splitlines() if line.strip(" ─")]
    assert code == 0
    assert words == [["id", "reward"], ["broken", "-"], ["id", "reward"], ["won", "1.0"], ["2", "rows"]]


def test_names_that_a_statement_gives_are_printed_literally(
    capsys: pytest.CaptureFixture[str], folder: str
) -> None:
    statement = 'select 1 as "[/x]", 2 as "[red]\x1b[31m" from episodes limit 1'
    code, out, _ = run(capsys, "trajectories", "sql", folder, statement)
    assert (code, out.split()[:2]) == (0, ["[/x]", r"[red]\x1b[31m"])


def test_without_a_statement_the_columns_are_listed(capsys: pytest.CaptureFixture[str], folder: str) -> None:
    code, out, _ = run(capsys, "trajectories", "sql", folder, "--json")
    rows = [json.loads(line) for line in out.splitlines()]
    assert code == 0
    assert rows[0] == {
        "view": "episodes",
        "column": "id",
        "type": "String",
        "meaning": "Unique id of the episode.",
    }
    assert {row["view"] for row in rows} == {"episodes", "turns"}
    assert "turns,turn,Int64," in run(capsys, "trajectories", "sql", folder, "--csv")[1]
    assert "Number of the turn" in run(capsys, "trajectories", "sql", folder)[1]


@pytest.mark.parametrize(
    ("words", "code", "line"),
    [
        (["drop table episodes"], 2, "error: sql: only statements that read are run: they begin with SELECT"),
        (["select * from read_csv('x')"], 2, "error: sql: read_csv reads files, and may not be named;"),
        (["select nope from turns"], 2, 'error: sql: unable to find column "nope"; valid columns: ['),
        (["select 1", "--csv", "--json"], 2, "error: usage: Invalid value: --json and --csv exclude each"),
        (["select 1", "--timeout", "0"], 2, "error: usage: Invalid value for '--timeout'"),
    ],
)
def test_a_bad_statement_is_one_line(
    capsys: pytest.CaptureFixture[str], folder: str, words: list[str], code: int, line: str
) -> None:
    status, out, err = run(capsys, "trajectories", "sql", folder, *words)
    assert (status, out, err.count("\n")) == (code, "", 1)
    assert err.startswith(line)


def test_compaction_tells_files_and_versions(capsys: pytest.CaptureFixture[str], folder: str) -> None:
    code, out, err = run(capsys, "trajectories", "compact", folder)
    assert (code, err) == (0, "")
    assert out == "2 files before, 1 now; 2 were replaced\nversions 0 to 3 can be read\n"
    code, out, _ = run(capsys, "trajectories", "compact", folder, "--vacuum", "--json")
    assert json.loads(out) == {
        "files_before": 1,
        "files_after": 1,
        "replaced": 0,
        "version": 3,
        "removed": 0,
        "readable_from": 0,
        "feedback": None,
    }
    assert [one.id for one in Store.open(Path(folder) / "trajectories").trajectories()] == ["won", "broken"]


def test_a_compaction_of_no_table_is_one_line(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, _, err = run(capsys, "trajectories", "compact", str(tmp_path / "none"))
    assert code == 1
    assert err.startswith("error: store: there is no table of trajectories at ")
    assert run(capsys, "trajectories", "compact", str(tmp_path), "--hours", "0")[0] == 2
