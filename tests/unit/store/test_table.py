"""The table of episodes: atomic appends, filters, time travel, refusals."""

import json
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import polars as pl
import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from support.trajectories import trajectory

from agentgym_store.arrow import EPISODE_COLUMNS
from agentgym_store.errors import StoreError
from agentgym_store.records import (
    Cancelled,
    Ending,
    Failed,
    Sample,
    Terminated,
    Trajectory,
    Truncated,
    Turn,
)
from agentgym_store.rows import to_batch
from agentgym_store.store import Store, Where

FIRST = {"run": "a", "iteration": "1", "stage": "explore"}
SECOND = {"run": "a", "iteration": "2", "stage": "explore"}


def episode(name: str, iteration: int = 1, ending: Ending | None = None, **fields: object) -> Trajectory:
    ids = tuple(range(len(name)))
    sample = Sample(text="look", prompt_ids=ids, token_ids=(5, 6), logprobs=(-0.25, -0.5), policy_version=1)
    record = trajectory(
        id=name,
        run="a",
        iteration=iteration,
        env="alfworld",
        env_version="1.0.0",
        data_version="builtin:1.0.0",
        task_id=f"train-{name}",
        instruction="find a mug.",
        seed=1,
        policy="checkpoint-0",
        initial_observation="a room",
        turns=(Turn(action="look", observation="<b>", reward=1.0, sample=sample, info={"won": True}),),
        ending=ending or Terminated(),
        started_at="2025-01-01T00:00:00Z",
        wall_s=0.5,
    )
    return record.model_copy(update=fields)


def files(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.glob("*.parquet"))


def test_what_was_appended_comes_back_exactly_and_in_order(tmp_path):
    store = Store.open(tmp_path / "table")
    batch = [episode("b"), episode("a", ending=Failed(failure="worker-lost", detail="gone"))]
    assert store.append(batch, commit=FIRST) == 1
    assert store.append([episode("c", 2)], commit=SECOND) == 2
    assert list(store.trajectories()) == [*batch, episode("c", 2)]
    assert (store.version(), store.count(), store.count(version=1)) == (2, 3, 2)


def test_scripted_episodes_come_back_exactly_alone_and_beside_sampled_ones(tmp_path):
    scripted = Turn(action="look", observation="o", reward=0.0)
    sampled = episode("sampled")
    shown = [sampled.model_copy(update={"id": f"shown {n}", "turns": (scripted,) * n}) for n in (1, 3)]
    store = Store.open(tmp_path / "table")
    store.append(shown, commit={"first": "1"})
    mixed = sampled.model_copy(update={"id": "mixed", "turns": (*sampled.turns, scripted, *sampled.turns)})
    store.append([sampled, mixed], commit={"first": "2"})
    assert list(store.trajectories()) == [*shown, sampled, mixed]


def test_a_second_process_reads_what_the_first_one_wrote(tmp_path):
    writer = Store.open(tmp_path / "table")
    reader = Store.open(tmp_path / "table", create=False)
    writer.append([episode("a")], commit=FIRST)
    assert list(reader.trajectories()) == [episode("a")]
    assert reader.committed(**FIRST) == 1


def test_the_same_commit_key_is_appended_once(tmp_path):
    store = Store.open(tmp_path / "table")
    store.append([episode("a")], commit=FIRST)
    store.append([episode("b", 2)], commit=SECOND)
    assert store.append([episode("x")], commit=FIRST) == 1
    assert Store.open(tmp_path / "table").append([episode("x")], commit=dict(reversed(FIRST.items()))) == 1
    assert [one.id for one in store.trajectories()] == ["a", "b"]
    assert len(files(tmp_path / "table")) == 2


def test_a_key_is_committed_only_when_all_of_it_matches(tmp_path):
    store = Store.open(tmp_path / "table")
    store.append([episode("a")], commit=FIRST)
    assert store.committed(**FIRST) == 1
    assert store.committed(run="a", iteration="1") is None
    assert store.committed(**FIRST, purpose="explore") is None
    assert store.committed(run="a", iteration="2", stage="explore") is None


def test_an_empty_batch_is_remembered_too(tmp_path):
    store = Store.open(tmp_path / "table")
    assert store.append([], commit=FIRST) == 1
    assert (store.committed(**FIRST), store.count(), list(store.trajectories())) == (1, 0, [])
    assert store.scan().collect().is_empty()


def test_two_writers_who_append_the_same_key_at_once_leave_one_batch(tmp_path, monkeypatch):
    slow, quick = Store.open(tmp_path / "table"), Store.open(tmp_path / "table")
    write = slow._write

    def overtaken(*arguments):
        write(*arguments)
        quick.append([episode("a")], commit=FIRST)

    monkeypatch.setattr(slow, "_write", overtaken)
    assert slow.append([episode("a")], commit=FIRST) == 1
    assert [one.id for one in quick.trajectories()] == ["a"]
    assert len(files(tmp_path / "table")) == 1


def test_metadata_that_another_process_changes_meanwhile_lose_nothing(tmp_path, monkeypatch):
    """As of a process that creates the table at the same time."""
    store = Store.open(tmp_path / "t")
    store.append([trajectory(id="a")], commit={"n": "1"})

    def size(name: str) -> int:  # the file is written, its entry in the log is not
        other = DeltaTable(str(tmp_path / "t"))
        other.alter.set_table_properties({"delta.appendOnly": "false"}, raise_if_not_exists=False)
        return (tmp_path / "t" / name).stat().st_size

    monkeypatch.setattr(store.place, "size", size)
    store.append([trajectory(id="b")], commit={"n": "2"})
    assert [one.id for one in store.trajectories()] == ["a", "b"]


def test_two_writers_with_different_keys_both_get_in(tmp_path, monkeypatch):
    slow, quick = Store.open(tmp_path / "table"), Store.open(tmp_path / "table")
    write = slow._write

    def overtaken(*arguments):
        write(*arguments)
        quick.append([episode("a")], commit=FIRST)

    monkeypatch.setattr(slow, "_write", overtaken)
    assert slow.append([episode("b")], commit=SECOND) == 2
    assert sorted(one.id for one in quick.trajectories()) == ["a", "b"]


@pytest.mark.parametrize(
    ("where", "names"),
    [
        (Where(), ["a", "b", "c", "d"]),
        (Where(run="a"), ["a", "b", "c"]),
        (Where(iteration=2), ["c"]),
        (Where(iteration=0), []),
        (Where(purpose="evaluate"), ["b"]),
        (Where(ending="truncated"), ["b"]),
        (Where(ending="cancelled"), ["c"]),
        (Where(env="alfworld", split="train"), ["a", "b", "c", "d"]),
        (Where(split="test"), []),
        (Where(task_ids=["train-a", "train-d"]), ["a", "d"]),
        (Where(task_ids=[]), []),
        (Where(ids={"d"}), ["d"]),
        (Where(without_ids={"d"}), ["a", "b", "c"]),
        (Where(without_ids=["d"], run="a", ending="truncated"), ["b"]),
        (Where(without_ids=[]), ["a", "b", "c", "d"]),
        (Where(ids=["a", "d"], without_ids=["d"]), ["a"]),
        (Where(run="a", iteration=1, ending="terminated"), ["a"]),
        (Where(min_reward=1.0), ["a", "b", "d"]),
        (Where(max_reward=1.0, ending="truncated"), ["b"]),
        (Where(min_reward=1.5), []),
        (Where(max_reward=0.5), []),
    ],
    ids=str,
)
def test_a_filter_selects_episodes_in_both_views(tmp_path, where, names):
    store = Store.open(tmp_path / "table")
    batch = [
        episode("a"),
        episode("b", ending=Truncated(limit="max_turns"), purpose="evaluate"),
        episode("c", 2, ending=Cancelled()),
    ]
    store.append(batch, commit=FIRST)
    store.append([episode("d", run="other")], commit=SECOND)
    assert [one.id for one in store.trajectories(where)] == names
    assert sorted(store.scan(where).collect()["id"]) == names
    assert list(store.rows(["id"], where)) == [(name,) for name in names]


def test_rows_have_the_columns_that_were_asked_for_in_order(tmp_path):
    store = Store.open(tmp_path / "table")
    assert list(store.rows(["id"])) == []
    store.append([episode("b"), episode("a", ending=Cancelled())], commit=FIRST)
    store.append([episode("c", 2)], commit=SECOND)
    wanted = ["turn_count", "id", "total_reward"]
    assert list(store.rows(wanted)) == [(1, "b", 1.0), (1, "a", None), (1, "c", 1.0)]
    assert list(store.rows(wanted, version=1)) == [(1, "b", 1.0), (1, "a", None)]


def test_rows_come_before_the_rest_of_the_table_is_read(tmp_path):
    store = Store.open(tmp_path / "table")
    for number in range(4):
        store.append([episode(str(number))], commit={"run": "a", "iteration": str(number)})
    (tmp_path / "table" / files(tmp_path / "table")[-1]).write_bytes(b"no Parquet")
    rows = store.rows(["id"])
    assert next(rows) == ("0",)
    with pytest.raises(StoreError, match="cannot read the table of trajectories"):
        list(rows)


def test_files_in_which_nothing_can_match_are_not_opened(tmp_path):
    store = Store.open(tmp_path / "table")
    for number in (1, 2, 3):
        store.append([episode(str(number), number)], commit={"iteration": str(number)})
    one, _, three = (tmp_path / "table" / name for name in files(tmp_path / "table"))
    for file in (one, three):
        file.write_bytes(b"not Parquet")
    assert [t.id for t in store.trajectories(Where(iteration=2, purpose="explore"))] == ["2"]
    assert store.scan(Where(iteration=2)).collect()["id"].to_list() == ["2"]
    for nothing in (Where(iteration=4), Where(purpose="evaluate")):
        assert not list(store.trajectories(nothing))
        assert store.scan(nothing).collect().is_empty()
    with pytest.raises(StoreError, match="cannot read"):
        list(store.trajectories(Where(iteration=3)))


def test_a_file_of_which_the_log_says_little_is_read(tmp_path):
    store = Store.open(tmp_path / "table")
    store.append([episode("a")], commit=FIRST)
    DeltaTable(store.place.name).alter.set_table_properties({"delta.dataSkippingNumIndexedCols": "0"})
    write_deltalake(store.place.name, pa.table(to_batch([episode("b", 2)])), mode="append")
    for indexed in ("0", "32"):  # of no file, then of some
        DeltaTable(store.place.name).alter.set_table_properties({"delta.dataSkippingNumIndexedCols": indexed})
        assert [t.id for t in store.trajectories(Where(iteration=2))] == ["b"]
        assert [t.id for t in store.trajectories(Where(iteration=1))] == ["a"]


def test_an_older_version_shows_what_was_there_then(tmp_path):
    store = Store.open(tmp_path / "table")
    version = store.append([episode("a")], commit=FIRST)
    store.append([episode("b", 2)], commit=SECOND)
    assert [one.id for one in store.trajectories(version=version)] == ["a"]
    assert store.scan(version=version).collect()["id"].to_list() == ["a"]
    assert list(store.trajectories(version=0)) == []
    with pytest.raises(StoreError, match=r"table has the versions 0 to 2, not 9$"):
        list(store.trajectories(version=9))


def test_large_batches_are_split_into_row_groups_and_stay_whole(tmp_path):
    store = Store.open(tmp_path / "table")
    batch = [episode(str(number)) for number in range(1100)]
    store.append(batch, commit=FIRST)
    assert [one.id for one in store.trajectories()] == [str(number) for number in range(1100)]
    assert store.version() == 1


def test_the_scan_has_a_row_per_episode_without_the_turns(tmp_path):
    store = Store.open(tmp_path / "table")
    store.append([episode("a"), episode("b", ending=Failed(failure="policy"))], commit=FIRST)
    frame = store.scan().sort("id").collect()
    assert tuple(frame.columns) == EPISODE_COLUMNS
    assert frame["total_reward"].to_list() == [1.0, None]
    assert frame["sampled_tokens"].to_list() == [2, 2]


def test_it_is_a_plain_delta_table_for_everybody_else(tmp_path):
    Store.open(tmp_path / "table").append([episode("a")], commit=FIRST)
    action = pl.col("turns").list.first().struct.field("action")
    assert pl.scan_delta(str(tmp_path / "table")).select(action).collect().item() == "look"
    table = DeltaTable(tmp_path / "table")
    assert table.to_pyarrow_table().column("id").to_pylist() == ["a"]
    assert table.metadata().configuration["agentevol.format"] == "agentevol.trajectory/3"
    assert json.loads(table.schema().to_json())["fields"][0]["metadata"] == {
        "comment": "Unique id of the episode."
    }


def test_a_table_that_another_tool_compacted_reads_the_same(tmp_path):
    store = Store.open(tmp_path / "table")
    store.append([episode("a")], commit=FIRST)
    store.append([episode("b", 2)], commit=SECOND)
    DeltaTable(tmp_path / "table").optimize.compact()
    assert sorted(store.trajectories(), key=lambda one: one.id) == [episode("a"), episode("b", 2)]
    assert (store.committed(**SECOND), store.count()) == (2, 2)


@pytest.mark.parametrize("name", ["with space", "ümlaut 100%", "[brackets]*", "a=b"])
def test_a_folder_may_have_any_name(tmp_path, name):
    store = Store.open(tmp_path / name)
    store.append([episode("a")], commit=FIRST)
    reopened = Store.open(tmp_path / name, create=False)
    assert list(reopened.trajectories()) == [episode("a")]
    assert reopened.scan().collect()["id"].to_list() == ["a"]


def test_a_percent_encoded_name_is_refused_before_anything_is_written(tmp_path):
    with pytest.raises(StoreError, match="looks percent-encoded"):
        Store.open(tmp_path / "a%20b")
    assert list(tmp_path.iterdir()) == []


def test_an_id_twice_in_a_batch_is_refused(tmp_path):
    store = Store.open(tmp_path / "table")
    with pytest.raises(StoreError, match="'a' is twice in one batch"):
        store.append([episode("a"), episode("a")], commit=FIRST)
    assert (store.version(), files(tmp_path / "table")) == (0, [])


def test_a_commit_needs_a_key(tmp_path):
    with pytest.raises(ValueError, match="needs a key"):
        Store.open(tmp_path / "table").append([episode("a")], commit={})


def test_a_batch_that_cannot_be_stored_leaves_nothing(tmp_path):
    store = Store.open(tmp_path / "table")
    good = [episode(str(number)) for number in range(1024)]  # a whole row group is written before the bad one
    with pytest.raises(StoreError, match="cannot be stored"):
        store.append([*good, episode("bad", seed=2**70)], commit=FIRST)
    assert (store.version(), files(tmp_path / "table"), store.committed(**FIRST)) == (0, [], None)
    assert store.append(good, commit=FIRST) == 1


@contextmanager
def files_of_at_most(size: int) -> Generator[None]:
    """A write past `size` bytes of a file fails, as on a full disk."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, limits[1]))
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, ignored)


def test_a_full_disk_is_one_line_and_leaves_nothing(tmp_path):
    store = Store.open(tmp_path / "table")
    with files_of_at_most(4096), pytest.raises(StoreError, match="cannot write the table") as error:
        store.append([episode(os.urandom(9000).hex())], commit=FIRST)
    assert "\n" not in str(error.value)
    assert (store.version(), files(tmp_path / "table")) == (0, [])
    assert store.append([episode("a")], commit=FIRST) == 1


def test_a_disk_that_is_full_when_the_log_is_written_is_one_line_with_the_reason(tmp_path):
    store = Store.open(tmp_path / "table")
    commit = {**FIRST, "note": "x" * 200_000}  # the episode's file fits, the entry in the log does not
    with (
        files_of_at_most(100_000),
        pytest.raises(StoreError, match=r"File too large \(os error 27\)") as error,
    ):
        store.append([episode("a")], commit=commit)
    assert not set("\n\x1b↳") & set(str(error.value))
    assert (store.version(), files(tmp_path / "table")) == (0, [])


def test_a_commit_that_fails_leaves_no_file(tmp_path):
    store = Store.open(tmp_path / "table")
    (tmp_path / "table" / "_delta_log" / "00000000000000000001.json").mkdir()
    with pytest.raises(StoreError, match="cannot write the table"):
        store.append([episode("a")], commit=FIRST)
    assert files(tmp_path / "table") == []


def test_a_killed_append_is_as_if_it_had_not_begun(tmp_path):
    script = (
        "import os, sys; sys.path[:0] = sys.argv[2:]\n"
        "from test_table import FIRST, Store, episode\n"
        "store = Store.open(sys.argv[1])\n"
        "store._commit = lambda *_: os.kill(os.getpid(), 9)\n"
        "store.append([episode('a')], commit=FIRST)\n"
    )
    folders = [str(Path(__file__).parent), *filter(None, sys.path)]
    killed = subprocess.run([sys.executable, "-c", script, str(tmp_path / "table"), *folders], timeout=60)
    assert killed.returncode == -signal.SIGKILL
    store = Store.open(tmp_path / "table", create=False)
    assert (len(files(tmp_path / "table")), store.count(), store.committed(**FIRST)) == (1, 0, None)
    assert store.append([episode("a")], commit=FIRST) == 1
    assert list(store.trajectories()) == [episode("a")]


def test_a_folder_that_cannot_be_made_is_one_line(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot open the table of trajectories"):
        Store.open(tmp_path / "file" / "table")


def test_a_folder_with_other_things_in_it_is_no_table(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(StoreError, match="is not a table of trajectories"):
        Store.open(tmp_path)
    assert [file.name for file in tmp_path.iterdir()] == ["notes.txt"]


def test_a_table_whose_making_was_killed_is_made_again(tmp_path):
    (tmp_path / "table" / "_delta_log").mkdir(parents=True)
    store = Store.open(tmp_path / "table")
    assert store.append([episode("a")], commit=FIRST) == 1


def test_a_missing_table_is_not_made_for_a_reader(tmp_path):
    with pytest.raises(StoreError, match="there is no table of trajectories"):
        Store.open(tmp_path / "table", create=False)
    assert not (tmp_path / "table").exists()


def test_a_reader_of_a_folder_without_a_table_is_told_what_to_name(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(StoreError) as error:
        Store.open(tmp_path, create=False)
    remedy = "name the folder of a run, or a table's folder or URL"
    assert str(error.value) == f"there is no table of trajectories at {tmp_path}; {remedy}"


def test_somebody_elses_delta_table_is_refused(tmp_path):
    write_deltalake(tmp_path / "table", pa.table({"id": ["a"]}))
    with pytest.raises(StoreError, match=r"not 'agentevol\.trajectory/3'"):
        Store.open(tmp_path / "table")


def test_a_table_with_another_column_is_refused(tmp_path):
    Store.open(tmp_path / "table").append([episode("a")], commit=FIRST)
    extra = DeltaTable(tmp_path / "table").to_pyarrow_table().append_column("mood", pa.array(["good"]))
    write_deltalake(tmp_path / "table", extra, mode="append", schema_mode="merge")
    with pytest.raises(StoreError, match=r"columns differ from format .*: mood"):
        Store.open(tmp_path / "table")


def test_a_corrupt_log_is_one_line(tmp_path):
    Store.open(tmp_path / "table")
    (tmp_path / "table" / "_delta_log" / "00000000000000000000.json").write_text("{broken")
    with pytest.raises(StoreError, match="cannot open the table of trajectories") as error:
        Store.open(tmp_path / "table")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("damage", ["truncate", "remove"])
def test_a_damaged_data_file_is_one_line(tmp_path, damage):
    store = Store.open(tmp_path / "table")
    store.append([episode("a")], commit=FIRST)
    file = next((tmp_path / "table").glob("*.parquet"))
    file.unlink() if damage == "remove" else file.write_bytes(file.read_bytes()[:100])
    with pytest.raises(StoreError, match="cannot read the table of trajectories") as error:
        list(store.trajectories())
    assert "\n" not in str(error.value)
