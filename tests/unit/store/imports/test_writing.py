"""Imports into tables: reports, all or nothing, continuation, and what is never invented."""

import json
from pathlib import Path
from typing import Any

import pytest
from support.exports import varied_episodes

from agentgym_store.errors import StoreError
from agentgym_store.imports import ImportReport, Supplied, import_files
from agentgym_store.imports.writing import files as files_module
from agentgym_store.jsonl import export_jsonl
from agentgym_store.records import Terminated, Trajectory
from agentgym_store.store import Store

EPISODES = varied_episodes(40)
SAID = [{"role": "user", "content": "go"}, {"role": "assistant", "content": "look"}]


class Killed(BaseException):
    """Stands for the end of the process."""


def whole(path: Path, episodes: list[Trajectory] = EPISODES) -> Path:
    export_jsonl(episodes, path)
    return path


def logs(path: Path, rows: list[Any]) -> Path:
    path.write_text("".join(f"{one if isinstance(one, str) else json.dumps(one)}\n" for one in rows))
    return path


def table(place: Path) -> list[Trajectory]:
    return list(Store.open(place, create=False).trajectories())


def test_what_records_do_not_tell_is_supplied(tmp_path: Path) -> None:
    file = logs(
        tmp_path / "log.jsonl",
        [{"id": "t1", "messages": SAID}, {"id": "t1", "messages": SAID, "reward": 0.5}],
    )
    supplied = Supplied(
        env="guess", reward=1.0, split="mine", run="r", policy="people", purpose="retain", iteration=3
    )
    report = import_files([file], tmp_path / "out", supplied)
    first, second = table(tmp_path / "out")
    assert (first.env, first.split, first.run, first.policy, first.purpose, first.iteration) == (
        "guess",
        "mine",
        "r",
        "people",
        "retain",
        3,
    )
    assert (first.task_id, second.task_id, first.attempt, second.attempt) == ("t1", "t1", 0, 1)
    assert (first.total_reward, second.total_reward) == (1.0, 0.5)
    assert first.data_version.startswith("imported:")
    assert first.id != second.id
    assert first.ending == Terminated()
    assert (report.imported, report.successes, report.environments) == (2, 1, {"guess": 2})
    assert report.notes == {"of which no ending is told: taken as terminated": 2}


def test_a_reward_is_never_invented_and_an_environment_is_named(tmp_path: Path) -> None:
    rows = [
        {"messages": SAID},
        {"messages": SAID, "reward": 1},
        {"messages": SAID, "reward": 1, "env": "guess"},
    ]
    file = logs(tmp_path / "log.jsonl", rows)
    report = import_files([file], tmp_path / "out")
    assert report.imported == 1
    assert {reason: one.count for reason, one in report.dropped.items()} == {
        "no environment is named: give one with --env": 2
    }
    with pytest.raises(StoreError, match=r"no record is an episode: no reward is told.*\(1, first log2"):
        import_files([logs(tmp_path / "log2.jsonl", rows[:1])], tmp_path / "o", Supplied(env="guess"))
    assert not (tmp_path / "o").exists()
    assert not (tmp_path / ".o.import").exists()


def test_what_is_dropped_is_counted_by_reason_with_the_first_places(tmp_path: Path) -> None:
    silent = {"messages": SAID[:1], "reward": 1}
    odd = {"messages": [SAID[0], {"role": "assistant", "content": "\ud800"}], "reward": 1}
    endless = {"messages": SAID, "reward": 1e999}
    rows = [silent, "{broken", silent, odd, {"messages": SAID, "reward": 1}, silent, silent, "[1, 2]"]
    report = import_files(
        [logs(tmp_path / "log.jsonl", [*rows, endless])], tmp_path / "out", Supplied(env="guess")
    )
    assert (report.read, report.imported) == (9, 1)
    found = {reason: (one.count, one.places) for reason, one in report.dropped.items()}
    assert found.pop("not JSON")[0] == 2  # Infinity, as Python writes it, is no JSON either
    assert found == {
        "without a message of the agent": (4, [f"log.jsonl, line {number}" for number in (1, 3, 6)]),
        "text that is not Unicode": (1, ["log.jsonl, line 4"]),
        "messages: Field required": (1, ["log.jsonl, line 8: messages"]),
    }


def test_an_episode_that_no_column_can_hold_is_dropped_alone(tmp_path: Path) -> None:
    huge = EPISODES[0].model_copy(update={"id": "huge", "seed": 2**70})
    report = import_files([whole(tmp_path / "a.jsonl", [EPISODES[0], huge, EPISODES[1]])], tmp_path / "out")
    assert table(tmp_path / "out") == EPISODES[:2]
    (dropped,) = report.dropped.items()
    assert dropped[0] == "a value that the table cannot hold"
    assert dropped[1].places[0].startswith("a.jsonl, line 2: an episode cannot be stored")


def test_a_number_beyond_all_numbers_is_dropped(tmp_path: Path) -> None:
    line = EPISODES[0].model_dump_json().replace('"wall_s":0.5', '"wall_s":1e999')
    report = import_files(
        [logs(tmp_path / "a.jsonl", [line, EPISODES[1].model_dump_json()])], tmp_path / "out"
    )
    assert list(report.dropped) == ["a number that is not finite"]


def test_an_id_is_imported_once(tmp_path: Path) -> None:
    twice = whole(tmp_path / "a.jsonl", [*EPISODES[:3], EPISODES[0]])
    report = import_files([twice, whole(tmp_path / "b.jsonl", EPISODES[2:5])], tmp_path / "out")
    assert table(tmp_path / "out") == EPISODES[:5]
    assert (report.imported, report.dropped["an id that is taken"].count) == (5, 2)
    assert report.dropped["an id that is taken"].places[0] == f"a.jsonl, line 4: {EPISODES[0].id}"


def test_the_same_file_again_adds_nothing(tmp_path: Path) -> None:
    file = whole(tmp_path / "a.jsonl")
    import_files([file], tmp_path / "out")
    again = import_files([file], tmp_path / "out")
    assert (again.imported, again.already, again.dropped) == (len(EPISODES), len(EPISODES), {})
    assert table(tmp_path / "out") == EPISODES


def test_a_table_that_exists_is_added_to(tmp_path: Path) -> None:
    import_files([whole(tmp_path / "a.jsonl", EPISODES[:5])], tmp_path / "out")
    report = import_files([whole(tmp_path / "b.jsonl", EPISODES[3:9])], tmp_path / "out")
    assert table(tmp_path / "out") == EPISODES[:9]
    assert (report.imported, report.already, report.dropped["an id that is taken"].count) == (4, 0, 2)


def test_a_folder_that_is_no_table_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine").touch()
    with pytest.raises(StoreError, match="exists and is not a table of trajectories; name a new folder"):
        import_files([whole(tmp_path / "a.jsonl")], tmp_path / "out")
    assert [file.name for file in (tmp_path / "out").iterdir()] == ["mine"]


def test_what_has_no_effect_on_whole_episodes_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"env, reward have no effect on .*a\.jsonl: its episodes \(jsonl\)"):
        import_files([whole(tmp_path / "a.jsonl")], tmp_path / "out", Supplied(env="guess", reward=1))


def killed_after(commits: int, monkeypatch: pytest.MonkeyPatch) -> None:
    real, done = Store.append, [0]

    def append(*arguments: Any, **named: Any) -> int:
        if done[0] == commits:
            raise Killed
        done[0] += 1
        return real(*arguments, **named)

    monkeypatch.setattr(Store, "append", append)


@pytest.mark.parametrize("commits", [0, 1, 3])
@pytest.mark.parametrize("exists", [False, True])
def test_an_import_that_is_killed_continues_and_reports_the_same(
    commits: int, exists: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files_module, "PART", 7)
    files = [
        whole(tmp_path / "a.jsonl", [*EPISODES[:20], EPISODES[2]]),
        whole(tmp_path / "b.jsonl", EPISODES[18:]),
    ]
    tables = {name: tmp_path / name for name in ("undisturbed", "killed")}
    if exists:
        for place in tables.values():
            Store.open(place).append([EPISODES[4]], commit={"before": "yes"})
    expected = import_files(files, tables["undisturbed"])
    with monkeypatch.context() as patch:
        killed_after(commits, patch)
        with pytest.raises(Killed):
            import_files(files, tables["killed"])
    assert tables["killed"].exists() == exists  # a new table appears when it is complete
    report = import_files(files, tables["killed"])
    assert table(tables["killed"]) == table(tables["undisturbed"])
    assert told(report) == told(expected)
    assert report.dropped["an id that is taken"].count == (4 if exists else 3)
    assert {path.name for path in tmp_path.iterdir()} == {"a.jsonl", "b.jsonl", *tables}


def told(report: ImportReport) -> Any:
    return report.read, report.imported, report.successes, report.dropped, report.notes, report.environments


def test_another_import_to_the_same_place_begins_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files_module, "PART", 7)
    with monkeypatch.context() as patch:
        killed_after(2, patch)
        with pytest.raises(Killed):
            import_files([whole(tmp_path / "a.jsonl")], tmp_path / "out")
    import_files([whole(tmp_path / "b.jsonl", EPISODES[30:])], tmp_path / "out")
    assert table(tmp_path / "out") == EPISODES[30:]


@pytest.mark.parametrize("name", ["auto", "react", "plain"])
def test_the_action_format_finds_the_action_in_a_message(name: Any, tmp_path: Path) -> None:
    said = "Thought: a mug?\n\nAction: look"
    row = {"messages": [SAID[0], {"role": "assistant", "content": said}], "reward": 1}
    import_files([logs(tmp_path / "log.jsonl", [row])], tmp_path / "out", Supplied(env="guess", form=name))
    (episode,) = table(tmp_path / "out")
    assert episode.turns[0].action == (said if name == "plain" else "look")


def test_rewards_of_turns_are_kept_and_the_rest_is_earned_last(tmp_path: Path) -> None:
    steps = [
        {"action": "reset", "observation": "a"},
        {"action": "x", "observation": "b", "reward": 0.25},
        {"action": "y", "observation": "c"},
    ]
    import_files(
        [logs(tmp_path / "log.jsonl", [{"steps": steps, "reward": 1}])],
        tmp_path / "out",
        Supplied(env="guess"),
    )
    (episode,) = table(tmp_path / "out")
    assert [turn.reward for turn in episode.turns] == [0.25, 0.75]
