"""AMPO's advantage, length factor and format beside the released code's."""

from typing import Any

import numpy as np
import pytest
from support.rollouts import rollouts_of, single_steps

from agentevol.core.algorithms.contract import Advantages
from agentevol.learn.algorithms.advantages.turn_level import members_of, numbered
from agentevol.learn.algorithms.policy_gradient.ampo import ampo_advantage, mode_part
from agentgym_envs.ampo.judging import change_reward
from agentgym_envs.thinking import check, length_factor

pytestmark = pytest.mark.golden

STRICTER = ("text before", "text after", "mode4 headers under level 3")
"""Beginnings of the tags of texts that only the lenient rules accept."""


def advantages(inputs: dict[str, Any], **options: Any) -> Advantages:
    """Of rows of single turns, each of one learnt token."""
    count = len(inputs["reward"])
    lengths, modes = [int(length) for length in inputs["length"]], [int(mode) for mode in inputs["mode"]]
    steps = single_steps(inputs["reward"], lengths, modes)
    groups = inputs.get("group", [0] * count)
    return ampo_advantage(rollouts_of(inputs["reward"], [[1]] * count, groups, steps=steps), **options)


def options_of(hyper: dict[str, Any]) -> dict[str, Any]:
    return {"epsilon": hyper["eps"], "tolerance": hyper["tol"], "modes": hyper["n_modes"]}


def test_advantages_agree(golden_algorithm: Any, agree: Any):
    file = golden_algorithm("ampo_advantage")
    for case in file["cases"]:
        options = options_of(case["hyper"])
        got = advantages(case["inputs"], **options).advantage
        agree(got, case["expected"]["advantage"], file["tolerance"], case["id"])
        paper = advantages(case["inputs"], **options, length_branch="samples").advantage
        agree(paper, case["expected"]["advantage_paper_branch"], file["tolerance"], case["id"])


def test_branches_agree(golden_algorithm: Any):
    for case in golden_algorithm("ampo_advantage")["cases"]:
        inputs, hyper = case["inputs"], case["hyper"]
        reward, length, mode = (np.array(inputs[name]) for name in ("reward", "length", "mode"))
        for members in members_of(numbered(inputs["group"])):
            branch, _ = mode_part(
                reward[members],
                length[members],
                mode[members],
                modes=hyper["n_modes"],
                length_branch="mode_means",
                tolerance=hyper["tol"],
                epsilon=hyper["eps"],
            )
            expected = case["expected"]["branch"][str(inputs["group"][members[0]])]
            assert branch == expected.removeprefix("sample_only:"), case["id"]


def test_the_first_batch_of_advantages_agrees(golden_algorithm: Any, agree: Any):
    file = golden_algorithm("batch1_ampo_adpo_gigpo")
    data = file["data"]["ampo_advantage"]
    for case in data["cases"]:
        got = advantages(case, epsilon=data["eps"])
        agree(got.advantage, case["advantage"], file["tolerance"], case["tag"])
        used = [name for name in ("reward", "length") if got.metrics[f"compared_by_{name}"] == 1]
        assert (used or ["sample"])[0] in case["branch"], case["tag"]


def test_length_factors_agree(golden_algorithm: Any, agree: Any):
    file = golden_algorithm("ampo_reward")
    target, span = file["hyper"]["target"], file["hyper"]["alpha_den"] / file["hyper"]["alpha_num"]
    judged = [case for case in file["cases"] if case["expected"]["length"] is not None]
    assert judged
    for case in judged:
        got = length_factor(case["inputs"]["answer_tokens"], target=target, span=span)
        agree(got, case["expected"]["length"], file["tolerance"], case["id"])


def test_answer_rewards_and_their_products_agree(golden_algorithm: Any, agree: Any):
    file = golden_algorithm("ampo_reward")
    judged = [case for case in file["cases"] if case["expected"]["answer"] is not None]
    assert judged
    for case in judged:
        inputs, expected = case["inputs"], case["expected"]
        got = change_reward(inputs["before"], inputs["after"])
        agree(got, expected["answer"], file["tolerance"], case["id"])
        if inputs["format_ok"] and expected["length"] is not None:
            length = length_factor(inputs["answer_tokens"], target=250.0, span=75.0)
            agree(got * length, expected["total"], file["tolerance"], case["id"])


def test_the_first_batch_of_length_factors_agrees(golden_algorithm: Any, agree: Any):
    file = golden_algorithm("batch1_ampo_adpo_gigpo")
    for row in file["data"]["ampo_reward"]["length"]:
        got = length_factor(row["answer_tokens"], target=250.0, span=75.0)
        agree(got, row["r"], file["tolerance"], str(row))


def test_formats_agree(golden_algorithm: Any):
    for case in golden_algorithm("ampo_format")["cases"]:
        got, expected = check(case["inputs"]["text"]), case["expected"]
        assert (got.ok, got.mode, got.answer) == (expected["ok"], expected["mode"], expected["answer"]), case


def test_the_strict_check_differs_where_the_specification_says(golden_algorithm: Any):
    for case in golden_algorithm("ampo_format")["cases"]:
        ok = case["expected"]["ok"] and not case["tag"].startswith(STRICTER)
        assert check(case["inputs"]["text"], strict=True).ok is ok, case["tag"]
