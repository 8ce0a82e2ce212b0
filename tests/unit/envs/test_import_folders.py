"""Folders of imported data: complete before they are named, gone where their import fails."""

from pathlib import Path

import pytest

from agentgym_envs.core import Record
from agentgym_envs.import_folders import MANIFEST, bounded_text, draft, publish


class Manifest(Record):
    folder: str


def imported(root: Path, text: str, before: str | None) -> str:
    with draft(root, "data-") as folder:
        (folder / "rows.txt").write_text(text)
        publish(root, folder, Manifest(folder=folder.name), before)
    return folder.name


def test_a_folder_is_named_by_the_manifest_and_replaces_the_one_before(tmp_path: Path) -> None:
    root = tmp_path / "env"
    first = imported(root, "one", None)
    second = imported(root, "two", first)
    assert Manifest.model_validate_json((root / MANIFEST).read_text()) == Manifest(folder=second)
    assert sorted(path.name for path in root.iterdir()) == sorted([MANIFEST, second])
    assert (root / second / "rows.txt").read_text() == "two"
    assert (root / second).stat().st_mode & 0o777 == 0o755


def test_an_import_that_fails_leaves_the_one_before(tmp_path: Path) -> None:
    first = imported(tmp_path, "one", None)

    def interrupted() -> None:
        with draft(tmp_path, "data-") as folder:
            (folder / "rows.txt").write_text("half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([MANIFEST, first])


def test_a_text_is_bounded_and_utf_8(tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    file.write_bytes(b"\xef\xbb\xbf{}")
    assert bounded_text(file, 5, ValueError, "utf-8-sig") == "{}"
    with pytest.raises(ValueError, match=r"a\.json has 5 bytes; at most 4 are read"):
        bounded_text(file, 4, ValueError)
    file.write_bytes(b"\xff")
    with pytest.raises(LookupError, match=r"a\.json is not UTF-8: invalid start byte"):
        bounded_text(file, 4, LookupError)
