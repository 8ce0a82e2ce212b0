"""What an iteration learns from: rows by source and environment, their weights, and how old they are."""

from dataclasses import replace

import numpy as np
import pytest
from support.trajectories import trajectory

from agentevol.core.protocols import TrainingSequence
from agentevol.data.composition import Share, learnt_figures, shares, turns_by_version, version_lag, versions
from agentgym_store.records import Sample, Trajectory, Turn


def row(name: str, weight: float = 1.0, learnt: tuple[int, ...] = (0, 1)) -> TrainingSequence:
    """Two turns of one token each, of which `learnt` are learnt."""
    return TrainingSequence(
        token_ids=np.array([1, 2, 3, 4], dtype=np.int32),
        mask=np.array([False, 0 in learnt, False, 1 in learnt]),
        rollout_logp=np.full(4, np.nan, dtype=np.float32),
        weight=weight,
        trajectory_id=name,
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


def test_rows_are_counted_by_source_and_environment_with_their_weights():
    rows = [row("new", 2.0), row("new 2", 0.0), row("old", 1.0), row("shown"), row("shown"), row("maze", 3.0)]
    found = shares(
        rows,
        new={"new", "new 2", "not learnt"},
        expert={"shown"},
        environment="guess",
        environments={"maze": "maze", "old": "guess"},
    )
    assert learnt_figures(found) == {
        "guess": {
            "rows_new": 2.0,
            "rows_earlier": 1.0,
            "rows_expert": 2.0,
            "explored_to_expert": 1.5,
            "token_share": 0.8,
            "mean_weight": 1.0,
            # (2 + 0 + 1 + 1 + 1)^2 / (4 + 0 + 1 + 1 + 1)
            "effective_sample_size": pytest.approx(25 / 7),
        },
        # no expert, no ratio
        "maze": {
            "rows_new": 0.0,
            "rows_earlier": 1.0,
            "rows_expert": 0.0,
            "token_share": 0.2,
            "mean_weight": 3.0,
            "effective_sample_size": 1.0,
        },
    }
    assert learnt_figures([]) == {}
    # a source without rows, as that of a round in which nothing was won, adds nothing
    assert learnt_figures([*found, Share("ship", "earlier", 0, [])]) == learnt_figures(found)


def test_the_lag_is_of_learnt_turns():
    sampled_by = versions([played("now", 5, 5), played("mixed", 2, 5), played("shown", None, None)])

    def lag(*parts: list[TrainingSequence]) -> dict[str, float]:
        return version_lag([turns_by_version(part, sampled_by) for part in parts], newest=5)

    rows = [row("now"), row("mixed"), row("shown"), row("of another run")]
    # 0, 0 and 3, 0: scripts and other runs' policies have no age
    expected = {"policy_version_lag_mean": 0.75, "policy_version_lag_max": 3.0}
    assert lag(rows) == expected
    assert lag(rows[:1], [], rows[1:]) == expected  # in however many parts
    # the stale turn of the mixed episode is context only
    late = [row("now"), row("mixed", learnt=(1,))]
    assert lag(late)["policy_version_lag_max"] == 0.0
    assert lag([row("shown")]) == {}
    assert lag([replace(row("now"), turn=None)]) == {}
