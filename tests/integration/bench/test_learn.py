"""The comparison of learners gives every side the same work, and counts it by hand."""

from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from agentevol.cli.benchmarks.learn.flops import forward_flops, layer_weights, peak_flops, training_flops
from agentevol.cli.benchmarks.learn.lanes import Lane, Shape, lanes
from agentevol.cli.benchmarks.learn.main import line, losses_beside, parse
from agentevol.cli.benchmarks.learn.measure import Measured, figures, measure
from agentevol.cli.benchmarks.learn.sequences import for_the_learner, make_units, tokens_per_step
from agentevol.cli.benchmarks.learn.sides import Learnt, columns, make_model
from agentevol.learn.batches.assembly import Assembly
from agentevol.learn.batches.batch_plan import plan

TINY = Shape(vocabulary=10, hidden=4, intermediate=8, layers=2, heads=2, kv_heads=1, positions=1024)


def tiny(name: str) -> Lane:
    """A lane as it is, with a model of few weights on the CPU."""
    lane = lanes(cuda=True)[name]
    length = None if lane.length is None else 24
    small = {"shape": TINY, "sequences_per_step": 4, "trl_sequences": 2, "learning_rate": 1e-2}
    return replace(lane, device="cpu", length=length, **small)


def test_flops_by_hand():
    # queries and output 4 x 4 each, keys and values 4 x 2 each, gate, up and down 4 x 8 each
    assert layer_weights(TINY) == 16 + 16 + 8 + 8 + 3 * 32
    # 2 flops x 2 layers x 144 weights x 3 tokens; 4 flops x 2 layers x 4 numbers x (1 + 2 + 3) pairs of
    # tokens; 2 flops x 4 x 10 weights of the head x 2 learnt tokens
    assert forward_flops(TINY, [3], learnt=2) == 1728 + 192 + 160
    # two sequences of 3 are not a sequence of 6: their tokens do not meet
    assert forward_flops(TINY, [3, 3], learnt=4) == 2 * 2080
    assert forward_flops(TINY, [6], learnt=4) == 2 * 2080 + 4 * 2 * 4 * (21 - 12)


def test_learning_is_three_readings_and_a_reference_one_more():
    assert training_flops(TINY, "sft", [3], 2) == 3 * 2080
    assert training_flops(TINY, "dpo", [3], 2) == 4 * 2080


def test_a_device_is_known_by_its_most_specific_name():
    assert peak_flops("NVIDIA H100 80GB HBM3") == 989e12
    assert peak_flops("NVIDIA H100 PCIe") == 756e12
    assert peak_flops("NVIDIA A100-SXM4-80GB") == 312e12
    assert peak_flops("Some Other Device") is None


def test_lanes_of_4096_tokens_in_half_precision_are_for_cuda():
    assert list(lanes(cuda=False)) == ["sft", "dpo"]
    long = [lanes(cuda=True)[name] for name in ("sft-4096", "dpo-4096")]
    assert {(lane.device, lane.dtype, lane.length) for lane in long} == {("cuda", "bf16", 4096)}
    for lane in lanes(cuda=True).values():
        assert lane.sequences_per_step % lane.trl_sequences == 0
        assert all(
            len(sequence.token_ids) <= lane.pass_tokens for unit in make_units(lane, 1) for sequence in unit
        )
    assert (
        sum(len(sequence.token_ids) for sequence in make_units(long[1], 1)[0]) == 8192
    )  # a pair is one pass


@pytest.mark.parametrize("name", ["sft", "dpo", "dpo-4096"])
def test_the_learner_takes_the_sequences_of_each_step_that_the_others_take(name: str):
    lane = tiny(name)
    units = make_units(lane, steps=3)
    sequences = for_the_learner(units)
    atoms = Assembly(sequences).atoms("unit")
    steps = plan(sequences, atoms, tokens_per_step(lane, units), epochs=1, seed=0)
    per_step = lane.sequences_per_step // len(units[0])
    wanted = [
        [sequence.trajectory_id for unit in units[first : first + per_step] for sequence in unit]
        for first in range(0, len(units), per_step)
    ]
    assert len(wanted) == 3
    assert [[sequences[index].trajectory_id for index in step] for step in steps] == wanted
    assert [sequence.trajectory_id for sequence in sequences] != [name for step in wanted for name in step]


def test_pairs_have_one_prompt_and_differ_in_what_follows():
    (chosen, rejected), *_ = make_units(lanes(cuda=False)["dpo"], 1)
    first = int(chosen.mask.argmax())
    assert first >= 150
    assert int(rejected.mask.argmax()) == first
    np.testing.assert_array_equal(chosen.token_ids[:first], rejected.token_ids[:first])
    assert chosen.mask[first:].all()
    assert chosen.token_ids[first:].tolist() != rejected.token_ids[first:].tolist()
    assert (chosen.unit, chosen.side, rejected.side) == (rejected.unit, 1, -1)


def test_trl_is_given_the_same_tokens():
    unit = make_units(tiny("dpo-4096"), 1)[0]
    found = columns([unit])
    for sequence, side in zip(unit, ("chosen", "rejected"), strict=True):
        words = (found["prompt"][0] + found[side][0]).split()
        assert [int(word.strip("<>")) for word in words] == sequence.token_ids.tolist()
    (sequence,) = make_units(tiny("sft"), 1)[0]
    assert columns([[sequence]]) == {
        "input_ids": [sequence.token_ids.tolist()],
        "completion_mask": [sequence.mask.astype(int).tolist()],
    }


@pytest.mark.parametrize(("name", "sides"), [("sft", ["learner", "padded"]), ("dpo-4096", ["learner"])])
def test_sides_learn_the_same(tmp_path: Path, name: str, sides: list[str]):
    lane = tiny(name)
    make_model(lane.shape, tmp_path)
    found = {side: measure(side, lane, 2, tmp_path) for side in sides}
    assert [len(measured.losses) for measured in found.values()] == [2] * len(sides)
    for side in sides:
        losses_beside(lane, found["learner"], side, found[side])
    if lane.algorithm == "dpo":
        assert found["learner"].losses[0] == pytest.approx(np.log(2), abs=1e-3)  # the reference is the start


@pytest.mark.skipif(find_spec("trl") is None, reason="TRL is not installed")
@pytest.mark.parametrize("name", ["sft", "dpo"])
def test_trl_learns_the_same(tmp_path: Path, name: str):
    lane = replace(tiny(name), shape=replace(TINY, vocabulary=200, hidden=16))
    make_model(lane.shape, tmp_path)
    ours, theirs = (measure(side, lane, 3, tmp_path) for side in ("learner", "trl"))
    assert "apart" in losses_beside(lane, ours, "trl", theirs)


def measured(*losses: float, utilisation: float | None = None) -> Measured:
    return Measured(2000.0, 1000.0, 700.0, 400.0, 0.5, utilisation, losses)


def test_sides_that_learn_something_else_are_not_compared():
    lane = tiny("dpo")
    said = losses_beside(lane, measured(0.69315, 0.5), "trl", measured(0.69315, 0.50001))
    assert said == "the losses of the first steps are 0.69315 0.50000 and 0.69315 0.50001, 2e-05 apart"
    with pytest.raises(RuntimeError, match="not do the same work"):
        losses_beside(lane, measured(0.69315, 0.5), "trl", measured(0.69315, 0.51))
    with pytest.raises(RuntimeError, match="not do the same work"):
        losses_beside(lane, measured(*[0.5] * 4), "trl", measured(*[0.5] * 5))


def test_utilisation_is_shown_where_the_peak_is_known():
    assert "utilisation 41.5%" in line(measured(0.5, utilisation=0.415))
    assert "300 beyond its libraries" in line(measured(0.5))
    assert "utilisation" not in line(measured(0.5))


def test_figures_are_tokens_and_flops_over_the_time_taken():
    lane = tiny("dpo-4096")
    units = make_units(lane, 1)
    found = figures(lane, units, Learnt(wall=2.0, cpu=4.0, losses=[0.7]), 10.0)
    assert (found.per_s, found.per_cpu_s) == (4 * 24 / 2, 4 * 24 / 4)
    flops = training_flops(TINY, "dpo", [24] * 4, learnt=4 * 21)
    assert found.tflops_per_s == pytest.approx(flops / 2 / 1e12)
    assert (found.libraries_mib, found.losses) == (10.0, (0.7,))


def test_lanes_are_chosen_by_name():
    assert parse(["--lanes", "dpo", "--trl-sequences", "32"]).lanes == ["dpo"]
    with pytest.raises(SystemExit):
        parse(["--lanes", "grpo"])
