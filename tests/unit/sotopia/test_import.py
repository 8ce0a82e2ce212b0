"""Import of profiles: every published form gives the same scenes, and a broken file changes nothing."""

import json
from pathlib import Path
from typing import Any

import pytest
from support.sotopia_profiles import (
    AGENTS,
    COMBOS,
    ENVIRONMENTS,
    RELATIONSHIPS,
    TALK,
    write_json,
    write_lines,
    write_profiles,
)

from agentgym_envs.core import TaskNotFound
from agentgym_envs.sotopia.data.importing import counts, import_official, verify
from agentgym_envs.sotopia.data.library import Catalogue
from agentgym_envs.sotopia.data.profile_set import SotopiaDataError
from agentgym_envs.sotopia.data.sources import read_profiles

COUNTS = {
    "all": 5,
    "hard": 2,
    "craigslist_bargains": 2,
    "deal-or-no-deal": 1,
    "mutual_friends": 1,
    "normbank": 1,
}


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return write_profiles(tmp_path / "source")


def opened(home: Path) -> Catalogue:
    catalogue = Catalogue.open(home)
    assert catalogue is not None
    return catalogue


def files_under(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_profiles_are_imported_with_their_splits(source: Path, tmp_path: Path) -> None:
    seen: list[int] = []
    report = import_official(source, tmp_path, seen.append)
    assert (report.counts, report.refused, report.warnings, seen) == (COUNTS, (), (), [7, 14])
    assert (counts(tmp_path), verify(tmp_path)) == (COUNTS, [])
    catalogue = opened(tmp_path)
    assert catalogue.splits == tuple(COUNTS)
    assert catalogue.positions("hard") == (0, 3)
    assert catalogue.positions("normbank") == (1,)
    with pytest.raises(TaskNotFound, match="no split 'test'; there are: all, hard, craigslist_bargains"):
        catalogue.positions("test")
    scene = catalogue.scene(1)
    assert scene.names == ("Cy Moss", "Ana Reed")
    assert scene.environment.scenario == "A library."
    assert catalogue.profiles.known_as(("ana", "cy"))[0].background_story == "They met."
    assert catalogue.profiles.known_as(("bo", "cy")) == ()


def test_unknown_fields_and_constraints_are_kept_as_they_are(source: Path, tmp_path: Path) -> None:
    import_official(source, tmp_path)
    scene = opened(tmp_path).scene(0)
    assert scene.environment.occupation_constraint == "[actor, actor]"
    assert scene.environment.age_constraint == "[(18, 70), (18, 70)]"
    assert opened(tmp_path).scene(1).environment.model_extra == {"season": "winter"}
    assert scene.agents[0].model_extra == {"mbti": "INFP"}


def test_a_task_is_found_by_its_position_and_by_its_key(source: Path, tmp_path: Path) -> None:
    import_official(source, tmp_path)
    catalogue = opened(tmp_path)
    assert [catalogue.find(name) for name in ("sotopia/0", "sotopia/4", "c0", "c3")] == [0, 4, 0, 3]
    for name in (
        "sotopia/5",
        "sotopia/-1",
        "sotopia/01",
        "sotopia/",
        "sotopia/c3",
        "3",
        "c9",
        "sotopia/²",
        "",
    ):
        with pytest.raises(TaskNotFound, match="ids are sotopia/0 to sotopia/4"):
            catalogue.find(name)
    for position in (-1, 5):
        with pytest.raises(TaskNotFound):
            catalogue.scene(position)


def test_the_other_published_form_gives_equal_scenes(source: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()

    def renamed(rows: Any, key: str) -> list[dict[str, Any]]:
        return [{key if name == "pk" else name: value for name, value in row.items()} for row in rows]

    rows = [{**row, "relationship": str(row["relationship"])} for row in reversed(ENVIRONMENTS)]
    write_lines(other / "environment_profiles.jsonl", renamed(rows, "env_id"))
    write_lines(other / "agent_profiles.jsonl", renamed(AGENTS, "agent_id"))
    write_lines(other / "env_agent_combo_storages.jsonl", renamed(COMBOS, "combo_id"))
    write_lines(other / "relationship_profiles.jsonl", RELATIONSHIPS)
    first, second = read_profiles(source), read_profiles(other)
    assert [second.scene(position) for position in range(5)] == [
        first.scene(position) for position in range(5)
    ]
    assert second.find("c3") == 3
    assert second.relationships == first.relationships
    assert "hard" not in second.splits


def test_a_folder_of_scenarios_of_ones_own_needs_three_files(tmp_path: Path) -> None:
    folder = tmp_path / "own"
    folder.mkdir()
    write_json(folder / "environments.json", [{"pk": "e", "scenario": "S", "agent_goals": ["a", "b"]}])
    write_json(folder / "agents.json", [{"pk": "x", "first_name": "X"}, {"pk": "y", "first_name": "Y"}])
    write_json(folder / "combos.json", {"k": {"env_id": "e", "agent_ids": ["y", "x"]}})
    report = import_official(folder, tmp_path)
    assert report.counts == {"all": 1}
    assert opened(tmp_path).scene(opened(tmp_path).find("k")).names == ("Y ", "X ")


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        (
            "environments.json",
            [TALK, TALK],
            r"environments.json: record 2 \(talk\): the key 'talk' occurs twice",
        ),
        (
            "environments.json",
            [{**TALK, "agent_goals": ["a"]}],
            r"record 1 \(talk\): agent_goals.1: Field requ",
        ),
        (
            "environments.json",
            [{**TALK, "relationship": "7"}],
            r"\(talk\): relationship: Input should be less",
        ),
        ("environments.json", [{**TALK, "relationship": "friend"}], "'friend' is no number from 0 to 5"),
        ("environments.json", [{**TALK, "relationship": True}], "'True' is no number from 0 to 5"),
        ("environments.json", {"other": TALK}, "record 1: its key is 'other', its pk 'talk'"),
        ("environments.json", [{**TALK, "source": "hard"}], "'hard' is the name of another split"),
        ("environments.json", [{"scenario": "S", "agent_goals": ["a", "b"]}], "record 1: pk: Field required"),
        ("environments.json", [], "no record of environments"),
        ("environments.json", "text", "neither a list nor an object"),
        ("agents.json", [1], "agents.json: record 1 is no object"),
        ("agents.json", [{**AGENTS[0], "age": "old"}], r"agents.json: record 1 \(ana\): age: "),
        (
            "combos.json",
            [{**COMBOS[0], "env_id": "x"}],
            r"combos.json: record 1 \(c0\): there is no environment",
        ),
        ("combos.json", [{**COMBOS[0], "agent_ids": ["ana", "x"]}], r"\(c0\): there is no agent 'x'"),
        ("combos.json", [{**COMBOS[0], "agent_ids": ["ana"]}], r"\(c0\): agent_ids.1: Field required"),
        (
            "combos.json",
            [{**COMBOS[0], "agent_ids": ["bo", "bo"]}],
            r"\(c0\): both seats have the agent 'bo'",
        ),
        ("hard_combo_indices.json", [0, 5], "record 2: 5 is no position of a combination"),
        ("hard_combo_indices.json", [True], "record 1: True is no position of a combination"),
        ("hard_combo_indices.json", {}, "no list of positions"),
    ],
)
def test_a_broken_record_is_named_and_changes_nothing(
    name: str, value: object, message: str, source: Path, tmp_path: Path
) -> None:
    import_official(source, tmp_path)
    before = files_under(tmp_path / "sotopia")
    write_json(source / name, value)
    with pytest.raises(SotopiaDataError, match=message) as error:
        import_official(source, tmp_path)
    assert "\n" not in str(error.value)
    assert files_under(tmp_path / "sotopia") == before
    assert verify(tmp_path) == []


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\xff", "is not UTF-8"),
        (b"{", "agents.json is not JSON: "),
        (b"[" * 100_000, "nested too deeply"),
        (b'[{"pk": "a", "first_name": "\\ud800"}]', r"agents.json: record 1 \(a\): .*surrogates"),
        (
            b'[{"pk": "a", "first_name": "A", "mbti": "\\ud800"}]',
            r"agents.json: record 1 \(a\): .*surrogates",
        ),
    ],
)
def test_a_file_that_is_no_json_is_named(content: bytes, message: str, source: Path, tmp_path: Path) -> None:
    (source / "agents.json").write_bytes(content)
    with pytest.raises(SotopiaDataError, match=message):
        import_official(source, tmp_path)
    assert counts(tmp_path) is None


def test_a_missing_file_or_two_of_the_same_are_named(source: Path, tmp_path: Path) -> None:
    write_lines(source / "agent_profiles.jsonl", AGENTS)
    with pytest.raises(SotopiaDataError, match=r"has both agents.json and agent_profiles.jsonl"):
        import_official(source, tmp_path)
    (source / "agents.json").unlink()
    assert import_official(source, tmp_path).counts == COUNTS
    (source / "combos.json").unlink()
    with pytest.raises(SotopiaDataError, match=r"has no combos.json or .jsonl nor env_agent_combo_storages"):
        import_official(source, tmp_path)
    with pytest.raises(SotopiaDataError, match="is no folder"):
        import_official(tmp_path / "nowhere", tmp_path)


def test_a_bare_nan_is_text(source: Path, tmp_path: Path) -> None:
    text = json.dumps([{**TALK, "occupation_constraint": 0.5}, *ENVIRONMENTS[:3]]).replace("0.5", "NaN")
    (source / "environments.json").write_text(text)
    import_official(source, tmp_path)
    assert opened(tmp_path).scene(1).environment.occupation_constraint == "NaN"


def test_a_hard_subset_with_parts_of_scenarios_is_warned_of(source: Path, tmp_path: Path) -> None:
    write_json(source / "hard_combo_indices.json", [0, 1])
    (warning,) = import_official(source, tmp_path).warnings
    assert warning.startswith("the hard subset leaves out 1 combinations of its own scenarios")


def test_a_second_import_replaces_the_first(source: Path, tmp_path: Path) -> None:
    import_official(source, tmp_path)
    first = opened(tmp_path).digest
    import_official(source, tmp_path)
    assert opened(tmp_path).digest == first
    assert len(first) == 12
    write_json(source / "combos.json", list(COMBOS[:4]))
    import_official(source, tmp_path)
    assert opened(tmp_path).digest != first
    assert counts(tmp_path) == {
        "all": 4,
        "hard": 2,
        "craigslist_bargains": 2,
        "deal-or-no-deal": 1,
        "normbank": 1,
    }
    assert len(list((tmp_path / "sotopia").iterdir())) == 2  # the manifest and one folder


def test_damage_is_noticed(source: Path, tmp_path: Path) -> None:
    import_official(source, tmp_path)
    (path,) = tmp_path.rglob("combos.jsonl")
    path.write_bytes(path.read_bytes().replace(b"lamp", b"cups"))
    assert [line.startswith(f"{path}: its SHA-256 is ") for line in verify(tmp_path)] == [True]
    path.write_text("{}\n")
    with pytest.raises(SotopiaDataError, match=r"combos.jsonl is broken: import the profiles again"):
        opened(tmp_path).scene(0)
    path.unlink()
    assert verify(tmp_path) == [f"{path}: No such file or directory"]
    manifest = tmp_path / "sotopia" / "manifest.json"
    manifest.write_text("{")
    assert verify(tmp_path) == [f"{manifest} is broken: import the profiles again"]
    with pytest.raises(SotopiaDataError):
        counts(tmp_path)


def test_nothing_imported_is_no_error(tmp_path: Path) -> None:
    assert (counts(tmp_path), verify(tmp_path), Catalogue.open(tmp_path)) == (None, [], None)
