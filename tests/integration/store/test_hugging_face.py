"""Exported data sets in Hugging Face `datasets` and in the trainers of TRL, unchanged.

Runs where these are installed (`pip install 'agentevol[trl]'`); nothing is downloaded.
"""

import json
from pathlib import Path
from typing import Any, Literal

import pytest
from support.exports import rows, table_of, varied_episodes
from support.feedback import ANSWER, guess_table
from support.tiny_models import write_checkpoint

from agentevol.cli.trajectories.export import export as write_data_set
from agentevol.data.exports.registry import ALL_FORMATS
from agentgym_store.exports import Plan, export, export_format
from agentgym_store.feedback.records import feedback
from agentgym_store.feedback.table import FeedbackTable
from agentgym_store.records import Trajectory
from agentgym_store.store import Store

datasets = pytest.importorskip("datasets", reason="datasets is not installed: agentevol[trl]")

EPISODES = varied_episodes(80)
WRITTEN = sorted(set(ALL_FORMATS) - {"sotopia"})


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return table_of(tmp_path_factory.mktemp("table") / "trajectories", EPISODES)


def loaded(table: Store, name: str, out: Path, **options: Any) -> Any:
    """The rows of an export, as `load_dataset` reads its folder."""
    chosen = export_format(name, options, ALL_FORMATS)
    export(table, chosen, out, plan=Plan(shards=2))
    return datasets.load_dataset(str(out), split="train", cache_dir=str(out.parent / "cache"))


@pytest.mark.parametrize("name", [name for name in WRITTEN if name not in ("jsonl", "parquet", "prompts")])
def test_rows_are_read_as_they_were_written(name: str, table: Store, tmp_path: Path) -> None:
    assert loaded(table, name, tmp_path / "out").to_list() == rows(name, EPISODES)


def test_whole_episodes_are_read_from_json_lines(table: Store, tmp_path: Path) -> None:
    """`datasets` rounds numbers beside JSON columns to ten digits; the import of this package does not."""
    found = loaded(table, "jsonl", tmp_path / "out").to_list()
    for row, episode in zip(found, EPISODES, strict=True):
        told = json.loads(episode.model_dump_json())
        told["ending"] = {"limit": None, "failure": None, "detail": None, **told["ending"]}
        assert {**row, "turns": None} == {**told, "turns": None}
        for read, turn in zip(row["turns"], told["turns"], strict=True):
            found_sample, sample = read.pop("sample"), turn.pop("sample")
            assert {name: _value(one) for name, one in read.items()} == turn
            if sample is not None:
                assert found_sample.pop("logprobs") == pytest.approx(sample.pop("logprobs"), abs=1e-9)
            assert found_sample == sample


def _value(one: Any) -> Any:
    return json.loads(one) if isinstance(one, str) and one[:1] == "{" else one


def test_whole_episodes_are_read_from_parquet(table: Store, tmp_path: Path) -> None:
    found = loaded(table, "parquet", tmp_path / "out").to_list()
    assert [row["id"] for row in found] == [t.id for t in EPISODES]
    for row, episode in zip(found, EPISODES, strict=True):
        assert [turn["observation"] for turn in row["turns"]] == [turn.observation for turn in episode.turns]
        costs = [{one["name"]: one["cost"] for one in turn["costs"] or ()} for turn in row["turns"]]
        assert costs == [turn.costs for turn in episode.turns]
        read = [turn["sample"] and tuple(turn["sample"]["token_ids"]) for turn in row["turns"]]
        assert read == [turn.sample and turn.sample.token_ids for turn in episode.turns]
        exact = [turn["sample"] and tuple(turn["sample"]["logprobs"]) for turn in row["turns"]]
        assert exact == [turn.sample and turn.sample.logprobs for turn in episode.turns]


def test_columns_of_nulls_at_the_beginning_do_not_mislead_the_loader(tmp_path: Path) -> None:
    """The policy version is null in the first blocks, those of scripted episodes, and a number later."""
    scripted = [unsampled(t) for t in EPISODES if t.turns[-1].sample]
    store = table_of(tmp_path / "table", [*(renamed(t) for t in scripted), *EPISODES])
    export(store, export_format("sft"), tmp_path / "out")
    found = datasets.load_dataset(
        str(tmp_path / "out"), split="train", chunksize=2_000, cache_dir=str(tmp_path / "cache")
    )
    versions = [row["meta"]["policy_version"] for row in found]
    assert versions[0] is None
    assert 4 in versions


def unsampled(episode: Trajectory) -> Trajectory:
    turns = tuple(turn.model_copy(update={"sample": None}) for turn in episode.turns)
    return episode.model_copy(update={"turns": turns})


def renamed(episode: Trajectory) -> Trajectory:
    return episode.model_copy(update={"id": f"scripted/{episode.id}"})


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(write_checkpoint(tmp_path_factory.mktemp("model") / "base", words=8))


def tokenizer_of(checkpoint: str) -> Any:
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(checkpoint)
    tokenizer.pad_token = tokenizer.eos_token
    return tokenizer


def arguments(kind: Any, folder: Path, **options: Any) -> Any:
    one_step = {"max_steps": 1, "per_device_train_batch_size": 4, "save_strategy": "no", "report_to": []}
    plain = {"use_cpu": True, "bf16": False, "gradient_checkpointing": False}
    return kind(output_dir=str(folder), **one_step, **plain, **options)


@pytest.mark.parametrize(
    ("name", "trainer", "options"),
    [
        ("sft", "SFT", {}),
        ("sft", "SFT", {"rows": "turn"}),
        ("preference", "DPO", {"truncated_is_loss": True}),
        ("preference", "DPO", {"truncated_is_loss": True, "rows": "episode"}),
        ("preference", "Reward", {"truncated_is_loss": True}),
        ("unpaired", "KTO", {"truncated_is_loss": True}),
        ("unpaired", "KTO", {"truncated_is_loss": True, "rows": "episode"}),
    ],
)
def test_a_trainer_takes_a_step_on_the_rows(
    name: str, trainer: str, options: dict[str, Any], table: Store, tmp_path: Path, checkpoint: str
) -> None:
    trl = pytest.importorskip("trl", reason="TRL is not installed: agentevol[trl]")
    found = loaded(table, name, tmp_path / "out", **options)
    config = arguments(getattr(trl, f"{trainer}Config"), tmp_path / "run", max_length=64)
    learning = getattr(trl, f"{trainer}Trainer")(
        model=checkpoint, args=config, train_dataset=found, processing_class=tokenizer_of(checkpoint)
    )
    assert learning.train().training_loss > 0


@pytest.mark.parametrize("kind", ["turn", "episode"])
def test_dpo_takes_a_step_on_the_pairs_of_feedback(
    kind: Literal["turn", "episode"], tmp_path: Path, checkpoint: str
) -> None:
    trl = pytest.importorskip("trl", reason="TRL is not installed: agentevol[trl]")
    place, _ = guess_table(tmp_path)
    FeedbackTable.beside(place).append(
        [
            feedback({"trajectory_id": "a", "turn": turn, "source": "human:Anna", "opinion": opinion})
            for turn, opinion in (
                (1, {"kind": "correction", "action": "7"}),
                (None, {"kind": "comparison", "other": "c", "verdict": "worse"}),
            )
        ]
    )
    out = tmp_path / "pairs"
    write_data_set(str(place), out, format="preference", feedback=True, rows=kind)
    found = datasets.load_dataset(str(out), split="train", cache_dir=str(tmp_path / "cache"))
    said = [[[one["content"] for one in row[side]] for side in ("chosen", "rejected")] for row in found]
    whole = [["5", ANSWER, "6", ANSWER, "7"], ["4", ANSWER, "3", ANSWER, "2"]]
    assert said == [[["7"], ["3"]], whole if kind == "episode" else [["5"], ["4"]]]
    config = arguments(trl.DPOConfig, tmp_path / "run", max_length=64)
    learning = trl.DPOTrainer(
        model=checkpoint, args=config, train_dataset=found, processing_class=tokenizer_of(checkpoint)
    )
    # one step from the reference: every margin is 0, and the loss is -log(1/2)
    assert learning.train().training_loss == pytest.approx(0.6931, abs=1e-3)


def test_grpo_samples_from_the_prompts_and_finds_the_task_of_each(
    table: Store, tmp_path: Path, checkpoint: str
) -> None:
    trl = pytest.importorskip("trl", reason="TRL is not installed: agentevol[trl]")
    found = loaded(table, "prompts", tmp_path / "out")
    seen: list[str] = []

    def reward(completions: list[Any], meta: list[dict[str, Any]], **_: Any) -> list[float]:
        seen.extend(one["task_id"] for one in meta)
        return [float(len(one[0]["content"])) for one in completions]

    config = arguments(
        trl.GRPOConfig,
        tmp_path / "run",
        max_completion_length=4,
        num_generations=2,
        remove_unused_columns=False,
    )
    trl.GRPOTrainer(
        model=checkpoint,
        args=config,
        train_dataset=found,
        reward_funcs=reward,
        processing_class=tokenizer_of(checkpoint),
    ).train()
    assert set(seen) <= {t.task_id for t in EPISODES}
    assert len(seen) >= 4
