"""Checkpoints in an object store: copied whole or not at all, kept on a machine while they are used there,
and a run on nodes that do not see its folder.
"""

import pickle
import subprocess
import sys
from pathlib import Path
from unittest.mock import Mock

import pytest

from agentevol.cluster.checkpoints import object_store
from agentevol.cluster.checkpoints.access import Copied, Published
from agentevol.cluster.checkpoints.object_store import CheckpointStore
from agentevol.cluster.processes.shared_storage import token_in
from agentevol.core.errors import ConfigError, RunStopped
from agentevol.core.protocols import Checkpoint

pytestmark = pytest.mark.usefixtures("clean_environment")


@pytest.fixture
def store(bucket: str, tmp_path: Path) -> CheckpointStore:
    return CheckpointStore(f"{bucket}/runs/a", tmp_path / "run")


def written(folder: Path, text: str = "weights") -> Path:
    """A folder like a checkpoint's."""
    (folder / "more").mkdir(parents=True)
    (folder / "model.safetensors").write_text(text)
    (folder / "config.json").write_text("{}")
    (folder / "more" / "empty").touch()
    return folder


def files(folder: Path) -> dict[str, str]:
    return {str(f.relative_to(folder)): f.read_text() for f in sorted(folder.rglob("*")) if f.is_file()}


def checkpoint(store: CheckpointStore, name: str) -> Checkpoint:
    return Checkpoint(store.folder / "checkpoints" / name, int(name))


def published(store: CheckpointStore, *names: str) -> list[Checkpoint]:
    found = [checkpoint(store, name) for name in names]
    for one in found:
        written(one.path, f"weights of {one.path.name}")
    Published(store).hand_out(*found)
    return found


def text(copies: Copied, one: Checkpoint) -> str:
    return (copies.here(one).path / "model.safetensors").read_text()


def test_a_folder_comes_back_as_it_was_put(store: CheckpointStore, tmp_path: Path):
    folder = written(store.folder / "checkpoints" / "0001")
    store.put(folder)
    store.get(folder, tmp_path / "there" / "0001")
    assert files(tmp_path / "there" / "0001") == files(folder)
    assert [entry.name for entry in (tmp_path / "there").iterdir()] == ["0001"]


def test_what_is_put_again_takes_the_place_of_what_was_there(store: CheckpointStore, tmp_path: Path):
    path = store.folder / "checkpoints" / "0001"
    store.put(path, written(tmp_path / "first", "first"))
    second = tmp_path / "second"
    second.mkdir()
    (second / "config.json").write_text("second")
    store.put(path, second)
    store.get(path, tmp_path / "there")
    assert files(tmp_path / "there") == {"config.json": "second"}


def test_a_folder_that_was_cut_short_is_no_model(store: CheckpointStore, tmp_path: Path, monkeypatch):
    """Neither the one that was there before, nor the new one."""
    path = store.folder / "checkpoints" / "0001"
    store.put(path, written(tmp_path / "first"))

    with monkeypatch.context() as patch:
        patch.setattr(object_store.fs, "copy_files", Mock(side_effect=OSError("it broke")))
        with pytest.raises(
            RunStopped, match=r"^cannot write s3://.*/0001: it broke; fix this and resume the run"
        ):
            store.put(path, written(tmp_path / "second"))
    with pytest.raises(RunStopped, match=r"cannot copy s3://.*/0001 to .*: there is no config\.json"):
        store.get(path, tmp_path / "there" / "0001")
    assert list((tmp_path / "there").iterdir()) == []


def test_a_full_disk_is_told_and_nothing_is_left(store: CheckpointStore, disk):
    (one,) = published(store, "0001")
    (one.path / "model.safetensors").write_bytes(bytes(2**20))
    store.put(one.path)
    place = disk(512)
    with pytest.raises(
        RunStopped, match=r"cannot copy s3://.* to .*: the disk is full; fix this and resume the run"
    ):
        store.get(one.path, place / "0001")
    assert list(place.iterdir()) == []


def test_a_url_with_something_below_it_is_not_free(store: CheckpointStore, tmp_path: Path):
    store.check_free()
    store.write("notes", "mine")
    with pytest.raises(ConfigError, match=r"s3://\S+/runs/a is not empty: each run has one of its own"):
        store.check_free()
    with pytest.raises(ConfigError, match=r"cannot read s3://no-such-bucket/a: "):
        CheckpointStore("s3://no-such-bucket/a", tmp_path).check_free()


def test_a_machine_that_reads_and_writes_the_store_takes_part(store: CheckpointStore, monkeypatch):
    with token_in(store) as token:
        assert token.unseen() == ""
        store.remove(token.name)
        assert token.unseen().startswith(f"cannot read and write {store.url}: ")
        monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
        assert token.unseen().startswith(f"cannot read and write {store.url}: ")
    with pytest.raises(RunStopped, match="cannot write to s3://"), token_in(store):
        pass


def test_processes_of_a_machine_share_a_copy_which_stays_while_one_of_them_uses_it(
    store: CheckpointStore, monkeypatch
):
    first, second = published(store, "0001", "0002")
    one, other = Copied(store), Copied(store)
    one.use(first, None)
    with monkeypatch.context() as patch:
        patch.setattr(CheckpointStore, "get", lambda *_: pytest.fail("it is here"))
        other.use(first)
    assert text(one, first) == text(other, first) == "weights of 0001"
    assert one.here(first).version == 1
    assert not one.here(first).path.is_relative_to(store.folder)
    one.use(second)
    assert text(other, first) == "weights of 0001"
    other.use(second)
    assert not other.here(first).path.exists()
    assert text(one, second) == "weights of 0002"


def test_a_process_that_died_uses_nothing(store: CheckpointStore):
    first, second = published(store, "0001", "0002")
    lines = (
        "import os, pickle, sys",
        "from agentevol.cluster.checkpoints.access import Copied",
        "store, checkpoint = pickle.load(sys.stdin.buffer)",
        "copies = Copied(store)",
        "copies.use(checkpoint)",
        "os.kill(os.getpid(), 9)",
    )
    told = pickle.dumps((store, first))
    died = subprocess.run([sys.executable, "-c", "\n".join(lines)], input=told, check=False, timeout=60)
    assert died.returncode == -9
    copies = Copied(store)
    assert copies.here(first).path.is_dir()
    copies.use(second)
    assert not copies.here(first).path.exists()


def test_what_a_process_made_is_used_by_it_without_another_copy_and_by_others_from_the_store(
    store: CheckpointStore, monkeypatch
):
    made = checkpoint(store, "0001")
    driver, learner, elsewhere = Published(store), Copied(store), Copied(store)
    written(learner.place(made.path), "learnt")
    learner.hand_in(made.path)
    driver.take_in(made.path)
    assert (made.path / "model.safetensors").read_text() == "learnt"
    driver.hand_out(made)
    with monkeypatch.context() as patch:
        patch.setattr(CheckpointStore, "get", lambda *_: pytest.fail("it is here"))
        learner.use(made)
    assert text(learner, made) == "learnt"
    learner.use()
    elsewhere.use(made)
    assert text(elsewhere, made) == "learnt"


def test_what_a_lost_process_made_is_not_taken_for_what_another_one_handed_in(store: CheckpointStore):
    made = checkpoint(store, "0001")
    lost, learner = Copied(store), Copied(store)
    written(lost.place(made.path), "of the lost one")
    assert not learner.place(made.path).exists()
    written(lost.place(made.path), "of the lost one, again")
    written(store.folder / "elsewhere", "of another machine")
    store.put(made.path, store.folder / "elsewhere")
    engine = Copied(store)
    engine.use(made)
    assert text(engine, made) == "of another machine"


def test_what_was_kept_for_an_earlier_driver_is_not_read_and_removed_when_its_processes_have_ended(
    store: CheckpointStore,
):
    (one,) = published(store, "0001")
    earlier = Copied(store)
    earlier.use(one)
    (one.path / "model.safetensors").write_text("learnt again")
    resumed = CheckpointStore(store.url, store.folder)
    Published(resumed).hand_out(one)
    copies = Copied(resumed)
    copies.use(one)
    assert text(copies, one) == "learnt again"
    assert text(earlier, one) == "weights of 0001"
    kept = earlier.here(one).path
    del earlier
    Copied(resumed)
    assert not kept.exists()
    assert text(copies, one) == "learnt again"
