"""What an iteration learns from: sequences by source and environment, their weights, and how old they are."""

from dataclasses import replace

import numpy as np
import pytest
from support.trajectories import trajectory

from agentevol.core.protocols import TrainingSequence
from agentevol.data.composition import Share, learnt_figures, shares, turns_by_version, version_lag, versions
from agentgym_store.records import Sample, Trajectory, Turn


def sequence(
    name: str, weight: float = 1.0, learnt: tuple[int, ...] = (0, 1), environment: str = "guess"
) -> TrainingSequence:
    """Two turns of one token each, of which `learnt` are learnt."""
    return TrainingSequence(
        token_ids=np.array([1, 2, 3, 4], dtype=np.int32),
        mask=np.array([False, 0 in learnt, False, 1 in learnt]),
        rollout_logp=np.full(4, np.nan, dtype=np.float32),
        weight=weight,
        trajectory_id=name,
        environment=environment,
        turn=np.array([-1, 0, -1, 1], dtype=np.int32),
    )


def played(name: str, *sampled_by: int | None) -> Trajectory:
    """An episode whose turns weights of these versions sampled; None a script."""
    turns = tuple(
        Turn(
            action="go",
            observation="",
            reward=0.0,
            sample=None
            if version is None
            else Sample(text="", prompt_ids=(1,), token_ids=(2,), logprobs=(-1.0,), policy_version=version),
        )
        for version in sampled_by
    )
    return trajectory(id=name, turns=turns)


def test_sequences_are_counted_by_source_and_environment_with_their_weights():
    sequences = [
        sequence("new", 2.0),
        sequence("new 2", 0.0),
        sequence("old", 1.0),
        sequence("shown"),
        sequence("shown"),
        sequence("maze", 3.0, environment="maze"),
    ]
    found = shares(
        sequences,
        new={"new", "new 2", "not learnt"},
        expert={"shown"},
    )
    assert learnt_figures(found) == {
        "guess": {
            "sequences_new": 2.0,
            "sequences_earlier": 1.0,
            "sequences_expert": 2.0,
            "explored_to_expert": 1.5,
            "token_share": 0.8,
            "mean_weight": 1.0,
            # (2 + 0 + 1 + 1 + 1)^2 / (4 + 0 + 1 + 1 + 1)
            "effective_sample_size": pytest.approx(25 / 7),
        },
        # no expert, no ratio
        "maze": {
            "sequences_new": 0.0,
            "sequences_earlier": 1.0,
            "sequences_expert": 0.0,
            "token_share": 0.2,
            "mean_weight": 3.0,
            "effective_sample_size": 1.0,
        },
    }
    assert learnt_figures([]) == {}
    # a source without sequences, as that of a round in which nothing was won, adds nothing
    assert learnt_figures([*found, Share("ship", "earlier", 0, [])]) == learnt_figures(found)


def test_the_lag_is_of_learnt_turns():
    sampled_by = versions([played("now", 5, 5), played("mixed", 2, 5), played("shown", None, None)])

    def lag(*parts: list[TrainingSequence]) -> dict[str, float]:
        return version_lag([turns_by_version(part, sampled_by) for part in parts], newest=5)

    sequences = [sequence("now"), sequence("mixed"), sequence("shown"), sequence("of another run")]
    # 0, 0 and 3, 0: scripts and other runs' policies have no age
    expected = {"policy_version_lag_mean": 0.75, "policy_version_lag_max": 3.0}
    assert lag(sequences) == expected
    assert lag(sequences[:1], [], sequences[1:]) == expected  # in however many parts
    # the stale turn of the mixed episode is context only
    late = [sequence("now"), sequence("mixed", learnt=(1,))]
    assert lag(late)["policy_version_lag_max"] == 0.0
    assert lag([sequence("shown")]) == {}
    assert lag([replace(sequence("now"), turn=None)]) == {}
