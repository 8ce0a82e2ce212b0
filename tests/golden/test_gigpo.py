"""GiGPO's advantages beside verl-agent's."""

from typing import Any

import numpy as np
import pytest

from agentevol.core.algorithms.contract import Rollouts, Steps
from agentevol.learn.algorithms.advantages.turn_level import numbered, states, turn_returns
from agentevol.learn.algorithms.policy_gradient.gigpo import episode_part, gigpo_advantage, step_part

pytestmark = pytest.mark.golden

STATISTICS = {"cross_steps": "over_steps", "cross_traj": "over_trajectories"}


def rollouts_of_steps(inputs: dict[str, Any]) -> Rollouts:
    """Rows of steps as episodes whose turns have one token each."""
    sequence = numbered(inputs["traj"])
    reward = np.asarray(inputs["step_reward"], dtype=np.float64)
    groups = dict(zip(sequence.tolist(), inputs["group"], strict=True))
    count = len(sequence)
    steps = Steps(
        sequence=sequence,
        turn=np.array([int((sequence[:row] == sequence[row]).sum()) for row in range(count)]),
        reward=reward,
        anchor=[str(anchor) for anchor in inputs["anchor"]],
        mode=np.zeros(count, dtype=np.int64),
        tokens=np.ones(count, dtype=np.int64),
        invalid=np.zeros(count, dtype=np.bool_),
    )
    return Rollouts(
        sequence=sequence,
        step=np.arange(count),
        reward=reward,
        group=[str(groups[episode]) for episode in range(len(groups))],
        truncated=np.zeros(len(groups), dtype=np.bool_),
        costs={},
        steps=steps,
    )


def test_advantages_agree(golden_algorithm: Any, agree: Any):
    file = golden_algorithm("gigpo")
    for case in file["cases"]:
        hyper, expected = case["hyper"], case["expected"]
        for name, statistics in STATISTICS.items():
            got = gigpo_advantage(
                rollouts_of_steps(case["inputs"]),
                statistics=statistics,
                normalise=hyper["mode"],
                step_weight=hyper["w"],
                gamma=hyper["gamma"],
                similarity=hyper["similarity"] or 1.0,
                epsilon=hyper["eps"],
            )
            what = f"{case['id']} {name}"
            agree(got.advantage, expected[f"advantage_{name}"], file["tolerance"], what)


def test_the_parts_agree(golden_algorithm: Any, agree: Any):
    file = golden_algorithm("gigpo")
    for case in file["cases"]:
        hyper, expected, rollouts = case["hyper"], case["expected"], rollouts_of_steps(case["inputs"])
        how = {"divide": hyper["mode"] == "mean_std_norm", "epsilon": hyper["eps"]}
        state = states(rollouts, hyper["similarity"] or 1.0)
        to_go = turn_returns(rollouts.sequence, rollouts.reward, hyper["gamma"])
        assert state.tolist() == numbered(expected["step_group"]).tolist(), case["id"]
        agree(to_go, expected["step_return"], file["tolerance"], case["id"])
        agree(step_part(to_go, state, **how), expected["step_adv"], file["tolerance"], case["id"])
        returns = rollouts.returns
        agree(returns[rollouts.sequence], case["inputs"]["episode_return"], file["tolerance"], case["id"])
        for name, statistics in STATISTICS.items():
            got = episode_part(
                returns,
                numbered(rollouts.group),
                rollouts.sequence,
                statistics=statistics,
                singleton="raw",
                **how,
            )
            agree(got, expected[f"episode_adv_{name}"], file["tolerance"], f"{case['id']} {name}")


@pytest.mark.parametrize("mode", ["mean_std_norm", "mean_norm"])
def test_the_first_batch_agrees(golden_algorithm: Any, agree: Any, mode: str):
    """Its step returns are given and do not follow from rewards, so the parts are put together here."""
    file = golden_algorithm("batch1_ampo_adpo_gigpo")
    data = file["data"][f"gigpo_{mode}"]
    hyper = data["hyper"]
    how = {"divide": mode == "mean_std_norm", "epsilon": hyper["eps"]}
    row = {episode: number for number, episode in enumerate(data["traj"])}  # the last row of each
    sequence, rows = numbered(data["traj"]), list(row.values())
    episode = episode_part(
        np.array(data["episode_return"])[rows],
        numbered([data["group"][number] for number in rows]),
        sequence,
        statistics=STATISTICS[hyper["statistics"]],
        singleton="raw",
        **how,
    )
    state = numbered(list(zip(data["group"], data["anchor"], strict=True)))
    step = step_part(np.array(data["step_return"]), state, **how)
    agree(episode + hyper["w"] * step, data["advantage"], file["tolerance"], mode)
