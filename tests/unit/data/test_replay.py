"""Replayed sequences: the episodes they are of, and how many are learnt beside new ones."""

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.trajectories import trajectory

from agentevol.config.run import RunConfig, TrainConfig, load
from agentevol.config.sections.forgetting import ReplayConfig
from agentevol.core.algorithms.registry import objective
from agentevol.core.errors import ConfigError
from agentevol.core.protocols import Checkpoint, TrainingSequence
from agentevol.data.replay import Old, copied, replayed, retained_episodes, retained_sequences
from agentevol.data.selection.filters import fresh
from agentevol.models.rendering import load_tokenizer
from agentevol.models.resolution import resolve
from agentgym_store.records import Failed, Sample, Trajectory, Turn
from agentgym_store.store import Store

NO_MODEL = Checkpoint(Path("nowhere"), 0)
"""Nothing has to be encoded."""


def sequence(name: str, tokens: int = 10, weight: float = 1.0) -> TrainingSequence:
    ids = np.arange(tokens + 1, dtype=np.int32)
    return TrainingSequence(ids, ids > 0, np.full(tokens + 1, np.nan, np.float32), weight, name)


def episode(
    name: str, *, reward: float = 1.0, versions: tuple[int, ...] = (3,), **changes: Any
) -> Trajectory:
    turns = tuple(
        Turn(
            action=f"{name} {number}",
            observation="o",
            reward=reward if number == len(versions) - 1 else 0.0,
            sample=Sample(
                text="",
                prompt_ids=tuple(range(1, 2 * number + 2)),
                token_ids=(2 * number + 2,),
                logprobs=(-0.5,),
                policy_version=version,
            ),
        )
        for number, version in enumerate(versions)
    )
    plain = trajectory(id=name, run="before", iteration=2, task_id=name, turns=turns)
    return plain.model_copy(update=changes)


NEW = [sequence(f"new {number}") for number in range(8)]
OLD = [Old("maze", sequence(f"old {number}")) for number in range(50)]


def test_old_sequences_make_up_their_fraction_and_are_marked():
    # 80 new tokens, 0.2 of all: 20 of 100, which are 2 sequences of 10
    chosen = replayed(NEW, OLD, "house", ReplayConfig(), seed=0)
    assert len(chosen) == 2
    assert all(one.replayed for one in chosen)
    assert len(replayed(NEW, OLD, "house", ReplayConfig(fraction=0.5), seed=0)) == 8
    assert not any(one.sequence.replayed for one in OLD)  # the sequences that were given stay as they are


def test_equal_seeds_replay_the_same_sequences_and_others_do_not():
    first, again, other = (
        [one.trajectory_id for one in replayed(NEW, OLD, "house", ReplayConfig(), seed)] for seed in (3, 3, 4)
    )
    assert first == again != other


def test_without_old_sequences_or_new_ones_nothing_is_replayed():
    assert replayed(NEW, [], "house", ReplayConfig(), 0) == []
    assert replayed([], OLD, "house", ReplayConfig(), 0) == []


def test_old_sequences_of_weight_0_are_not_replayed():
    old = [Old("maze", sequence("lost", weight=0.0)), Old("maze", sequence("won"))]
    assert {one.trajectory_id for one in replayed(NEW, old, "house", ReplayConfig(), 0)} == {"won"}


def test_a_sequence_that_comes_again_is_a_sequence_of_its_own():
    # half of 160 tokens from one sequence of 10: eight times
    chosen = replayed(NEW, OLD[:1], "house", ReplayConfig(fraction=0.5), 0)
    assert [one.unit for one in chosen] == ["", *(f"again {number}" for number in range(1, 8))]


def test_a_rare_environment_has_its_floor():
    old = [*OLD, Old("ship", sequence("rare"))]
    config = ReplayConfig(fraction=0.5, floor=0.25)  # 40 of 160 tokens
    counts = Counter(one.trajectory_id for one in replayed(NEW, old, "house", config, 0))
    assert counts["rare"] >= 4
    without = Counter(
        one.trajectory_id for one in replayed(NEW, old, "house", ReplayConfig(fraction=0.5, floor=0), 0)
    )
    assert without["rare"] <= 1


def written(tmp_path: Path, *episodes: Trajectory) -> RunConfig:
    Store.open(tmp_path / "before" / "trajectories", create=True).append(
        list(episodes), commit={"run": "before"}
    )
    return load(None, ["select.merge=replay", f"retained.data={tmp_path / 'before'}", "name=after"])


def test_what_evaluated_and_what_failed_is_never_retained(tmp_path: Path):
    config = written(
        tmp_path,
        episode("won"),
        episode("lost", reward=0.0),
        episode("tested", purpose="evaluate"),
        episode("guarded", purpose="protect"),
        episode("broken", ending=Failed(failure="worker-lost")),
        episode("kept before", purpose="retain"),
    )
    assert [t.id for t in retained_episodes(config)] == ["kept before", "won"]


def test_what_the_run_holds_out_is_never_retained(tmp_path: Path):
    config = written(
        tmp_path,
        *(
            episode(split, split=split, env="alfworld", purpose="demonstrate")
            for split in ("train", "test", "valid")
        ),
        episode("another's", split="test", env="guess"),
    )
    assert config.environment.name == "alfworld"
    assert [t.id for t in retained_episodes(config)] == ["another's", "train"]
    tested = config.model_copy(update={"evaluate": config.evaluate.model_copy(update={"split": "train"})})
    assert "train" in [t.id for t in retained_episodes(tested)]


def test_retained_episodes_are_as_many_as_asked_and_evenly_of_every_environment(tmp_path: Path):
    many = [episode(f"maze {number:02d}", env="maze") for number in range(20)]
    few = [episode(f"shop {number}", env="shop") for number in range(2)]
    config = written(tmp_path, *many, *few)
    some = config.model_copy(update={"retained": config.retained.model_copy(update={"episodes": 4})})
    assert Counter(t.env for t in retained_episodes(some)) == {"maze": 2, "shop": 2}
    assert [t.id for t in retained_episodes(some)] == [t.id for t in retained_episodes(some)]
    evenly = some.model_copy(
        update={"retained": some.retained.model_copy(update={"sampling": "reservoir", "episodes": 22})}
    )
    assert len(retained_episodes(evenly)) == 22


def test_no_episode_to_retain_is_an_error(tmp_path: Path):
    with pytest.raises(ConfigError, match=r"of 1 episodes in .*, select\.\* keeps none"):
        retained_episodes(written(tmp_path, episode("lost", reward=0.0)))
    with pytest.raises(ConfigError, match="no data at"):
        retained_episodes(load(None, ["select.merge=replay", "retained.data=nowhere"]))


def test_a_copy_is_of_this_run_and_its_sequences_of_no_version_of_its_policy():
    (copy,) = copied([episode("won", env="maze")], "after")
    assert (copy.id, copy.run, copy.purpose, copy.iteration) == ("after/retain/won", "after", "retain", 0)
    config = load(None, ["select.merge=replay", "retained.data=x"])
    (old,) = retained_sequences([copy], objective("agentevol"), config, NO_MODEL)
    assert (old.environment, old.sequence.trajectory_id, old.sequence.weight) == (
        "maze",
        "after/retain/won",
        1.0,
    )
    # its version counts another run's updates: compared with this one's it would stop the run
    assert old.sequence.policy_version is None
    assert retained_sequences([copy], objective("grpo"), config, NO_MODEL)[0].sequence.episode is None


def test_stale_episodes_are_left_out_and_fresh_ones_of_the_same_task_stay():
    played = [episode("now", versions=(6,)), episode("mixed", versions=(1, 6)), episode("old", versions=(2,))]
    assert [t.id for t in fresh(played, max_lag=4, newest=6)] == ["now", "old"]  # 6 - 1 is above 4
    assert [t.id for t in fresh(played, max_lag=3, newest=6)] == ["now"]
    assert [t.id for t in fresh(played, max_lag=5, newest=6)] == ["now", "mixed", "old"]
    assert fresh(played, max_lag=None, newest=6) == played


def test_without_a_newest_version_episodes_are_as_old_as_their_own_run_makes_them():
    mine = [episode("now", versions=(9,)), episode("old", versions=(4,))]
    # another run got no further than its second update: its versions say nothing of this one's
    other = [
        t.model_copy(update={"run": "other"})
        for t in (episode("a", versions=(2,)), episode("b", versions=(0,)))
    ]
    assert [t.id for t in fresh([*mine, *other], max_lag=4)] == ["now", "a", "b"]
    assert [t.id for t in fresh([*mine, *other], max_lag=1)] == ["now", "a"]


def test_what_is_retained_of_another_run_has_no_age():
    mine, (copy,) = episode("now", versions=(9,)), copied([episode("won", versions=(0,))], "r")
    mine = mine.model_copy(update={"run": "r"})
    assert fresh([mine, copy], max_lag=0) == [mine, copy]
    assert fresh([mine, copy], max_lag=0, newest=9) == [mine, copy]
    assert fresh([mine, copy.model_copy(update={"purpose": "explore"})], max_lag=0) == [mine]


@pytest.mark.parametrize(
    ("action_format", "learnt"),
    [("plain", "go<|end|>"), ("react", "Thought:\n\n\nAction:\ngo<|end|>")],
)
def test_a_scripted_episode_is_encoded_in_the_action_format(action_format: str, learnt: str):
    turn = Turn(action="go", observation="o", reward=1.0)
    shown = trajectory(id="shown", turns=(turn,), initial_observation="Where to?")
    config, base = load(None, [f"action_format={action_format}"], TrainConfig), resolve("starter:guess")
    (old,) = retained_sequences([shown], objective("sft"), config, base)
    tokenizer = load_tokenizer(base.path)
    read = str(tokenizer.decode(old.sequence.token_ids[~old.sequence.mask].tolist()))
    assert str(tokenizer.decode(old.sequence.token_ids[old.sequence.mask].tolist())) == learnt
    assert read.startswith("Where to?") == (action_format == "plain")
    assert read.startswith("You are an agent in the environment guess.") == (action_format == "react")


def test_a_scripted_episode_has_no_age():
    shown = episode("shown").model_copy(update={"turns": (Turn(action="go", observation="o", reward=1.0),)})
    assert fresh([shown], max_lag=0, newest=99) == [shown]
