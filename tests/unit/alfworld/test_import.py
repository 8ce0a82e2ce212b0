"""Importing official games: what is sound is kept, the rest is reported, and nothing is ever half written."""

import errno
import json
import lzma
from dataclasses import replace
from pathlib import Path

import pytest

from agentgym_envs.alfworld.game import Game, GameError, read_compact_line, write_compact_line
from agentgym_envs.alfworld.importing import Refused, import_official, load_split, validate, verify
from agentgym_envs.home import data_home

KITCHEN = read_compact_line((Path(__file__).parent / "alfworld_kitchen.json").read_text())


def game(number: int) -> Game:
    return replace(KITCHEN, id=f"pick_and_place_simple-Mug-None-Cabinet-1/trial_T{number}")


def write_folder(root: Path, split: str, source: Game, **changes: object) -> Path:
    """A game folder as the official data has it."""
    problem = f"(:init {' '.join(f'({fact})' for fact in source.facts)}) {source.goal}"
    data: dict[str, object] = {
        "grammar": f'{{"task": [{{"rhs": "Your task is to: {source.sentence}."}}]}}',
        "pddl_problem": problem,
        "walkthrough": list(source.walkthrough),
        "solvable": True,
    }
    path = root / split / source.id / "game.tw-pddl"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(data | changes))
    return path


def write_compact(path: Path, *lines: str) -> None:
    with lzma.open(path, "wt", encoding="utf-8") as file:
        file.writelines(f"{line}\n" for line in lines)


def files_under(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def test_an_alfworld_data_root_is_imported_by_split(tmp_path: Path) -> None:
    write_folder(tmp_path / "data", "json_2.1.1/train", game(1))
    write_folder(tmp_path / "data", "json_2.1.1/train", game(2))
    write_folder(tmp_path / "data", "json_2.1.1/valid_seen", game(3))
    looked_at: list[int] = []
    report = import_official(tmp_path / "data", tmp_path / "home", looked_at.append)
    assert (report.counts, report.refused, looked_at) == (
        {"official_train": 2, "valid_seen": 1},
        (),
        [1, 2, 3],
    )
    assert [one.id for one in load_split(tmp_path / "home", "official_train")] == [game(1).id, game(2).id]
    assert load_split(tmp_path / "home", "valid_seen")[0] == game(3)
    assert verify(tmp_path / "home") == []


def test_one_split_folder_and_loose_games_are_imported_too(tmp_path: Path) -> None:
    write_folder(tmp_path, "valid_unseen", game(1))
    write_folder(tmp_path, "mine", game(2))
    assert import_official(tmp_path / "valid_unseen", tmp_path / "home").counts == {"valid_unseen": 1}
    assert import_official(tmp_path / "mine", tmp_path / "home").counts == {"imported": 1}


def test_compact_files_are_imported_and_written_as_readable_compact_files(tmp_path: Path) -> None:
    write_compact(
        tmp_path / "compact_train.jsonl.xz", *(write_compact_line(game(number)) for number in range(3))
    )
    write_compact(tmp_path / "compact_valid_train.jsonl.xz", write_compact_line(game(7)))
    report = import_official(tmp_path, tmp_path / "home")
    assert report.counts == {"official_train": 3, "valid_train": 1}
    (written,) = (tmp_path / "home").rglob("official_train.jsonl.xz")
    with lzma.open(written, "rt", encoding="utf-8") as file:
        assert [read_compact_line(line) for line in file] == [game(0), game(1), game(2)]


def test_each_game_that_cannot_be_used_is_reported_with_its_reason(tmp_path: Path) -> None:
    bad = [
        (write_compact_line(game(1)), ""),
        ("{broken", "not a compact game line"),
        (write_compact_line(game(1)), "occurs twice"),
        (write_compact_line(replace(game(2), goal="(:goal (opened ?r))")), "not a conjunction of facts"),
        (write_compact_line(replace(game(3), walkthrough=("look",))), "the walkthrough does not win"),
        (write_compact_line(replace(game(4), walkthrough=())), "there is no walkthrough"),
        (write_compact_line(replace(game(5), id="train/small/0")), "has the form of a generated task's id"),
        (
            write_compact_line(
                replace(game(6), facts=(*KITCHEN.facts, "inReceptacle Mug_bar_01 Cabinet_bar_02"))
            ),
            "the goal holds before the first command",
        ),
    ]
    write_compact(tmp_path / "compact_train.jsonl.xz", *(line for line, _ in bad))
    report = import_official(tmp_path, tmp_path / "home")
    assert report.counts == {"official_train": 1}
    assert [refused.name for refused in report.refused] == [
        f"compact_train.jsonl.xz line {number}" for number in range(2, 9)
    ]
    for refused, (_, reason) in zip(report.refused, bad[1:], strict=True):
        assert reason in refused.reason
        assert "\n" not in refused.reason


def test_game_folders_that_the_stock_loader_skips_are_reported(tmp_path: Path) -> None:
    write_folder(tmp_path, "train", game(1))
    unsolvable = write_folder(tmp_path, "train", game(2), solvable=False)
    sliced = write_folder(
        tmp_path, "train", replace(KITCHEN, id="pick_heat-AppleSliced-None-Desk-1/trial_T1")
    )
    binary = write_folder(tmp_path, "train", game(4))
    binary.write_bytes(b"\xff\xfe\x00")
    huge = write_folder(tmp_path, "train", game(5))
    huge.write_bytes(b" " * 1_000_001)
    report = import_official(tmp_path, tmp_path / "home")
    assert report.counts == {"official_train": 1}
    assert report.refused == (
        Refused(str(unsolvable.parent), "the game is marked unsolvable"),
        Refused(str(binary.parent), "the file is not UTF-8: invalid start byte"),
        Refused(str(huge.parent), "the file has 1,000,001 bytes; at most 1,000,000 are read"),
        Refused(
            str(sliced.parent),
            "movable and Sliced tasks are not part of ALFWorld: the stock loader skips them, too",
        ),
    )


def test_a_second_import_replaces_the_first(tmp_path: Path) -> None:
    write_folder(tmp_path / "one", "train", game(1))
    write_folder(tmp_path / "two", "valid_seen", game(2))
    import_official(tmp_path / "one", tmp_path / "home")
    import_official(tmp_path / "two", tmp_path / "home")
    assert load_split(tmp_path / "home", "valid_seen")[0].id == game(2).id
    assert {Path(name).name for name in files_under(tmp_path / "home")} == {
        "manifest.json",
        "valid_seen.json",
        "valid_seen.jsonl.xz",
    }
    with pytest.raises(GameError, match="the games of 'official_train' are not imported"):
        load_split(tmp_path / "home", "official_train")


def test_a_missing_or_empty_source_is_named(tmp_path: Path) -> None:
    with pytest.raises(GameError, match="nowhere is no folder"):
        import_official(tmp_path / "nowhere", tmp_path / "home")
    (tmp_path / "empty").mkdir()
    with pytest.raises(GameError, match="empty has no game that can be imported"):
        import_official(tmp_path / "empty", tmp_path / "home")
    assert files_under(tmp_path) == set()


def test_a_corrupt_compact_file_stops_the_import_and_leaves_the_previous_one(tmp_path: Path) -> None:
    write_folder(tmp_path / "good", "train", game(1))
    import_official(tmp_path / "good", tmp_path / "home")
    before = files_under(tmp_path / "home")
    (tmp_path / "bad").mkdir()
    path = tmp_path / "bad" / "compact_train.jsonl.xz"
    write_compact(path, *(write_compact_line(game(number)) for number in range(40)))
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(GameError, match=r"compact_train.jsonl.xz is corrupt: Compressed file ended"):
        import_official(tmp_path / "bad", tmp_path / "home")
    assert files_under(tmp_path / "home") == before
    assert verify(tmp_path / "home") == []


def test_an_endless_line_is_refused(tmp_path: Path) -> None:
    write_compact(tmp_path / "compact_train.jsonl.xz", "x" * 1_000_001)
    with pytest.raises(GameError, match="has a line of more than 1,000,000 characters"):
        import_official(tmp_path, tmp_path / "home")


def test_a_full_disk_leaves_the_previous_import(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_folder(tmp_path, "train", game(1))
    import_official(tmp_path, tmp_path / "home")
    before = files_under(tmp_path / "home")

    def full(*_: object, **__: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)  # the last file to be written: all others are there already
    with pytest.raises(OSError, match="No space left on device"):
        import_official(tmp_path, tmp_path / "home")
    monkeypatch.undo()
    assert files_under(tmp_path / "home") == before
    assert verify(tmp_path / "home") == []


def test_damaged_files_are_found_by_their_hashes(tmp_path: Path) -> None:
    write_folder(tmp_path, "train", game(1))
    import_official(tmp_path, tmp_path / "home")
    (data,) = (tmp_path / "home").rglob("*.jsonl.xz")
    data.write_bytes(data.read_bytes()[:100])
    (index,) = (tmp_path / "home" / "alfworld").glob("*/official_train.json")
    index.unlink()
    problems = verify(tmp_path / "home")
    assert len(problems) == 2
    assert "official_train.jsonl.xz: its SHA-256 is" in problems[0]
    assert "official_train.json: No such file or directory" in problems[1]


def test_a_game_that_was_cut_short_is_an_error_when_it_is_read(tmp_path: Path) -> None:
    write_folder(tmp_path, "train", game(1))
    import_official(tmp_path, tmp_path / "home")
    games = load_split(tmp_path / "home", "official_train")
    (data,) = (tmp_path / "home").rglob("*.jsonl.xz")
    data.write_bytes(data.read_bytes()[:100])
    with pytest.raises(GameError, match=r"official_train.jsonl.xz is broken|not a compact game line"):
        _ = games[0]


@pytest.mark.parametrize(
    "text", ["", "{}", '{"folder": "..", "splits": {}}', '{"folder": "a/../..", "splits": {}}']
)
def test_a_broken_manifest_is_named(tmp_path: Path, text: str) -> None:
    (tmp_path / "alfworld").mkdir()
    (tmp_path / "alfworld" / "manifest.json").write_text(text)
    with pytest.raises(GameError, match=r"manifest\.json is broken: import the games again"):
        load_split(tmp_path, "official_train")
    assert len(verify(tmp_path)) == 1


def test_nothing_imported_is_nothing_to_verify_and_nothing_to_load(tmp_path: Path) -> None:
    assert verify(tmp_path) == []
    with pytest.raises(GameError, match="no games are imported under"):
        load_split(tmp_path, "official_train")


def test_a_sound_game_is_validated_to_its_kind() -> None:
    assert validate(KITCHEN) == "pick_and_place_simple"


def test_the_data_home_is_the_environment_variable_where_it_is_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGENTEVOL_HOME", str(tmp_path))
    assert data_home() == tmp_path
    monkeypatch.setenv("AGENTEVOL_HOME", "")
    assert data_home().name == "agentevol"
