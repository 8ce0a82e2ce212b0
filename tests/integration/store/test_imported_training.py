"""From a foreign file to a step of supervised learning, and into a run."""

import json
from pathlib import Path

import pytest
from support.tiny_models import write_guess_model

from agentevol.config.run import RunConfig, TrainConfig, load
from agentevol.core.algorithms.registry import objective
from agentevol.core.errors import ConfigError
from agentevol.core.protocols import Checkpoint
from agentevol.data.replay import retained_episodes, retained_sequences
from agentevol.models.checkpoints import content_hash
from agentevol.runs.training import train
from agentgym_store.imports import Supplied, import_files
from agentgym_store.store import Where

DEMONSTRATED = Where(purpose="demonstrate")


def agent_traj(path: Path, messages: list[str]) -> Path:
    """A file as AgentGym publishes them: an opening exchange, and then the episode."""
    said = [
        *(("human", "You play guess.", None), ("gpt", "Ok.", False)),
        ("human", "Make a guess.", None),
        *(one for text in messages for one in (("gpt", text, True), ("human", "Go higher than 4.", None))),
    ]
    rows = [
        {
            "item_id": f"guess_{number}",
            "conversations": [{"from": who, "value": text, "loss": loss} for who, text, loss in said],
        }
        for number in range(4)
    ]
    path.write_text(json.dumps(rows))
    return path


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_guess_model(tmp_path_factory.mktemp("base") / "model")


def learning(base: Path, *more: str) -> TrainConfig:
    small = ("learn.epochs=1", "learn.batch_tokens=256", "select.rule=all", "select.distinct=false")
    return load(None, ["algorithm=sft", f"base={base}", *small, *more], TrainConfig)


def test_an_imported_file_is_learnt_from(base: Path, tmp_path: Path) -> None:
    file = agent_traj(tmp_path / "traj.json", ["4", "6"])
    report = import_files([file], tmp_path / "demos", Supplied(reward=1.0))
    assert report.environments == {"guess": 4}
    done = train(tmp_path / "demos", learning(base), out=tmp_path / "cloned", where=DEMONSTRATED)
    assert done.metrics["sequences"] == 4
    assert content_hash(tmp_path / "cloned") != content_hash(base)


def test_thoughts_are_learnt_in_the_action_format_that_they_were_written_in(
    base: Path, tmp_path: Path
) -> None:
    file = agent_traj(tmp_path / "traj.json", ["Thought:\nIn the middle.\n\nAction:\n4"])
    import_files([file], tmp_path / "demos", Supplied(reward=1.0))
    with pytest.raises(ConfigError, match="not in the action format 'plain'"):
        train(tmp_path / "demos", learning(base), out=tmp_path / "plain", where=DEMONSTRATED)
    react = learning(base, "action_format=react")
    assert (
        train(tmp_path / "demos", react, out=tmp_path / "react", where=DEMONSTRATED).metrics["sequences"] == 4
    )


def test_a_run_replays_imported_demonstrations(base: Path, tmp_path: Path) -> None:
    import_files([agent_traj(tmp_path / "traj.json", ["4", "6"])], tmp_path / "demos", Supplied(reward=1.0))
    given = [f"base={base}", "env=guess", f"retained.data={tmp_path / 'demos'}", "select.merge=replay"]
    config = load(None, given, RunConfig)
    episodes = retained_episodes(config)
    assert len({t.task_id for t in episodes}) == len(episodes) == 4
    chosen = objective(config.learn.algorithm, config.learn.options)
    old = retained_sequences(episodes, chosen, config, Checkpoint(base, 0))
    assert [one.environment for one in old] == ["guess"] * 4
    assert all(one.sequence.mask.any() for one in old)
