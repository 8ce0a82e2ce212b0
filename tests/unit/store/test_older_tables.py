"""Tables of older formats: they open, read, append, compact and export.

The schemas are written out here as the code of that time wrote them, and so are the rows.
"""

import json

import polars as pl
import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from deltalake.exceptions import DeltaError
from support.exports import rows
from support.trajectories import trajectory

from agentgym_store.arrow import EPISODE_COLUMNS
from agentgym_store.errors import StoreError
from agentgym_store.jsonl import export_jsonl, import_jsonl
from agentgym_store.records import Sample, Trajectory, Turn
from agentgym_store.statistics import statistics
from agentgym_store.store import Store, Where

KEY = {"run": "a", "iteration": "2"}


def required(name: str, kind: pa.DataType) -> pa.Field:
    return pa.field(name, kind, nullable=False, metadata={"comment": f"The {name}."})


def list_of(kind: pa.DataType) -> pa.DataType:
    return pa.list_(pa.field("element", kind, nullable=False))


SAMPLE_1 = [
    required("text", pa.string()),
    required("prompt_shared", pa.int32()),
    required("prompt_new", list_of(pa.int32())),
    required("token_ids", list_of(pa.int32())),
    required("logprobs", list_of(pa.float64())),
    required("policy_version", pa.int64()),
    required("finish_reason", pa.string()),
]
LOSS_MASK = pa.field("loss_mask", list_of(pa.int8()))


def schema_1(sample: list[pa.Field]) -> pa.Schema:
    """Columns of `agentevol.trajectory/1`."""
    turn = [
        required("action", pa.string()),
        required("observation", pa.string()),
        required("reward", pa.float64()),
        pa.field("info", pa.string()),
        pa.field("sample", pa.struct(sample)),
    ]
    return pa.schema(
        [
            required("id", pa.string()),
            required("run", pa.string()),
            required("iteration", pa.int64()),
            required("purpose", pa.string()),
            required("env", pa.string()),
            required("env_version", pa.string()),
            required("data_version", pa.string()),
            required("task_id", pa.string()),
            required("split", pa.string()),
            required("kind", pa.string()),
            required("difficulty", pa.string()),
            required("instruction", pa.string()),
            required("seed", pa.int64()),
            required("attempt", pa.int64()),
            required("policy", pa.string()),
            required("initial_observation", pa.string()),
            required("ending", pa.string()),
            pa.field("limit", pa.string()),
            pa.field("failure", pa.string()),
            pa.field("failure_detail", pa.string()),
            pa.field("total_reward", pa.float64()),
            pa.field("succeeded", pa.bool_()),
            required("turn_count", pa.int64()),
            required("sampled_tokens", pa.int64()),
            required("started_at", pa.string()),
            required("wall_s", pa.float64()),
            required("turns", list_of(pa.struct(turn))),
        ]
    )


SCHEMAS = {
    "before loss masks": schema_1(SAMPLE_1),
    "with loss masks": schema_1([*SAMPLE_1, LOSS_MASK]),
}


def row(name: str) -> dict[str, object]:
    """A row of the older tables; `loss_mask` is left out where a schema has none."""
    said = {
        "text": "look",
        "prompt_shared": 0,
        "prompt_new": [1, 2],
        "token_ids": [5, 6],
        "logprobs": [-0.25, -0.5],
        "policy_version": 1,
        "finish_reason": "stop",
        "loss_mask": None,
    }
    turns = [
        {"action": "look", "observation": "a mug", "reward": 0.0, "info": '{"won":false}', "sample": said},
        {"action": "take", "observation": "done", "reward": 1.0, "info": None, "sample": None},
    ]
    return {
        "id": name,
        "run": "a",
        "iteration": 1,
        "purpose": "explore",
        "env": "house",
        "env_version": "1",
        "data_version": "d",
        "task_id": "t",
        "split": "train",
        "kind": "pick",
        "difficulty": "",
        "instruction": "find a mug.",
        "seed": 7,
        "attempt": 0,
        "policy": "base",
        "initial_observation": "a room",
        "ending": "terminated",
        "limit": None,
        "failure": None,
        "failure_detail": None,
        "total_reward": 1.0,
        "succeeded": True,
        "turn_count": 2,
        "sampled_tokens": 2,
        "started_at": "2025-01-01T00:00:00Z",
        "wall_s": 0.5,
        "turns": turns,
    }


def episode(name: str, **fields: object) -> Trajectory:
    """The episode of `row`."""
    said = Sample(text="look", prompt_ids=(1, 2), token_ids=(5, 6), logprobs=(-0.25, -0.5), policy_version=1)
    turns = (
        Turn(action="look", observation="a mug", reward=0.0, sample=said, info={"won": False}),
        Turn(action="take", observation="done", reward=1.0),
    )
    record = trajectory(
        id=name,
        run="a",
        env="house",
        data_version="d",
        kind="pick",
        instruction="find a mug.",
        seed=7,
        policy="base",
        initial_observation="a room",
        turns=turns,
        started_at="2025-01-01T00:00:00Z",
        wall_s=0.5,
    )
    return record.model_copy(update=fields)


def new_episode(name: str) -> Trajectory:
    """An episode that uses every field of the present format."""
    first, second = episode(name).turns
    assert first.sample is not None
    masked = first.sample.model_copy(update={"loss_mask": (0, 1)})
    turns = (
        first.model_copy(update={"sample": masked, "costs": {"harm": 0.5, "noise": None}, "policy_s": 0.25}),
        second.model_copy(update={"costs": {"harm": 0.25}, "policy_s": 0.0, "environment_s": 0.0021}),
    )
    return episode(
        name,
        iteration=2,
        purpose="retry",
        turns=turns,
        parent="old",
        given_turns=1,
        temperature=0.75,
        episode_id="e7",
        seat=1,
    )


@pytest.fixture(params=SCHEMAS.values(), ids=list(SCHEMAS))
def table(request, tmp_path):
    """Folder of a table of an older format with the episode "old"."""
    folder = tmp_path / "table"
    options = {"agentevol.format": "agentevol.trajectory/1", "delta.enableExpiredLogCleanup": "false"}
    DeltaTable.create(folder, request.param, configuration=options, raise_if_key_not_exists=False)
    write_deltalake(folder, pa.Table.from_pylist([row("old")], schema=request.param), mode="append")
    return folder


def format_of(folder) -> str | None:
    return DeltaTable(folder).metadata().configuration.get("agentevol.format")


def test_an_older_table_is_read_as_it_is(table):
    store = Store.open(table, create=False)
    (old,) = store.trajectories()
    assert old == episode("old")
    assert (old.parent, old.temperature, old.episode_id) == (None, None, None)
    assert (old.given_turns, old.seat) == (0, 0)
    assert [turn.costs for turn in old.turns] == [{}, {}]
    assert [(turn.policy_s, turn.environment_s) for turn in old.turns] == [(None, None)] * 2
    assert list(store.rows(["id", "given_turns", "parent"])) == [("old", None, None)]
    assert tuple(store.scan().collect().columns) == EPISODE_COLUMNS
    assert statistics(store.scan()).total.successes == 1
    assert (store.version(), format_of(table)) == (1, "agentevol.trajectory/1")  # reading changes nothing


def test_the_first_append_brings_it_to_the_present_format(table):
    store = Store.open(table)
    version = store.append([new_episode("new")], commit=KEY)
    assert (version, format_of(table)) == (4, "agentevol.trajectory/3")  # fields, format, batch
    for reader in (store, Store.open(table, create=False)):
        assert sorted(reader.trajectories(), key=lambda t: t.id) == [new_episode("new"), episode("old")]
        frame = reader.scan().sort("id").collect()
        assert frame.select("id", "parent", "given_turns", "temperature", "episode_id", "seat").rows() == [
            ("new", "old", 1, 0.75, "e7", 1),
            ("old", None, None, None, None, None),
        ]
        assert [t.id for t in reader.trajectories(Where(purpose="retry"))] == ["new"]
        assert [t.id for t in reader.trajectories(version=1)] == ["old"]
    assert store.append([new_episode("new")], commit=KEY) == store.version() == 4


def test_it_has_the_columns_of_a_new_table_then(table, tmp_path):
    Store.open(table).append([], commit=KEY)
    Store.open(tmp_path / "new")
    renewed, new = (pa.schema(DeltaTable(path).schema()) for path in (table, tmp_path / "new"))
    assert {field.name: field.type for field in renewed} == {field.name: field.type for field in new}
    assert renewed.field("given_turns").nullable


def test_two_who_append_to_an_older_table_both_get_in(table):
    one, other = Store.open(table), Store.open(table)
    one.append([new_episode("b")], commit=KEY)
    other.append([new_episode("c")], commit={"run": "a", "iteration": "3"})
    assert {t.id for t in Store.open(table).trajectories()} == {"old", "b", "c"}


def test_an_append_goes_on_where_another_was_killed_between_the_steps(table, monkeypatch):
    def killed(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    alter = type(DeltaTable(table).alter)
    store = Store.open(table)
    with monkeypatch.context() as patched:
        patched.setattr(alter, "set_table_properties", killed)
        with pytest.raises(KeyboardInterrupt):
            store.append([new_episode("b")], commit=KEY)
    assert format_of(table) == "agentevol.trajectory/1"
    assert list(Store.open(table).trajectories()) == [episode("old")]
    Store.open(table).append([new_episode("b")], commit=KEY)
    assert format_of(table) == "agentevol.trajectory/3"
    assert {t.id for t in Store.open(table).trajectories()} == {"old", "b"}


def test_a_migration_that_the_disk_refuses_is_one_line(table, monkeypatch):
    def refused(*_: object, **__: object) -> None:
        raise DeltaError("no space\nleft")

    monkeypatch.setattr(type(DeltaTable(table).alter), "add_columns", refused)
    store = Store.open(table)
    with pytest.raises(StoreError, match=r"cannot write the table of trajectories .*: no space") as error:
        store.append([new_episode("b")], commit=KEY)
    assert "\n" not in str(error.value)


def test_old_and_new_files_are_compacted_to_one_that_reads_the_same(table):
    store = Store.open(table)
    store.append([new_episode("new")], commit=KEY)
    DeltaTable(table).optimize.compact()
    assert len(DeltaTable(table).file_uris()) == 1
    assert sorted(store.trajectories(), key=lambda t: t.id) == [new_episode("new"), episode("old")]
    harm = pl.col("turns").list.get(0).struct.field("costs")
    assert pl.scan_delta(str(table)).filter(pl.col("id") == "old").select(harm).collect().item() is None


def test_its_episodes_are_exported_and_come_back(table, tmp_path):
    store = Store.open(table)
    store.append([new_episode("new")], commit=KEY)
    found = list(store.trajectories())
    assert export_jsonl(found, tmp_path / "all.jsonl") == 2
    assert list(import_jsonl(tmp_path / "all.jsonl")) == found
    assert len(rows("agenttraj", found)) == 2


def test_a_line_that_was_exported_before_the_fields_existed_is_read(tmp_path):
    line = json.loads(episode("old").model_dump_json())
    for name in ("parent", "given_turns", "temperature", "episode_id", "seat"):
        del line[name]
    for turn in line["turns"]:
        del turn["costs"], turn["policy_s"], turn["environment_s"]
    (tmp_path / "old.jsonl").write_text(json.dumps(line) + "\n")
    assert list(import_jsonl(tmp_path / "old.jsonl")) == [episode("old")]


def test_a_format_of_the_future_is_refused(tmp_path):
    options = {"agentevol.format": "agentevol.trajectory/4"}
    DeltaTable.create(
        tmp_path / "t", SCHEMAS["with loss masks"], configuration=options, raise_if_key_not_exists=False
    )
    with pytest.raises(StoreError, match=r"of format 'agentevol\.trajectory/4', not"):
        Store.open(tmp_path / "t")
