"""Import of databases with questions."""

import json
import sqlite3
from pathlib import Path

import pytest

from agentgym_envs.sql.imported.importing import import_official
from agentgym_envs.sql.imported.library import Library, LibraryError, counts, verify
from tests.support.pets import write


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("import")
    import_official(write(folder / "source"), folder / "home")
    return folder / "home"


def test_an_import_says_what_is_served_and_what_is_not(tmp_path: Path) -> None:
    seen = list[int]()
    report = import_official(write(tmp_path / "source"), tmp_path / "home", seen.append)
    assert report.counts == {"imported_train": 4}
    assert [(one.name, one.reason) for one in report.refused] == [
        ("pets/4", "the result on the base is empty"),
        ("pets/5", "the result is the same on all variants"),
        ("pets/6", "gold unusable: it ends with error: no such column: nobody"),
    ]
    assert seen == [1, 2, 3, 4, 5, 6, 7]
    assert report.notes == (
        "4 of 7 tasks in databases with rows are served; "
        "90.0 % of the 10 mutants of their golds differ from them",
    )


def test_the_library_has_the_tasks_and_their_databases(home: Path) -> None:
    library = Library.open(home)
    assert library is not None
    assert list(library.tasks) == ["pets/0", "pets/1", "pets/2", "pets/3"]
    task = library.tasks["pets/1"]
    assert (task.question, task.difficulty, task.counting[0]) == ("Question 1?", "easy", 0)
    assert library.source(task, 0).opened().run("SELECT count(*) FROM pet").rows == ((30,),)
    assert library.source(task, 1).opened().run("SELECT count(*) FROM pet").rows != ((30,),)


def test_an_import_is_reproducible_and_replaces_the_earlier_one(home: Path, tmp_path: Path) -> None:
    source = write(tmp_path / "source")
    import_official(source, tmp_path / "home")
    import_official(source, tmp_path / "home")
    ours, theirs = Library.open(home), Library.open(tmp_path / "home")
    assert ours is not None
    assert theirs is not None
    assert ours.manifest.digest == theirs.manifest.digest
    assert len(list((tmp_path / "home" / "sql").iterdir())) == 2  # the manifest and one folder


def test_damage_is_noticed(tmp_path: Path) -> None:
    import_official(write(tmp_path / "source"), tmp_path)
    assert verify(tmp_path) == []
    library = Library.open(tmp_path)
    assert library is not None
    (library.folder / "pets.3.sqlite").write_bytes(b"x")
    (library.folder / "pets.4.sqlite").unlink()
    assert [line.split(": ")[1][:14] for line in verify(tmp_path)] == ["its SHA-256 is", "No such file o"]
    (tmp_path / "sql" / "manifest.json").write_text("{}")
    assert verify(tmp_path)[0].endswith("is broken: import the data again")
    with pytest.raises(LibraryError):
        counts(tmp_path)


def test_nothing_imported_is_no_error(tmp_path: Path) -> None:
    assert (counts(tmp_path), verify(tmp_path), Library.open(tmp_path)) == (None, [], None)


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("CREATE TRIGGER t AFTER INSERT ON pet BEGIN SELECT 1; END", "has views, triggers or virtual tables"),
        ("CREATE VIRTUAL TABLE v USING fts5(x)", "has views, triggers or virtual tables"),
        ("DELETE FROM pet; DELETE FROM owner", "has no rows"),
    ],
)
def test_databases_with_more_or_less_than_rows_are_refused(tmp_path: Path, script: str, reason: str) -> None:
    source = write(tmp_path / "source")
    connection = sqlite3.connect(source / "pets.sqlite")
    connection.executescript(script)
    connection.close()
    with pytest.raises(LibraryError, match=reason):
        import_official(source, tmp_path / "home")
    assert list((tmp_path / "home" / "sql").iterdir()) == []


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"db": "../pets"}, "0.db: String should match pattern"),
        ({"db": "/etc/passwd"}, "0.db: String should match pattern"),
        ({"gold": 5}, "0.gold: Input should be a valid string"),
        ({"db": "nobody"}, "pets/x: there is no file nobody.sqlite"),
    ],
)
def test_a_source_of_another_form_is_refused(tmp_path: Path, change: dict[str, object], reason: str) -> None:
    source = write(tmp_path / "source")
    tasks = [{**json.loads((source / "tasks.json").read_text())[0], **change}]
    (source / "tasks.json").write_text(json.dumps(tasks))
    with pytest.raises(LibraryError, match=reason.replace("pets/x", "nobody/0")):
        import_official(source, tmp_path / "home")


def test_links_are_not_followed(tmp_path: Path) -> None:
    source = write(tmp_path / "source")
    (source / "pets.sqlite").rename(tmp_path / "elsewhere.sqlite")
    (source / "pets.sqlite").symlink_to(tmp_path / "elsewhere.sqlite")
    with pytest.raises(LibraryError, match="there is no file pets"):
        import_official(source, tmp_path / "home")
