"""The table of episodes in an object store: S3's protocol, as moto serves it in a process of its own."""

import json
import os
import subprocess
import sys
import urllib.request
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from deltalake import DeltaTable
from support.trajectories import trajectory

from agentevol.loop.report.examples import run_examples
from agentevol.loop.state.run_folder import read_summary
from agentgym_store.errors import StoreError
from agentgym_store.feedback.table import FeedbackTable
from agentgym_store.jsonl import import_jsonl
from agentgym_store.records import Trajectory, Turn
from agentgym_store.store import Store, Where
from agentgym_store.table.compaction import compact
from agentgym_store.table.vacuum import readable_from

FIRST, SECOND = {"run": "a", "iteration": "1"}, {"run": "a", "iteration": "2"}


def episode(name: str, iteration: int = 1) -> Trajectory:
    return trajectory(
        id=name,
        run="a",
        iteration=iteration,
        env_version="1.0.0",
        data_version="builtin:1.0.0",
        task_id="train/0",
        instruction="guess.",
        seed=1,
        policy="checkpoint-0",
        initial_observation="?",
        started_at="2025-01-01T00:00:00Z",
        wall_s=0.5,
    )


def test_a_table_under_a_url_is_a_table_like_any(bucket: str):
    store = Store.open(f"{bucket}/runs/a/")
    assert store.append([episode("a"), episode("b")], commit=FIRST) == 1
    assert store.append([episode("c", 2)], commit=SECOND) == 2
    again = Store.open(f"{bucket}/runs/a", create=False)
    assert (again.version(), again.count(), again.count(1), again.committed(**SECOND)) == (2, 3, 2, 2)
    assert again.append([episode("a"), episode("b")], commit=FIRST) == 1  # it is in
    assert list(again.trajectories()) == [episode("a"), episode("b"), episode("c", 2)]
    assert [one.id for one in again.trajectories(Where(iteration=2))] == ["c"]
    assert again.scan(Where(iteration=1)).collect()["id"].to_list() == ["a", "b"]
    assert pl.read_delta(f"{bucket}/runs/a")["id"].sort().to_list() == ["a", "b", "c"]


def test_two_writers_who_append_the_same_key_at_once_leave_one_batch(bucket: str, monkeypatch):
    slow, quick = Store.open(f"{bucket}/a"), Store.open(f"{bucket}/a")
    write = slow._write

    def overtaken(*arguments):
        write(*arguments)
        quick.append([episode("a")], commit=FIRST)

    monkeypatch.setattr(slow, "_write", overtaken)
    assert slow.append([episode("a")], commit=FIRST) == 1
    assert [one.id for one in quick.trajectories()] == ["a"]
    assert len([name for name in quick.place.names() if name.endswith(".parquet")]) == 1


def test_what_is_no_table_is_refused_and_left_alone(bucket: str, endpoint: str):
    with pytest.raises(StoreError, match="there is no table of trajectories at s3://"):
        Store.open(f"{bucket}/nothing", create=False)
    name = f"{endpoint}/{bucket.removeprefix('s3://')}/mine/notes.txt"
    urllib.request.urlopen(urllib.request.Request(name, data=b"mine", method="PUT"), timeout=10).close()
    with pytest.raises(StoreError, match="is not a table of trajectories"):
        Store.open(f"{bucket}/mine")
    with pytest.raises(
        StoreError, match=r"cannot open the table of trajectories s3://no-such-bucket/a: .*404"
    ):
        Store.open("s3://no-such-bucket/a")


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("http://host/a", "a URL begins with s3://"),
        ("s3://bucket/a table", "only letters, digits"),
        ("s3://bucket/a%20table", "only letters, digits"),
        ("s3://", "only letters, digits"),
    ],
)
def test_a_url_that_no_table_can_have_is_one_line(url: str, told: str):
    with pytest.raises(StoreError, match=told):
        Store.open(url)


def test_a_store_that_does_not_answer_is_told_within_seconds(bucket: str, monkeypatch):
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    with pytest.raises(StoreError, match="cannot open the table of trajectories s3://"):
        Store.open(f"{bucket}/a")


@pytest.mark.slow
@pytest.mark.usefixtures("clean_environment")
def test_a_run_whose_table_is_in_an_object_store(
    bucket: str, tmp_path: Path, command: Callable[..., list[str]]
):
    url, out = f"{bucket}/runs/first", tmp_path / "run"

    def agentevol(*arguments: str) -> subprocess.CompletedProcess[str]:
        line = [sys.executable, "-m", "agentevol", *arguments]
        return subprocess.run(line, capture_output=True, text=True, timeout=300, env=dict(os.environ))

    ran = subprocess.run(command(out, f"table={url}"), capture_output=True, text=True, timeout=600)
    assert ran.returncode == 0, ran.stderr
    assert not (out / "trajectories").exists()
    for place in (str(out), url):
        told = json.loads(agentevol("trajectories", "stats", place, "--json").stdout)
        assert told["total"]["episodes"] == Store.open(url, create=False).count() > 0
    assert run_examples(out, read_summary(out))
    again = subprocess.run(
        command(tmp_path / "other", f"table={url}"), capture_output=True, text=True, timeout=300
    )
    assert (again.returncode, (tmp_path / "other").exists()) == (2, False)
    assert f"{url} holds a table already" in again.stderr
    (out / "iterations" / "0002.json").unlink()
    resumed = agentevol("run", "--resume", str(out))
    assert resumed.returncode == 0, resumed.stderr
    learnt = agentevol("train", url, f"base={out}/checkpoints/0000", "--out", str(tmp_path / "learnt"))
    assert learnt.returncode == 0, learnt.stderr


def agentevol(*arguments: str) -> str:
    """The output of a command in a process of its own."""
    line = [sys.executable, "-m", "agentevol", *arguments]
    done = subprocess.run(line, capture_output=True, text=True, timeout=300, env=dict(os.environ))
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@pytest.mark.slow
@pytest.mark.usefixtures("clean_environment")
def test_every_command_about_a_table_takes_a_url(bucket: str, tmp_path: Path):
    url = f"{bucket}/runs/a"
    store = Store.open(url)
    for number in range(4):
        turn = Turn(action="5", observation="Right.", reward=1.0, info={"mode": number % 2 + 1})
        played = episode(str(number), number).model_copy(update={"turns": (turn,) * number})
        store.append([played], commit={"iteration": str(number)})
    listed = agentevol("trajectories", "list", url, "--min-reward", "2", "--json")
    assert [json.loads(line)["id"] for line in listed.splitlines()] == ["2", "3"]
    told = json.loads(agentevol("trajectories", "stats", url, "--json"))
    assert (told["total"]["episodes"], told["modes"]["2"]["turns"]) == (4, 4)
    assert json.loads(agentevol("trajectories", "show", url, "2", "--json"))["iteration"] == 2
    statement = "select id, count(*) as n from turns group by id order by n desc"
    assert agentevol("trajectories", "sql", url, statement, "--csv") == "id,n\n3,3\n2,2\n1,1\n"
    compacted = agentevol("trajectories", "compact", url, "--vacuum")
    assert compacted.splitlines()[0] == "4 files before, 1 now; 4 were replaced"
    assert compacted.splitlines()[-1] == "versions 0 to 5 can be read"
    agentevol("trajectories", "export", url, str(tmp_path / "all.jsonl"))
    assert list(import_jsonl(tmp_path / "all.jsonl")) == list(store.trajectories())
    assert [one.iteration for one in store.trajectories()] == [0, 1, 2, 3]
    assert [one.id for one in store.trajectories(version=2)] == ["0", "1"]


def test_a_vacuum_of_an_object_store_removes_what_was_replaced(bucket: str):
    store = Store.open(f"{bucket}/a")
    for number in range(3):
        store.append([episode(str(number))], commit={"number": str(number)})
    compact(store.place)
    DeltaTable(store.place.name).vacuum(
        retention_hours=0, dry_run=False, enforce_retention_duration=False, full=True
    )
    assert len([name for name in store.place.names() if name.endswith(".parquet")]) == 1
    assert readable_from(store.place) == 4
    assert [one.id for one in store.trajectories()] == ["0", "1", "2"]
    with pytest.raises(StoreError, match="cannot read the table of trajectories s3://"):
        list(store.trajectories(version=2))


WRITER = """
import sys
sys.path[:0] = sys.argv[3:]
from agentgym_store.store import Store
from support.trajectories import trajectory
store = Store.open(sys.argv[1])
print("ready", flush=True)
sys.stdin.readline()
for number in range(12):
    mine = trajectory(id=f"{sys.argv[2]}-{number}")
    store.append([mine], commit={"writer": sys.argv[2], "number": str(number)})
    store.append([trajectory(id=f"shared-{number}")], commit={"number": str(number)})
"""


@pytest.mark.slow
@pytest.mark.usefixtures("clean_environment")
def test_feedback_lies_beside_the_table_in_its_store(bucket: str):
    place = f"{bucket}/runs/rated"
    Store.open(place).append([episode("a")], commit=FIRST)
    for score in ("2", "5"):
        agentevol("feedback", "add", place, "a", "--as", "human:Anna", "--score", score)
    (line,) = agentevol("feedback", "list", place, "--json").splitlines()
    assert json.loads(line)["opinion"] == {"kind": "score", "value": 5.0, "low": 1.0, "high": 5.0}
    table = FeedbackTable.beside(place)
    assert str(table.place) == f"{place}-feedback"
    assert [one.opinion.model_dump()["value"] for one in table.records()] == [2.0, 5.0]


def test_two_processes_that_append_at_once_lose_and_double_nothing(bucket: str):
    url = f"{bucket}/a"
    Store.open(url)
    folders = list(filter(None, sys.path))
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, url, name, *folders],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for name in ("a", "b")
    ]
    for writer in writers:
        assert writer.stdout is not None
        assert writer.stdout.readline() == "ready\n"
    for writer in writers:
        assert writer.stdin is not None
        writer.stdin.close()
    replaced = 0
    while any(writer.poll() is None for writer in writers):
        replaced += compact(Store.open(url).place).replaced
    assert [writer.wait() for writer in writers] == [0, 0]
    expected = sorted(f"{name}-{number}" for name in ("a", "b", "shared") for number in range(12))
    assert replaced > 0
    assert sorted(one.id for one in Store.open(url).trajectories()) == expected
