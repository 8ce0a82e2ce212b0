"""The table of feedback: appends, several writers, a kill, other tables, its place."""

import json
import multiprocessing
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable, Schema
from support.trajectories import trajectory

from agentevol.cli.trajectories.compaction import compact as compact_table
from agentevol.data.feedback.checks import check_records
from agentgym_store.arrow import pa, parquet
from agentgym_store.errors import StoreError
from agentgym_store.feedback import table as feedback_table
from agentgym_store.feedback.location import feedback_of, is_feedback
from agentgym_store.feedback.records import Feedback, feedback
from agentgym_store.feedback.rows import FEEDBACK_SCHEMA, to_table
from agentgym_store.feedback.table import FeedbackTable
from agentgym_store.location import Place
from agentgym_store.store import Store
from agentgym_store.table.compaction import Compaction
from agentgym_store.table.formats import create_table
from agentgym_store.table.log import add_action

KINDS: list[dict[str, Any]] = [
    {"kind": "score", "value": 0.5, "low": 0, "high": 1},
    {"kind": "dimensions", "values": {"goal": 3, "relation – ü": -1.5}},
    {"kind": "comparison", "other": "f", "verdict": "tie"},
    {"kind": "comparison", "other": "g", "verdict": "better", "probability": 0.75},
    {"kind": "correction", "action": "look\n{}"},
    {"kind": "flag", "reason": "cheating"},
]


def records(name: str = "Anna") -> list[Feedback]:
    return [
        feedback(
            {
                "trajectory_id": "e\x00\u202e",
                "turn": 3 if opinion["kind"] == "correction" else None,
                "source": f"human:{name}",
                "opinion": opinion,
                "note": "a\n<b>",
                "cost": 0.25,
                "rubric_version": "2",
            }
        )
        for opinion in KINDS
    ]


def test_records_are_read_as_they_were_appended(tmp_path: Path) -> None:
    table, appended = FeedbackTable(tmp_path / "feedback"), records()
    assert table.records() == []
    assert not (tmp_path / "feedback").exists()
    table.append([])
    table.append(appended[:2])
    table.append(appended[2:])
    assert table.records() == appended
    assert FeedbackTable(tmp_path / "feedback").records() == appended


def test_what_another_process_appended_is_seen(tmp_path: Path) -> None:
    one, other = FeedbackTable(tmp_path / "feedback"), FeedbackTable(tmp_path / "feedback")
    one.append(records("Anna"))
    other.append(records("Bob"))
    assert len(one.records()) == len(other.records()) == 12


def _write(folder: Path, name: str, ready: Any) -> None:
    ready.wait()
    table = FeedbackTable(folder)
    for _ in range(10):
        table.append(records(name))


def written_at_once(write: Callable[[Path, str, Any], None], folder: Path) -> list[Feedback]:
    """Records of a table that two processes wrote, Anna's and Bob's."""
    context = multiprocessing.get_context("spawn")
    ready = context.Barrier(2)
    writers = [context.Process(target=write, args=(folder, name, ready)) for name in ("Anna", "Bob")]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
        assert writer.exitcode == 0
    return FeedbackTable(folder).records()


def test_two_processes_write_at_once(tmp_path: Path) -> None:
    found = written_at_once(_write, tmp_path / "feedback")
    assert len(found) == len({one.id for one in found}) == 120


def _killed(folder: Path) -> None:
    table = FeedbackTable(folder)
    table.append(records("Anna"))
    place = table.place
    size = place.size

    def die(name: str) -> int:
        size(name)  # the file is written, and its entry in the log is not
        os.kill(os.getpid(), signal.SIGKILL)
        return 0

    place.size = die  # pyright: ignore[reportAttributeAccessIssue]
    table.append(records("Bob"))


def test_a_writer_that_is_killed_before_its_entry_leaves_nothing_to_read(tmp_path: Path) -> None:
    writer = multiprocessing.get_context("spawn").Process(target=_killed, args=(tmp_path / "feedback",))
    writer.start()
    writer.join()
    assert writer.exitcode == -signal.SIGKILL
    assert len(list((tmp_path / "feedback").glob("*.parquet"))) == 2
    table = FeedbackTable(tmp_path / "feedback")
    assert {one.source for one in table.records()} == {"human:Anna"}
    table.append(records("Cleo"))
    assert {one.source for one in table.records()} == {"human:Anna", "human:Cleo"}


def test_metadata_that_another_process_changes_meanwhile_lose_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = FeedbackTable(tmp_path / "feedback")
    table.append(records("Anna"))

    def size(name: str) -> int:  # the file is written, its entry in the log is not
        other = DeltaTable(str(tmp_path / "feedback"))
        other.alter.set_table_properties({"delta.appendOnly": "false"}, raise_if_not_exists=False)
        return (tmp_path / "feedback" / name).stat().st_size

    monkeypatch.setattr(table.place, "size", size)
    table.append(records("Bob"))
    assert {one.source for one in table.records()} == {"human:Anna", "human:Bob"}
    assert len(table.records()) == 12


def test_a_failed_append_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = FeedbackTable(tmp_path / "feedback")
    table.append(records())

    def fail(*_: Any, **__: Any) -> None:
        raise OSError("the disk is full")

    monkeypatch.setattr("agentgym_store.feedback.table.add_action", fail)
    with pytest.raises(StoreError, match=r"cannot write the table of feedback .*: the disk is full"):
        table.append(records())
    assert len(list((tmp_path / "feedback").glob("*.parquet"))) == 1
    assert len(table.records()) == 6


def _older(folder: Path, appended: list[Feedback]) -> None:
    """Write a table of format 1, which had no probabilities."""
    kept = [field for field in FEEDBACK_SCHEMA if field.name != "probability"]
    older = create_table(Place.of(folder), pa.schema(kept), "feedback", "", "agentevol.feedback/1")
    place = Place.of(folder)
    parquet.write_table(
        to_table(appended).drop(["probability"]), f"{1:020d}-old.parquet", filesystem=place.files
    )
    action = add_action(f"{1:020d}-old.parquet", place.size(f"{1:020d}-old.parquet"), len(appended), {})
    older.create_write_transaction([action], "append", Schema.from_arrow(pa.schema(kept)))


def _format(folder: Path) -> str | None:
    return DeltaTable(folder).metadata().configuration["agentevol.format"]


def test_an_older_table_is_read_and_renewed_with_the_next_append(tmp_path: Path) -> None:
    old, new = [records()[place] for place in (0, 1, 2, 4, 5)], records("Bob")
    _older(tmp_path / "feedback", old)
    table, beside = FeedbackTable(tmp_path / "feedback"), FeedbackTable(tmp_path / "feedback")
    assert table.records() == beside.records() == old
    assert _format(tmp_path / "feedback") == "agentevol.feedback/1"
    table.append(new)
    assert _format(tmp_path / "feedback") == "agentevol.feedback/2"
    beside.append(old[:1])
    assert FeedbackTable(tmp_path / "feedback").records() == [*old, *new, *old[:1]]
    assert beside.records() == [*old, *new, *old[:1]]


def test_a_renewal_that_was_killed_half_way_is_completed(tmp_path: Path) -> None:
    old = records()[:1]
    _older(tmp_path / "feedback", old)
    column = Schema.from_arrow(pa.schema([FEEDBACK_SCHEMA.field("probability")])).fields
    DeltaTable(tmp_path / "feedback").alter.add_columns(list(column))
    table = FeedbackTable(tmp_path / "feedback")
    assert table.records() == old
    table.append(records("Bob"))
    assert _format(tmp_path / "feedback") == "agentevol.feedback/2"
    assert len(table.records()) == 7


def test_other_tables_and_folders_are_refused(tmp_path: Path) -> None:
    Store.open(tmp_path / "other")
    with pytest.raises(StoreError, match=r"not 'agentevol\.feedback/2'"):
        FeedbackTable(tmp_path / "other").records()
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "letter.txt").write_text("x")
    with pytest.raises(StoreError, match="is not a table of feedback"):
        FeedbackTable(tmp_path / "full").append(records())


@pytest.mark.parametrize(
    ("table", "place"),
    [
        ("/runs/first/trajectories", "/runs/first/feedback"),
        ("/data/shown", "/data/shown-feedback"),
        ("s3://bucket/runs/a", "s3://bucket/runs/a-feedback"),
        ("s3://bucket/runs/a/trajectories/", "s3://bucket/runs/a/feedback"),
    ],
)
def test_feedback_lies_beside_its_table(table: str, place: str) -> None:
    assert feedback_of(table) == place


def test_only_a_folder_beside_a_table_is_feedback(tmp_path: Path) -> None:
    Store.open(tmp_path / "shown")
    Store.open(tmp_path / "my-feedback")
    FeedbackTable.beside(tmp_path / "shown").append(records())
    assert is_feedback(tmp_path / "shown-feedback")
    assert not is_feedback(tmp_path / "my-feedback")
    assert not is_feedback(tmp_path / "shown")


def test_records_fit_the_episodes_of_their_table(tmp_path: Path) -> None:
    store = Store.open(tmp_path / "t")
    store.append([trajectory(id="e")], commit={"n": "1"})
    about = {"source": "human:A", "trajectory_id": "e"}
    check_records([feedback({**about, "opinion": KINDS[0]})], store)
    with pytest.raises(StoreError, match="record 2: there is no episode 'f'"):
        check_records([feedback({**about, "opinion": one}) for one in (KINDS[0], KINDS[2])], store)
    with pytest.raises(StoreError, match="has 0 turns, numbered from 0, not 3"):
        check_records([feedback({**about, "opinion": KINDS[4], "turn": 3})], store)


def files(folder: Path) -> int:
    """Number of files of the newest version of a table."""
    return len(DeltaTable(folder).file_uris())


def appended(table: FeedbackTable, count: int) -> list[Feedback]:
    found = [records(str(number))[number % 5] for number in range(count)]
    for one in found:
        table.append([one])
    return found


def test_many_small_files_become_one_and_the_order_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feedback_table, "MOST_SMALL", 8)
    folder = tmp_path / "feedback"
    table, reader = FeedbackTable(folder), FeedbackTable(folder)
    found = appended(table, 7)
    assert files(folder) == 7
    assert reader.records() == found
    found += appended(table, 1)
    assert files(folder) == 1
    found += appended(table, 2)
    assert files(folder) == 3
    assert reader.records() == table.records() == FeedbackTable(folder).records() == found
    assert table.compact() == Compaction(3, 1, 3, table.compact().version)
    assert reader.records() == FeedbackTable(folder).records() == found


def test_an_older_table_is_renewed_when_its_files_are_put_together(tmp_path: Path) -> None:
    folder, old = tmp_path / "feedback", records()[:2]
    _older(folder, old)
    found = [*old, *appended(FeedbackTable(folder), 1)]
    FeedbackTable(folder).compact()
    assert (files(folder), _format(folder)) == (1, "agentevol.feedback/2")
    assert FeedbackTable(folder).records() == found
    _older(tmp_path / "alone", old)
    FeedbackTable(tmp_path / "alone").compact()
    assert _format(tmp_path / "alone") == "agentevol.feedback/2"
    assert FeedbackTable(tmp_path / "alone").records() == old


def test_a_table_that_is_not_there_is_not_compacted(tmp_path: Path) -> None:
    assert FeedbackTable(tmp_path / "feedback").compact() == Compaction(0, 0, 0, 0)
    assert not (tmp_path / "feedback").exists()
    Store.open(tmp_path / "other")
    with pytest.raises(StoreError, match=r"not 'agentevol\.feedback/2'"):
        FeedbackTable(tmp_path / "other").compact()


def test_an_append_is_saved_where_the_compaction_after_it_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = FeedbackTable(tmp_path / "feedback")
    monkeypatch.setattr("agentgym_store.feedback.table.MOST_SMALL", 2)
    found = appended(table, 1)

    def fail(*_: Any, **__: Any) -> None:
        raise StoreError("the disk is full")

    with monkeypatch.context() as broken:
        broken.setattr("agentgym_store.feedback.table.compact", fail)
        found += appended(table, 1)
    assert (table.records(), files(tmp_path / "feedback")) == (found, 2)
    found += appended(table, 1)
    assert (table.records(), files(tmp_path / "feedback")) == (found, 1)


def _click(folder: Path, name: str, ready: Any) -> None:
    feedback_table.MOST_SMALL = 8
    ready.wait()
    table = FeedbackTable(folder)
    for _ in range(20):
        table.append(records(name)[:1])


def test_writers_lose_nothing_while_files_are_put_together(tmp_path: Path) -> None:
    found = written_at_once(_click, tmp_path / "feedback")
    assert len(found) == len({one.id for one in found}) == 40
    for name in ("Anna", "Bob"):
        times = [one.created_at for one in found if one.source == f"human:{name}"]
        assert times == sorted(times)
    assert files(tmp_path / "feedback") < 20


def test_the_command_puts_the_files_of_feedback_together(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = Store.open(tmp_path / "t")
    store.append([trajectory(id="e")], commit={"n": "1"})
    compact_table(str(tmp_path / "t"))
    assert "feedback" not in capsys.readouterr().out
    found = appended(FeedbackTable.beside(tmp_path / "t"), 3)
    compact_table(str(tmp_path / "t"), vacuum=True)
    assert "feedback: 3 files before, 1 now\n0 files removed" in capsys.readouterr().out
    assert FeedbackTable.beside(tmp_path / "t").records() == found
    compact_table(str(tmp_path / "t"), json=True)
    assert json.loads(capsys.readouterr().out)["feedback"]["files_after"] == 1


def test_a_folder_that_comes_into_being_while_it_is_listed_is_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "made").write_text("")
    real, asked = Place(str(tmp_path), is_remote=False).files, list[Any]()

    class Late:
        def get_file_info(self, what: Any) -> Any:
            asked.append(what)
            if len(asked) == 1:
                raise FileNotFoundError("Cannot list directory")
            return real.get_file_info(what)

    monkeypatch.setattr(Place, "files", Late())
    assert Place(str(tmp_path), is_remote=False).names() == ["made"]
    assert len(asked) == 2
