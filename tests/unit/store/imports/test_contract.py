"""What every importer keeps, over the registry, and the way back from every export that has one."""

import json
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.exports import table_of, varied_episodes

from agentevol.cli.trajectories.importing import Format
from agentgym_store.exports import export, export_format
from agentgym_store.imports import IMPORTERS, Draft, Refusal, import_files, importer
from agentgym_store.imports.registry import detected
from agentgym_store.records import MESSAGE, Trajectory, message_of
from agentgym_store.store import Store

EPISODES = varied_episodes(48)


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return table_of(tmp_path_factory.mktemp("table") / "trajectories", EPISODES)


def test_the_command_offers_every_format() -> None:
    assert get_args(Format) == ("auto", *IMPORTERS)


@pytest.mark.parametrize("name", IMPORTERS)
def test_an_importer_says_what_it_reads(name: str) -> None:
    found = importer(name)
    assert found.name == name
    assert found.summary.endswith(".")
    assert found.lossless == (name in ("jsonl", "parquet"))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
NAMES = st.sampled_from(
    [
        *(
            "conversations",
            "item_id",
            "meta",
            "reward",
            "from",
            "value",
            "loss",
            "messages",
            "role",
            "content",
        ),
        *(
            "tool_calls",
            "function",
            "steps",
            "action",
            "observation",
            "page",
            "url",
            "goal",
            "turns",
            "ending",
        ),
        *("request", "response", "choices", "tools", "initial_observation", "given_turns", "system"),
    ]
)
LIKELY = st.recursive(
    JSON | st.sampled_from(["human", "gpt", "assistant", "user", "index", "done", "reset"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=5),
    max_leaves=12,
)


@pytest.mark.parametrize("name", [name for name in IMPORTERS if name != "parquet"])
@given(record=st.dictionaries(NAMES, LIKELY, max_size=5) | LIKELY)
def test_any_record_is_an_episode_or_refused(name: str, record: Any) -> None:
    found = importer(name)
    assert found.recognises(record) in (True, False)
    try:
        episode: Any = found.episode(record)
    except Refusal as refusal:
        episode = refusal
    assert isinstance(episode, Draft | Trajectory | Refusal)
    if isinstance(episode, Refusal):
        assert episode.reason
        assert "\n" not in episode.reason


@pytest.mark.parametrize("name", ["jsonl", "parquet"])
def test_a_lossless_format_brings_back_equal_records(name: str, table: Store, tmp_path: Path) -> None:
    export(table, export_format(name), tmp_path / f"all.{name}")
    report = import_files([tmp_path / f"all.{name}"], tmp_path / "back")
    assert report.formats == {str(tmp_path / f"all.{name}"): name}
    assert (report.read, report.imported, report.dropped) == (len(EPISODES), len(EPISODES), {})
    assert list(Store.open(tmp_path / "back").trajectories()) == EPISODES


LOSSY = {"agenttraj": "agenttraj", "sharegpt": "sharegpt", "sft": "openai"}
"""Export format to the format that its files are recognised as."""


@pytest.mark.parametrize("name", LOSSY)
def test_a_lossy_format_brings_back_what_it_does_not_say_it_loses(
    name: str, table: Store, tmp_path: Path
) -> None:
    suffix = export_format(name).suffix
    export(table, export_format(name), tmp_path / f"all{suffix}")
    report = import_files([tmp_path / f"all{suffix}"], tmp_path / "back")
    assert report.formats == {str(tmp_path / f"all{suffix}"): LOSSY[name]}
    assert report.dropped == {}
    kept = [t for t in EPISODES if t.total_reward is not None]
    back = list(Store.open(tmp_path / "back").trajectories())
    for found, told in zip(back, kept, strict=True):
        for field in (
            "env",
            "env_version",
            "data_version",
            "task_id",
            "split",
            "kind",
            "seed",
            "given_turns",
        ):
            assert getattr(found, field) == getattr(told, field)
        assert found.total_reward == told.total_reward
        assert found.ending.kind == told.ending.kind
        assert found.initial_observation.endswith(told.initial_observation)
        assert [message_of(turn) for turn in found.turns] == [message_of(turn) for turn in told.turns]
        assert [turn.action for turn in found.turns] == [turn.action for turn in told.turns]
        assert [t.observation for t in found.turns][:-1] == [t.observation for t in told.turns][:-1]
        assert found.purpose == "demonstrate"


def test_a_message_that_is_more_than_its_action_is_kept(tmp_path: Path) -> None:
    said = "Thought: a mug?\n\nAction: look"
    row = {
        "messages": [{"role": "user", "content": "go"}, {"role": "assistant", "content": said}],
        "reward": 1,
    }
    (tmp_path / "log.jsonl").write_text(json.dumps(row) + "\n")
    from agentgym_store.imports import Supplied

    import_files([tmp_path / "log.jsonl"], tmp_path / "back", Supplied(env="guess"))
    (episode,) = Store.open(tmp_path / "back").trajectories()
    (turn,) = episode.turns
    assert (turn.action, turn.info) == ("look", {MESSAGE: said})


@pytest.mark.parametrize("name", ["agenttraj", "sharegpt", "sft"])
def test_rows_of_parquet_are_records_like_those_of_json(name: str, table: Store, tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    suffix = export_format(name).suffix
    export(table, export_format(name), tmp_path / f"all{suffix}")
    text = (tmp_path / f"all{suffix}").read_text("utf-8")
    rows = json.loads(text) if suffix == ".json" else [json.loads(one) for one in text.split("\n") if one]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "rows.parquet")
    assert detected(tmp_path / "rows.parquet").name == detected(tmp_path / f"all{suffix}").name
    ours = import_files([tmp_path / f"all{suffix}"], tmp_path / "a")
    theirs = import_files([tmp_path / "rows.parquet"], tmp_path / "b")
    assert (theirs.imported, theirs.successes) == (ours.imported, ours.successes)
    assert ours.successes > 0
