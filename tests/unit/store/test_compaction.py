"""Compaction of a table: order, readers, writers, killed processes, versions."""

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError
from hypothesis import given
from hypothesis import strategies as st
from support.trajectories import trajectory

from agentgym_store.errors import StoreError
from agentgym_store.records import Trajectory, Turn
from agentgym_store.store import Store, Where
from agentgym_store.table import compaction
from agentgym_store.table.compaction import Compaction, compact, groups
from agentgym_store.table.log import Log
from agentgym_store.table.vacuum import readable_from, vacuum

FOLDERS = [*filter(None, sys.path)]


def episode(number: int) -> Trajectory:
    turn = Turn(action="look", observation="o" * (number % 7), reward=1.0)
    return trajectory(id=f"{number:03}", iteration=number // 4, turns=(turn,) * (number % 3))


def filled(folder: Path, commits: int = 8) -> tuple[Store, list[Trajectory]]:
    """A table with two episodes in each of its files."""
    store = Store.open(folder)
    episodes = [episode(number) for number in range(2 * commits)]
    for number in range(commits):
        store.append(episodes[2 * number : 2 * number + 2], commit={"number": str(number)})
    return store, episodes


def parquet_files(folder: Path) -> set[str]:
    return {file.name for file in folder.glob("*.parquet")}


def aged(folder: Path) -> None:
    """The files, as if they had been written long ago."""
    for file in folder.glob("*.parquet"):
        os.utime(file, (1, 1))


@given(st.lists(st.integers(1, 40), max_size=30), st.integers(1, 60))
def test_only_small_neighbours_that_fit_are_put_together(sizes: list[int], target: int):
    files = {f"{number:03}": size for number, size in enumerate(sizes)}
    found = list(groups(files, target))
    names = list(files)
    for group in found:
        assert len(group) > 1
        assert names.index(group[-1]) - names.index(group[0]) == len(group) - 1
        assert sum(files[name] for name in group) <= target
        assert all(files[name] < target / 2 for name in group)
    together = [name for group in found for name in group]
    assert together == sorted(set(together))
    alone = [name for name in names if name not in together]
    for one, next_one in pairwise(names):  # nothing that fits is left
        if one in alone and next_one in alone:
            fits = files[one] < target / 2 > files[next_one] and files[one] + files[next_one] <= target
            assert not fits


def test_episodes_keep_their_order_and_older_versions_stay(tmp_path: Path):
    store, episodes = filled(tmp_path / "table")
    sizes = Log(DeltaTable(tmp_path / "table")).sizes()
    half = compact(store.place, target_bytes=sum(sizes.values()) // 3)
    assert 1 < half.files_after < half.files_before == 8
    assert list(store.trajectories()) == episodes
    assert compact(store.place) == Compaction(half.files_after, 1, half.files_after, half.version + 1)
    store.append([episode(16)], commit={"number": "8"})
    assert list(store.trajectories()) == [*episodes, episode(16)]
    assert store.count() == 17
    assert list(store.trajectories(version=3)) == episodes[:6]
    assert [store.committed(number=str(number)) for number in (0, 7)] == [1, 8]
    assert readable_from(store.place) == 0


def test_a_second_time_there_is_nothing_to_do(tmp_path: Path):
    store, _ = filled(tmp_path / "table")
    compact(store.place)
    assert compact(store.place) == Compaction(1, 1, 0, 9)


def test_a_compacted_file_has_the_ranges_of_what_is_in_it(tmp_path: Path):
    store, episodes = filled(tmp_path / "table")
    size = max(Log(DeltaTable(tmp_path / "table")).sizes().values())
    compact(store.place, target_bytes=3 * size)
    with_one, everything, with_none = store.files(Where(iteration=0), Where(), Where(iteration=9))
    assert (len(with_one), len(everything), with_none) == (1, 3, [])
    assert list(store.trajectories(Where(iteration=1))) == episodes[4:8]
    stats = store.scan(Where(iteration=3)).collect()
    assert stats["id"].to_list() == ["012", "013", "014", "015"]


def test_an_empty_table_and_an_empty_commit_are_left(tmp_path: Path):
    store = Store.open(tmp_path / "table")
    assert compact(store.place) == Compaction(0, 0, 0, 0)
    store.append([], commit={"a": "1"})
    assert (compact(store.place), store.committed(a="1")) == (Compaction(0, 0, 0, 1), 1)


def test_a_reader_in_the_midst_of_a_table_goes_on(tmp_path: Path):
    store, episodes = filled(tmp_path / "table")
    reading = store.trajectories()
    assert next(reading) == episodes[0]
    compact(store.place)
    vacuum(store.place, 1)  # what was just replaced is too young
    assert [episodes[0], *reading] == episodes


WRITER = """
import sys
sys.path[:0] = sys.argv[2:]
from agentgym_store.store import Store
from test_compaction import episode
store = Store.open(sys.argv[1])
for number in range(100, 130):
    store.append([episode(number)], commit={"number": str(number)})
    print(number, flush=True)
"""


def started(program: str, *arguments: object) -> "subprocess.Popen[str]":
    command = [sys.executable, "-c", program, *map(str, arguments), str(Path(__file__).parent), *FOLDERS]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def test_a_process_that_appends_meanwhile_loses_nothing(tmp_path: Path):
    store, episodes = filled(tmp_path / "table")
    writer = started(WRITER, store.place)
    assert writer.stdout is not None
    replaced = 0
    for number, _ in enumerate(writer.stdout):
        if number % 5 == 0:
            replaced += compact(store.place).replaced
    assert writer.wait() == 0
    assert replaced > 8
    written = [episode(number) for number in range(100, 130)]
    assert list(store.trajectories()) == [*episodes, *written]
    assert store.committed(number="129") is not None


KILLED = """
import os, sys
sys.path[:0] = sys.argv[3:]
from pathlib import Path
from agentgym_store.location import Place
from agentgym_store.table import compaction

def killed(*_):
    os.kill(os.getpid(), 9)

if sys.argv[2] == "writing":
    compaction._widened = killed
elif sys.argv[2] == "before its entry":
    compaction._commit = killed
elif sys.argv[2] == "after its entry":
    commit = compaction._commit
    compaction._commit = lambda *given: commit(*given) and killed()
compaction.compact(Place.of(Path(sys.argv[1])))
"""


@pytest.mark.parametrize(
    ("moment", "now", "left"), [("writing", 8, 9), ("before its entry", 8, 9), ("after its entry", 1, 9)]
)
def test_a_compaction_that_is_killed_loses_nothing(tmp_path: Path, moment: str, now: int, left: int):
    store, episodes = filled(tmp_path / "table")
    process = started(KILLED, tmp_path / "table", moment)
    assert process.wait(timeout=120) == -signal.SIGKILL
    assert list(Store.open(tmp_path / "table", create=False).trajectories()) == episodes
    assert (len(Log(DeltaTable(tmp_path / "table")).sizes()), len(parquet_files(tmp_path / "table"))) == (
        now,
        left,
    )
    assert compact(store.place).files_after == 1
    assert list(store.trajectories()) == episodes
    assert store.append([episode(16)], commit={"number": "8"}) > 8


def test_one_that_is_killed_among_several_files_keeps_those_that_are_done(tmp_path: Path):
    store, episodes = filled(tmp_path / "table", commits=30)
    program = KILLED.replace(
        "compaction.compact(Place.of(Path(sys.argv[1])))",
        "compaction.compact(Place.of(Path(sys.argv[1])), int(sys.argv[2]),"
        " lambda done: (print(done, flush=True), sys.stdin.readline()))",
    )
    size = max(Log(DeltaTable(tmp_path / "table")).sizes().values())
    process = started(program, tmp_path / "table", 3 * size)
    assert process.stdout is not None
    replaced = int(process.stdout.readline())
    process.kill()
    process.wait()
    assert 0 < replaced < 30
    assert list(store.trajectories()) == episodes
    compact(store.place)
    assert list(store.trajectories()) == episodes


def test_of_two_compactions_at_once_one_gives_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    store, episodes = filled(tmp_path / "table")
    merge = compaction._merge

    def overtaken(*arguments: Any) -> Any:
        merged = merge(*arguments)
        monkeypatch.setattr(compaction, "_merge", merge)
        compact(store.place)
        return merged

    monkeypatch.setattr(compaction, "_merge", overtaken)
    assert compact(store.place) == Compaction(8, 1, 0, 9)
    assert list(store.trajectories()) == episodes
    assert len(parquet_files(tmp_path / "table")) == 9  # the one that gave up left none


def test_an_entry_that_another_process_was_quicker_with_is_written_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    store, episodes = filled(tmp_path / "table")
    write = DeltaTable.create_write_transaction

    def overtaken(*arguments: Any, **named: Any) -> None:
        monkeypatch.setattr(DeltaTable, "create_write_transaction", write)
        Store.open(tmp_path / "table").append([episode(16)], commit={"number": "8"})
        write(*arguments, **named)

    monkeypatch.setattr(DeltaTable, "create_write_transaction", overtaken)
    assert compact(store.place) == Compaction(8, 2, 8, 10)
    assert list(store.trajectories()) == [*episodes, episode(16)]


def test_two_entries_at_once_do_not_double_the_episodes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    store, episodes = filled(tmp_path / "table")
    write = DeltaTable.create_write_transaction

    def overtaken(*arguments: Any, **named: Any) -> None:
        monkeypatch.setattr(DeltaTable, "create_write_transaction", write)
        compact(store.place)
        write(*arguments, **named)

    monkeypatch.setattr(DeltaTable, "create_write_transaction", overtaken)
    assert compact(store.place) == Compaction(8, 1, 0, 9)
    assert list(store.trajectories()) == episodes


def test_an_entry_whose_answer_was_lost_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    store, episodes = filled(tmp_path / "table")
    write = DeltaTable.create_write_transaction

    def silent(*arguments: Any, **named: Any) -> None:
        write(*arguments, **named)
        raise DeltaError("the connection was lost")

    monkeypatch.setattr(DeltaTable, "create_write_transaction", silent)
    assert compact(store.place) == Compaction(8, 1, 8, 9)
    assert list(store.trajectories()) == episodes


def test_a_log_that_cannot_be_written_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    store, episodes = filled(tmp_path / "table", commits=2)

    def refused(*_: Any, **__: Any) -> None:
        raise DeltaError("no space\nleft")

    monkeypatch.setattr(DeltaTable, "create_write_transaction", refused)
    with pytest.raises(StoreError, match=r"cannot compact the table .*: no space") as error:
        compact(store.place)
    assert "\n" not in str(error.value)
    assert list(store.trajectories()) == episodes


def test_a_file_that_cannot_be_read_is_one_line_and_leaves_nothing(tmp_path: Path):
    store, _ = filled(tmp_path / "table")
    names = parquet_files(tmp_path / "table")
    (tmp_path / "table" / max(names)).write_bytes(b"no Parquet")
    with pytest.raises(StoreError, match="cannot compact the table of trajectories"):
        compact(store.place)
    assert parquet_files(tmp_path / "table") == names


def versions(store: Store) -> Sequence[int]:
    """Versions that can be read."""
    found: list[int] = []
    for version in range(store.version() + 1):
        with suppress(StoreError):
            list(store.trajectories(version=version))
            found.append(version)
    return found


def test_a_vacuum_removes_what_was_replaced_long_ago(tmp_path: Path):
    store, episodes = filled(tmp_path / "table")
    compact(store.place)
    assert vacuum(store.place, 1).readable_from == 0
    assert len(parquet_files(tmp_path / "table")) == 9
    DeltaTable(tmp_path / "table").vacuum(  # as an hour later
        retention_hours=0, dry_run=False, enforce_retention_duration=False, full=True
    )
    assert len(parquet_files(tmp_path / "table")) == 1
    assert readable_from(store.place) == 9
    with pytest.raises(StoreError, match=r"No such file .*; a vacuum removes the files of old versions"):
        list(store.trajectories(version=3))
    assert versions(store) == [0, *range(9, store.version() + 1)]
    assert list(store.trajectories()) == episodes
    assert store.append([episode(16)], commit={"number": "8"}) == store.version()


def test_versions_of_a_second_compaction_stay_when_the_first_lost_its_files(tmp_path: Path):
    store, episodes = filled(tmp_path / "table", commits=4)
    compact(store.place)
    for name in parquet_files(tmp_path / "table") - set(store.files(Where())[0]):
        (tmp_path / "table" / name).unlink()
    store.append([episode(8)], commit={"number": "4"})
    assert compact(store.place).version == 7
    assert readable_from(store.place) == 5
    assert versions(store) == [0, 5, 6, 7]
    assert list(store.trajectories()) == [*episodes, episode(8)]


def test_a_vacuum_removes_what_killed_processes_left_and_nothing_young(tmp_path: Path):
    store, episodes = filled(tmp_path / "table", commits=2)
    left = tmp_path / "table" / "00000000000000000001-left.parquet"
    left.write_bytes(b"half")
    assert (vacuum(store.place, 1).files, left.exists()) == (0, True)
    aged(tmp_path / "table")
    assert (vacuum(store.place, 1).files, left.exists()) == (1, False)
    assert list(store.trajectories()) == episodes


def test_a_vacuum_that_would_reach_running_processes_is_refused(tmp_path: Path):
    store, _ = filled(tmp_path / "table", commits=1)
    with pytest.raises(ValueError, match="at least an hour, not 0"):
        vacuum(store.place, 0)
