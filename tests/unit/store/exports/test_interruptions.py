"""An export that is interrupted anywhere continues, and ends with the bytes of one that was not."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from support.exports import contents, table_of, varied_episodes

from agentevol.data.exports.registry import ALL_FORMATS
from agentgym_store import store as table_module
from agentgym_store.errors import StoreError
from agentgym_store.exports import Plan, Report, Selection, export, export_format
from agentgym_store.exports.writing import export as export_module
from agentgym_store.exports.writing import grouping, shards
from agentgym_store.exports.writing.progress import progress_of
from agentgym_store.store import Store, Where

EPISODES = varied_episodes(96)
WRITTEN = sorted(set(ALL_FORMATS) - {"sotopia"})
PLAN = Plan(valid=0.3, shards=2, distinct=True)


class Killed(BaseException):
    """Stands for the end of the process: nothing after it runs but `finally`."""


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Store:
    again = [t.model_copy(update={"id": f"again/{t.id}"}) for t in EPISODES[:20]]
    return table_of(tmp_path_factory.mktemp("table") / "trajectories", [*EPISODES, *again], each=29)


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts of a few episodes, each with a checkpoint, and a temporary file for each few tasks."""
    monkeypatch.setattr(table_module, "_READ_EPISODES", 7)
    monkeypatch.setattr(export_module, "CHECKPOINT_S", 0.0)
    monkeypatch.setattr(grouping, "BUCKET_TURNS", 30)


def written(table: Store, name: str, out: Path, **more: Any) -> Report:
    return export(table, export_format(name, {}, ALL_FORMATS), out, plan=PLAN, **more)


def dying(
    monkeypatch: pytest.MonkeyPatch, place: Any, name: str, after: int, then: Callable[..., Any]
) -> None:
    """Have the function `name` of `place` die in its call number `after`, having done the work `then`."""
    real, calls = getattr(place, name), [0]

    def mortal(*arguments: Any, **named: Any) -> Any:
        calls[0] += 1
        if calls[0] == after:
            then(real, *arguments, **named)
            raise Killed
        return real(*arguments, **named)

    monkeypatch.setattr(place, name, mortal)


def whole(real: Callable[..., Any], *arguments: Any, **named: Any) -> None:
    real(*arguments, **named)


def none(real: Callable[..., Any], *arguments: Any, **named: Any) -> None:
    """Nothing of it was done."""


def half(real: Callable[..., Any], spools: Any, split: str, rows: Iterator[bytes]) -> None:
    """A part of the bytes was written."""
    data = b"".join(rows)
    real(spools, split, [data[: len(data) // 2]])


@pytest.mark.parametrize("name", WRITTEN)
@pytest.mark.parametrize("after", [1, 3, 6])
def test_an_export_that_dies_while_it_writes_ends_with_the_same_bytes(
    name: str, after: int, table: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(table, name, tmp_path / "undisturbed" / "out")
    with monkeypatch.context() as patch:
        dying(patch, shards.Spools, "write", after, half)
        with pytest.raises(Killed):
            written(table, name, tmp_path / "killed" / "out")
    assert not (tmp_path / "killed" / "out").exists()
    report = written(table, name, tmp_path / "killed" / "out")
    assert contents(tmp_path / "killed") == contents(tmp_path / "undisturbed")
    assert report.continued == (after > 2)  # before the first checkpoint there is nothing to continue


PLACES = [
    ("parquet", export_module, "divided", 1, none),
    ("parquet", export_module, "divided", 2, whole),
    ("preference", export_module, "divided", 1, whole),
    *(
        (name, export_module, function, 1, none)
        for name in ("parquet", "preference")
        for function in ("whole_file", "card")
    ),
    *(
        (name, export_module._Job, "_checkpoint", 3, then)
        for name in ("parquet", "preference")
        for then in (none, whole)
    ),
    ("preference", export_module, "distribute", 1, whole),
    ("preference", grouping, "append_stream", 5, whole),
]


@pytest.mark.parametrize(("name", "place", "function", "after", "then"), PLACES)
def test_an_export_that_dies_elsewhere_ends_with_the_same_bytes(
    name: str,
    place: Any,
    function: str,
    after: int,
    then: Callable[..., Any],
    table: Store,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    written(table, name, tmp_path / "undisturbed" / "out")
    with monkeypatch.context() as patch:
        dying(patch, place, function, after, then)
        with pytest.raises(Killed):
            written(table, name, tmp_path / "killed" / "out")
    assert not (tmp_path / "killed" / "out").exists()
    written(table, name, tmp_path / "killed" / "out")
    assert contents(tmp_path / "killed") == contents(tmp_path / "undisturbed")


def kill(table: Store, name: str, out: Path, monkeypatch: pytest.MonkeyPatch, **more: Any) -> None:
    with monkeypatch.context() as patch:
        dying(patch, shards.Spools, "write", 5, half)
        with pytest.raises(Killed):
            written(table, name, out, **more)


def test_a_continued_export_is_of_the_version_that_it_began_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = table_of(tmp_path / "table", EPISODES[:60], each=29)
    written(table, "sft", tmp_path / "undisturbed" / "out")
    kill(table, "sft", tmp_path / "killed" / "out", monkeypatch)
    table.append(EPISODES[60:], commit={"later": "yes"})
    report = written(table, "sft", tmp_path / "killed" / "out")
    assert (report.version, report.continued) == (3, True)
    assert contents(tmp_path / "killed") == contents(tmp_path / "undisturbed")


@pytest.mark.parametrize("change", ["format", "filter", "version"])
def test_another_export_to_the_same_place_begins_anew(
    change: str, table: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kill(table, "sft", tmp_path / "killed" / "out", monkeypatch)
    name = "sharegpt" if change == "format" else "sft"
    more: dict[str, Any] = {"selection": Selection(Where(env="alfworld"))} if change == "filter" else {}
    more |= {"version": 2} if change == "version" else {}
    report = written(table, name, tmp_path / "killed" / "out", **more)
    written(table, name, tmp_path / "undisturbed" / "out", **more)
    assert not report.continued
    assert contents(tmp_path / "killed") == contents(tmp_path / "undisturbed")


def test_two_exports_to_the_same_place_do_not_disturb_each_other(table: Store, tmp_path: Path) -> None:
    other = pytest.raises(StoreError, match=r"cannot write .*out: another export writes there now")
    with progress_of(tmp_path / "out", "the first"), other:
        written(table, "sft", tmp_path / "out")
    written(table, "sft", tmp_path / "out")


def test_a_full_disk_is_one_line_and_the_export_can_continue(
    table: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(shards.Spools, "write", full)
        with pytest.raises(StoreError, match=r"cannot write .*No space left on device") as error:
            written(table, "sft", tmp_path / "out")
    assert "\n" not in str(error.value)
    written(table, "sft", tmp_path / "out")


def test_temporary_files_hold_each_task_once_and_all_of_it(
    table: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pairs are the same, whether all tasks are in memory together or a few at a time."""
    few = written(table, "preference", tmp_path / "few")
    monkeypatch.setattr(grouping, "BUCKET_TURNS", 10**9)
    all_at_once = written(table, "preference", tmp_path / "all")
    assert few.rows == all_at_once.rows
    assert few.left_out == all_at_once.left_out
    (first, second) = (
        sorted(line for text in contents(tmp_path / place / "data").values() for line in text.splitlines())
        for place in ("few", "all")
    )
    assert first == second
    assert grouping.bucket_count(99) == 1
    assert grouping.bucket_count(2 * 10**9 + 1) == 3
