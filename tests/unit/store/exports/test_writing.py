"""Filters, splits, shards, repetitions and the data card of an export."""

import json
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

import pytest
import yaml
from support.exports import table_of, varied_episodes

from agentgym_envs.licences import data_licence
from agentgym_envs.registry import REGISTRY
from agentgym_store.errors import StoreError
from agentgym_store.exports import Plan, Report, Selection, export, export_format
from agentgym_store.store import Store, Where

EPISODES = varied_episodes(120)


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return table_of(tmp_path_factory.mktemp("table") / "trajectories", EPISODES)


def lines(folder: Path) -> dict[str, list[dict]]:
    """The rows of each file, by its name."""
    return {
        file.name: [json.loads(line) for line in file.read_text("utf-8").split("\n") if line]
        for file in sorted((folder / "data").iterdir())
    }


def ids(table: Store, out: Path, **selected: object) -> list[str]:
    export(table, export_format("jsonl"), out, selection=Selection(**selected))
    (found,) = lines(out).values()
    return [row["id"] for row in found]


@pytest.mark.parametrize(
    ("selected", "matches"),
    [
        ({"where": Where(env="guess")}, lambda t: t.env == "guess"),
        ({"where": Where(split="valid", iteration=0)}, lambda t: t.split == "valid" and t.iteration == 0),
        ({"where": Where(kind="kind-1")}, lambda t: t.kind == "kind-1"),
        ({"where": Where(policy="checkpoint-1")}, lambda t: t.policy == "checkpoint-1"),
        ({"where": Where(ending="failed")}, lambda t: t.ending.kind == "failed"),
        ({"where": Where(run="run-0")}, lambda t: t.run == "run-0"),
        ({"where": Where(min_reward=1)}, lambda t: t.total_reward == 1),
        ({"where": Where(max_reward=0)}, lambda t: t.total_reward == 0),
        (
            {"policy_version": 2},
            lambda t: t.turns[-1].sample is not None and t.turns[-1].sample.policy_version == 2,
        ),
        ({"since": datetime(2026, 1, 20)}, lambda t: int(t.started_at[8:10]) >= 20),
        ({"until": datetime(2026, 1, 20, tzinfo=UTC)}, lambda t: int(t.started_at[8:10]) < 20),
    ],
)
def test_a_filter_selects_what_it_says(table: Store, tmp_path: Path, selected: dict, matches) -> None:
    expected = [t.id for t in EPISODES if matches(t)]
    assert 0 < len(expected) < len(EPISODES)
    assert ids(table, tmp_path / "out", **selected) == expected


def test_an_episode_whose_start_is_no_time_is_in_no_range(tmp_path: Path) -> None:
    episodes = [EPISODES[0], EPISODES[1].model_copy(update={"started_at": "yesterday"})]
    table = table_of(tmp_path / "table", episodes)
    for name, selected in {
        "since": {"since": datetime(2020, 1, 1)},
        "until": {"until": datetime(2030, 1, 1)},
    }.items():
        assert ids(table, tmp_path / name, **selected) == [EPISODES[0].id]
    assert ids(table, tmp_path / "all") == [one.id for one in episodes]


def test_filters_hold_together_and_are_told_in_the_card(table: Store, tmp_path: Path) -> None:
    selected = {"where": Where(env="alfworld", min_reward=1), "policy_version": 4}
    expected = [
        t.id
        for t in EPISODES
        if t.env == "alfworld"
        and t.total_reward == 1
        and t.turns[-1].sample
        and t.turns[-1].sample.policy_version == 4
    ]
    assert ids(table, tmp_path / "out", **selected) == expected
    card = (tmp_path / "out" / "README.md").read_text("utf-8")
    assert "- filters: env = alfworld, min_reward = 1, policy_version = 4\n" in card


def test_an_older_version_of_the_table_is_exported(tmp_path: Path) -> None:
    store = table_of(tmp_path / "table", EPISODES[:20], each=10)
    report = export(store, export_format("jsonl"), tmp_path / "old.jsonl", version=1)
    assert (report.version, report.rows) == (1, {"train": 10})
    with pytest.raises(StoreError, match="has the versions 0 to 2, not 9"):
        export(store, export_format("jsonl"), tmp_path / "no.jsonl", version=9)


def test_a_task_is_in_one_split_whatever_else_is_exported(table: Store, tmp_path: Path) -> None:
    plan = Plan(valid=0.3)
    export(table, export_format("sharegpt"), tmp_path / "all", plan=plan)
    export(
        table,
        export_format("sharegpt"),
        tmp_path / "part",
        plan=plan,
        selection=Selection(Where(min_reward=1)),
    )
    splits = {
        place: {
            (row["meta"]["env"], row["meta"]["task_id"]): name.split("-")[0]
            for name, rows in lines(tmp_path / place).items()
            for row in rows
        }
        for place in ("all", "part")
    }
    assert set(splits["all"].values()) == {"train", "valid"}
    assert splits["part"].items() <= splits["all"].items()
    (train, valid) = (
        {(row["meta"]["env"], row["meta"]["task_id"]) for row in rows}
        for rows in lines(tmp_path / "all").values()
    )
    assert not train & valid


def test_the_split_of_a_task_is_the_hash_of_its_name() -> None:
    plan = Plan(valid=0.5)
    names = [f"train-{number}" for number in range(8)]
    # the first two hexadecimal digits of sha256("alfworld/train-0") and so on: 82 e2 65 d7 47 c0 75 b2
    found = [plan.split_of("alfworld", name) for name in names]
    assert found == ["train", "train", "valid", "train", "valid", "train", "valid", "train"]
    assert {Plan().split_of("alfworld", name) for name in names} == {"train"}


@pytest.mark.parametrize("name", ["sharegpt", "agenttraj", "parquet"])
def test_shards_divide_the_rows_evenly_and_keep_their_order(name: str, table: Store, tmp_path: Path) -> None:
    from agentgym_store.arrow import parquet

    report = export(table, export_format(name), tmp_path / "out", plan=Plan(shards=7))
    suffix = export_format(name).suffix
    assert [file.name for file in report.files] == [f"data/train-{n:05d}-of-00007{suffix}" for n in range(7)]
    sizes: list[int] = []
    for file in report.files:
        place = tmp_path / "out" / file.name
        assert place.stat().st_size == file.size
        text = "" if name == "parquet" else place.read_text("utf-8")
        if name == "parquet":
            sizes.append(parquet.read_table(place).num_rows)
        else:
            sizes.append(len(json.loads(text)) if name == "agenttraj" else text.count("\n"))
    total = report.rows["train"]
    assert sum(sizes) == total
    assert max(sizes) - min(sizes) <= 1


def test_a_shard_ends_where_it_reaches_its_size(table: Store, tmp_path: Path) -> None:
    report = export(table, export_format("sharegpt"), tmp_path / "out", plan=Plan(shard_bytes=5_000))
    assert len(report.files) > 3
    longest = max(
        len(json.dumps(row, ensure_ascii=False).encode())
        for rows in lines(tmp_path / "out").values()
        for row in rows
    )
    assert all(5_000 <= file.size <= 5_000 + longest + 1 for file in report.files[:-1])


def test_more_shards_than_rows_are_as_many_as_rows(tmp_path: Path) -> None:
    store = table_of(tmp_path / "table", EPISODES[:2])
    report = export(store, export_format("jsonl"), tmp_path / "out", plan=Plan(shards=5))
    assert [len(rows) for rows in lines(tmp_path / "out").values()] == [1, 1]
    assert report.rows == {"train": 2}


def test_rows_of_the_same_content_are_dropped_where_that_is_wanted(tmp_path: Path) -> None:
    again = [t.model_copy(update={"id": f"again/{t.id}", "seed": 99, "attempt": 7}) for t in EPISODES[:10]]
    other = EPISODES[0].model_copy(update={"id": "other", "initial_observation": "another room"})
    store = table_of(tmp_path / "table", [*EPISODES[:10], *again, other])
    for name in ("jsonl", "parquet", "sft"):
        kept = export(store, export_format(name), tmp_path / name, plan=Plan(distinct=True))
        whole = export(store, export_format(name), tmp_path / f"{name}-all")
        assert kept.left_out["repeated rows"] == whole.rows["train"] - kept.rows["train"]
        assert kept.rows["train"] == (whole.rows["train"] + 1) // 2
        assert "repeated rows" not in whole.left_out


def test_a_prompt_is_written_once_for_each_task_unless_all_are_wanted(tmp_path: Path) -> None:
    store = table_of(tmp_path / "table", EPISODES[:16])
    same_text = EPISODES[0].model_copy(update={"id": "other", "task_id": "other"})
    store.append([same_text], commit={"part": "other"})
    tasks = {(t.env, t.task_id, t.given_turns) for t in EPISODES[:16]}
    assert len(tasks) < 16
    assert export(store, export_format("prompts"), tmp_path / "out").rows["train"] == len(tasks) + 1
    every = export(store, export_format("prompts"), tmp_path / "all", plan=Plan(distinct=False))
    assert every.rows["train"] == 17


def test_the_card_tells_counts_lineage_and_what_is_lost(table: Store, tmp_path: Path) -> None:
    report = export(table, export_format("agenttraj"), tmp_path / "wins", plan=Plan(valid=0.3))
    text = (tmp_path / "wins" / "README.md").read_text("utf-8")
    scored = [t for t in EPISODES if t.total_reward is not None]
    env = [t for t in scored if t.env == "alfworld"]
    won = sum(t.succeeded() for t in env) / len(env)
    turns = sum(len(t.turns) for t in env)
    assert (
        f"| alfworld | {len(env)} | {len(env)} | {turns} | {len(env)} | {won:.1%} | {won:.4g} | 0 to 1 |"
        in text
    )
    failed = len(EPISODES) - len(scored)
    assert f"- {failed} failed: no return" in text
    assert f"- table of trajectories: version {report.version}, files sha256:" in text
    runs = Counter(t.run for t in scored)
    assert f"- runs: `run-0` (iterations 0 to 2, {runs['run-0']} episodes), `run-1` (" in text
    assert "`checkpoint-0` (versions 0 to 4, " in text
    assert "- masks of single tokens: a message is learnt or not" in text
    assert "| `generated:2` | " in text
    for file in report.files:
        assert f"| {file.name} | {file.size:,} | `{file.sha256}` |" in text


def test_the_header_of_the_card_is_yaml_that_names_files_and_licence(table: Store, tmp_path: Path) -> None:
    report = export(table, export_format("sft"), tmp_path / "out", plan=Plan(valid=0.3, shards=2))
    header = yaml.safe_load((tmp_path / "out" / "README.md").read_text("utf-8").split("---\n")[1])
    assert header["license"] == "apache-2.0"
    assert header["size_categories"] == ["n<1K"]
    (config,) = header["configs"]
    assert {one["split"]: one["path"] for one in config["data_files"]} == {
        split: [file.name for file in report.files if file.split == split] for split in ("train", "valid")
    }


def test_names_from_outside_cannot_break_the_card(tmp_path: Path) -> None:
    odd = EPISODES[0].model_copy(update={"env": "a|b\n---\n# c", "run": "`x`", "data_version": "d | e"})
    store = table_of(tmp_path / "table", [odd])
    export(store, export_format("jsonl"), tmp_path / "out")
    text = (tmp_path / "out" / "README.md").read_text("utf-8")
    assert yaml.safe_load(text.split("---\n")[1])["license"] == "other"
    assert "| a\\|b --- # c | 1 |" in text


def test_nothing_that_matches_is_an_error_and_leaves_nothing(table: Store, tmp_path: Path) -> None:
    nowhere = Selection(Where(env="nowhere"))
    with pytest.raises(StoreError, match=r"no rows to write to .*: no episode of the table matches"):
        export(table, export_format("sft"), tmp_path / "out", selection=nowhere)
    failed = Selection(Where(ending="failed"))
    count = sum(t.ending.kind == "failed" for t in EPISODES)
    with pytest.raises(StoreError, match=f"no rows to write to .*: {count} failed: no return"):
        export(table, export_format("sft"), tmp_path / "out", selection=failed)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("out", "plan", "message"),
    [
        ("one.jsonl", Plan(shards=2), "is one file, which has no splits or shards"),
        ("one.jsonl", Plan(valid=0.1), "is one file, which has no splits or shards"),
        ("one.jsonl", Plan(shard_bytes=9), "is one file, which has no splits or shards"),
        ("out", Plan(shards=2, shard_bytes=9), "a number of shards and their size exclude each other"),
        ("none/one.jsonl", Plan(), "there is no folder"),
        ("out", Plan(valid=1.0), "a share of valid tasks lies in"),
    ],
)
def test_a_plan_that_cannot_be_is_refused_at_once(
    table: Store, tmp_path: Path, out: str, plan: Plan, message: str
) -> None:
    with pytest.raises(StoreError, match=message):
        export(table, export_format("jsonl"), tmp_path / out, plan=plan)
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_overwritten(table: Store, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    with pytest.raises(FileExistsError):
        export(table, export_format("jsonl"), tmp_path / "out")


def test_progress_is_told_in_rows(table: Store, tmp_path: Path) -> None:
    told: list[int] = []
    report: Report = export(table, export_format("jsonl"), tmp_path / "out", progress=told.append)
    assert told == sorted(told)
    assert told[-1] == report.rows["train"] == len(EPISODES)


def test_every_environment_has_a_licence_for_its_generated_data_and_imported_data_one_of_their_own() -> None:
    generated = {name: data_licence(name, "generated:1").name for name in REGISTRY}
    assert set(generated.values()) == {"apache-2.0"}
    assert data_licence("sql", "generated:1.2+imported:0123").name == "cc-by-sa-4.0"
    assert data_licence("webshop", "synth:0123:fixed+1k:4567:compat").name == "unknown"
    assert data_licence("assistant", "generated:1.3+knowledge:1").name == "apache-2.0"
    assert data_licence("chess", "imported:0123").name == "unknown"
