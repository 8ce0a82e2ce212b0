"""`agentevol trajectories export` and `import`: options, what they print, exit codes."""

import json
from pathlib import Path
from typing import Any, ClassVar

import httpx
import pytest
from support.exports import table_of, varied_episodes

from agentevol.cli import main
from agentevol.cli.trajectories.export import size_in_bytes
from agentevol.core.errors import ConfigError
from agentevol.data.exports import hub
from agentgym_store.store import Store

EPISODES = varied_episodes(24)


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> str:
    place = tmp_path_factory.mktemp("table") / "trajectories"
    table_of(place, EPISODES)
    return str(place)


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as stop:
        main(["trajectories", *arguments])
    out, err = capsys.readouterr()
    return int(stop.value.code or 0), out, err


def test_an_export_prints_rows_what_is_left_out_and_the_card(
    capsys: pytest.CaptureFixture[str], table: str, tmp_path: Path
) -> None:
    out = tmp_path / "data" / "wins"
    code, printed, err = run(capsys, "export", table, str(out), "--format", "sft", "--valid", "0.3")
    assert (code, err) == (0, "")
    assert printed.splitlines() == [
        "rows: train 15, valid 3; of 18 episodes of version 1 of the table",
        "left out: 6 failed: no return",
        f"{out}: 2 files; {out / 'README.md'}",
    ]
    assert run(capsys, "export", table, str(out), "--format", "sft")[0] == 1  # nothing is overwritten


def test_every_filter_is_passed_on(capsys: pytest.CaptureFixture[str], table: str, tmp_path: Path) -> None:
    given = {
        "env": "alfworld",
        "split": "train",
        "task": "train-4",
        "kind": "kind-0",
        "run": "run-0",
        "iteration": "1",
        "purpose": "explore",
        "ending": "terminated",
        "policy": "checkpoint-0",
        "policy-version": "1",
        "min-reward": "0.5",
        "max-reward": "1",
        "since": "2026-01-02",
        "until": "2026-01-27T00:00:00",
        "table-version": "1",
    }
    (expected,) = [t for t in EPISODES if t.id == "run/1/16"]
    options = [part for name, value in given.items() for part in (f"--{name}", value)]
    out = tmp_path / "one.jsonl"
    code, printed, _ = run(capsys, "export", table, str(out), *options, "--json")
    assert code == 0
    assert json.loads(printed)["rows"] == {"train": 1}
    assert [json.loads(line)["id"] for line in out.read_text("utf-8").split("\n") if line] == [expected.id]
    for name, value in {"env": "guess", "policy-version": "3", "until": "2026-01-02", "kind": "none"}.items():
        code, _, err = run(capsys, "export", table, str(tmp_path / "no"), *options, f"--{name}", value)
        assert (code, "no episode of the table matches the filters" in err) == (1, True)


def test_options_of_a_format_are_passed_on(
    capsys: pytest.CaptureFixture[str], table: str, tmp_path: Path
) -> None:
    out = str(tmp_path / "pairs")
    options = [
        "--pairs",
        "all_capped",
        "--per-task",
        "1",
        "--outcome-gap",
        "0.2",
        "--seed",
        "3",
        "--tie-breaks",
    ]
    more = ["--truncated-is-loss", "--rows", "episode", "--no-meta"]
    assert run(capsys, "export", table, out, "--format", "preference", *options, *more)[0] == 0
    card = (tmp_path / "pairs" / "README.md").read_text()
    assert (
        "- options: meta = False, outcome_gap = 0.2, per_task = 1, rows = episode, seed = 3,"
        " strategy = all_capped, tie_breaks = True, truncated_is_loss = True\n"
    ) in card


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--format", "prompts", "--rows", "turn"], "rows has no effect on format prompts"),
        (["--format", "sft", "--pairs", "adjacent"], "strategy has no effect on format sft"),
        (["--allow-unjudged"], "allow_unjudged has no effect on format jsonl; it has no options"),
        (["--shard-size", "much"], "--shard-size is 'much'; it is a size such as 500MB or 2GB"),
    ],
)
def test_an_option_without_effect_is_an_error(
    options: list[str], message: str, capsys: pytest.CaptureFixture[str], table: str, tmp_path: Path
) -> None:
    code, _, err = run(capsys, "export", table, str(tmp_path / "out"), *options)
    assert code in (1, 2)
    assert message in err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("text", "size"),
    [("500MB", 500_000_000), ("2G", 2 * 10**9), ("1.5kb", 1500), ("77", 77), (" 3 M ", 3_000_000)],
)
def test_sizes(text: str, size: int) -> None:
    assert size_in_bytes(text) == size


def test_an_option_without_effect_on_a_file_of_records_is_an_error(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "records.jsonl").touch()
    command = ["export", str(tmp_path / "records.jsonl"), str(tmp_path / "o.jsonl"), "--format", "sotopia"]
    for options in (["--env", "sotopia"], ["--dedup"], ["--json"]):
        code, _, err = run(capsys, *command, *options)
        assert (code, f"{options[0]} has no effect on a file of records" in err) == (2, True)


class Hub:
    """A hub that notes what is asked of it."""

    asked: ClassVar[list[tuple[str, Any]]] = []

    def create_repo(self, name: str, **options: Any) -> None:
        self.asked.append((name, options))

    def upload_folder(self, **options: Any) -> str:
        self.asked.append(("upload", options))
        return "https://hub/datasets/me/wins"


def test_nothing_is_uploaded_unless_asked_and_then_privately(
    capsys: pytest.CaptureFixture[str], table: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hugging_face = pytest.importorskip("huggingface_hub")
    monkeypatch.setattr(hugging_face, "HfApi", Hub)
    monkeypatch.setattr(Hub, "asked", [])
    assert run(capsys, "export", table, str(tmp_path / "a"))[0] == 0
    assert Hub.asked == []
    code, _, err = run(capsys, "export", table, str(tmp_path / "b.jsonl"), "--push-to-hub", "me/wins")
    assert (code, "--push-to-hub uploads a folder" in err) == (2, True)
    code, printed, _ = run(capsys, "export", table, str(tmp_path / "b"), "--push-to-hub", "me/wins")
    assert (code, printed.splitlines()[-1]) == (0, "https://hub/datasets/me/wins")
    assert Hub.asked == [
        ("me/wins", {"repo_type": "dataset", "private": True, "exist_ok": True}),
        ("upload", {"repo_id": "me/wins", "folder_path": tmp_path / "b", "repo_type": "dataset"}),
    ]


@pytest.mark.parametrize(
    "cause", [ConnectionError("me/wins\nis away"), httpx.ConnectError("me/wins\nis away")]
)
def test_an_upload_that_fails_is_one_line_and_leaves_the_data_set(
    cause: Exception, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hugging_face = pytest.importorskip("huggingface_hub")

    class Down(Hub):
        def create_repo(self, name: str, **options: Any) -> None:
            raise cause

    monkeypatch.setattr(hugging_face, "HfApi", Down)
    with pytest.raises(ConfigError, match=r"cannot upload to me/wins: me/wins.*; the data set is complete"):
        hub.push(tmp_path, "me/wins")


LOG = {"messages": [{"role": "user", "content": "Make a guess."}, {"role": "assistant", "content": "4"}]}


def logs(path: Path, *rows: Any) -> str:
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return str(path)


def test_an_import_prints_what_was_dropped_and_where(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = logs(tmp_path / "log.jsonl", {**LOG, "reward": 1}, LOG, {"messages": []})
    out = tmp_path / "demos"
    code, printed, err = run(capsys, "import", file, "--out", str(out), "--env", "guess")
    assert (code, err) == (0, "")
    assert printed.splitlines() == [
        f"{file}: openai",
        "dropped 1: no reward is told: give all of these one with --reward",
        "  log.jsonl, line 2",
        "dropped 1: without a message of the agent",
        "  log.jsonl, line 3",
        "1 of which no ending is told: taken as terminated",
        f"1 of 3 records are in {out}: guess 1",
        "won: 1",
    ]
    assert run(capsys, "import", file, "--out", str(out), "--env", "guess", "--strict")[0] == 1


def test_everything_that_is_supplied_is_passed_on(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = logs(tmp_path / "log.jsonl", LOG)
    given = {"env": "guess", "reward": "0.5", "split": "s", "run": "r", "policy": "p", "purpose": "retain"}
    options = [part for name, value in given.items() for part in (f"--{name}", value)]
    out = str(tmp_path / "demos")
    more = ["--format", "openai", "--action-format", "react", "--json"]
    code, printed, _ = run(capsys, "import", file, "--out", out, *options, *more)
    assert code == 0
    assert json.loads(printed)["imported"] == 1
    (episode,) = Store.open(out).trajectories()
    assert (episode.env, episode.total_reward, episode.split, episode.run) == ("guess", 0.5, "s", "r")
    assert (episode.policy, episode.purpose, episode.turns[0].action) == ("p", "retain", "")


def test_a_replay_is_told_with_its_first_differences(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = logs(
        tmp_path / "log.jsonl", {**LOG, "reward": 1, "id": "guess-7"}, {**LOG, "reward": 1, "id": "x"}
    )
    code, printed, _ = run(capsys, "import", file, "--out", str(tmp_path / "d"), "--env", "guess", "--replay")
    assert code == 0
    told = printed.splitlines()
    assert "replay: 0 the same, 1 different, 1 not replayed" in told
    assert "  not replayed, the task is not one of guess's: 1" in told
    code, _, err = run(capsys, "import", file, "--out", str(tmp_path / "e"), "--env-option", "a=1")
    assert (code, "--env-option has no effect without --replay" in err) == (2, True)


def test_a_missing_file_and_a_file_of_nothing_are_one_line(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    code, _, err = run(capsys, "import", str(tmp_path / "no.jsonl"), "--out", str(tmp_path / "d"))
    assert (code, "no such file" in err) == (1, True)
    file = logs(tmp_path / "log.jsonl", {"what": "ever"})
    code, _, err = run(capsys, "import", file, "--out", str(tmp_path / "d"))
    assert (code, "the first record is in no known format" in err, err.count("\n")) == (1, True, 1)
    assert not (tmp_path / "d").exists()
