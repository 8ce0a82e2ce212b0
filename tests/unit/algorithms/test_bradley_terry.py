"""The loss of reward models from pairs, by hand."""

from dataclasses import replace
from math import exp, log, nan

import pytest
import torch

from agentevol.core.algorithms.contract import Batch
from agentevol.core.algorithms.registry import algorithm, objective
from agentevol.learn.algorithms.reward_model.bradley_terry import bradley_terry
from agentevol.learn.algorithms.reward_model.head_labels import bootstrap
from agentevol.learn.algorithms.testing import batch_of, example_batch, part_of


def pairs(scores: list[list[float]], labels: list[list[float]] | None = None, **columns) -> Batch:
    """Rows of scores by head: the chosen side of a pair, then its rejected one."""
    count = len(scores)
    given = {"unit": [number // 2 for number in range(count)], "side": [1, -1] * (count // 2), **columns}
    if labels is not None:
        given["label"] = [[row] for row in labels]
    return batch_of([[0.0]] * count, [[True]] * count, head=[[row] for row in scores], **given)


def value(batch: Batch, **options) -> float:
    return bradley_terry(batch, **{"heads": 1, **options}).value.item()


# sigmoid(ln 3) = 3/4 and sigmoid(-ln 3) = 1/4, so the loss of both pairs is (ln 4/3 + ln 4) / 2.
SCORES = [[log(3)], [0.0], [0.0], [log(3)]]
LOSS = (log(4 / 3) + log(4)) / 2


def test_the_loss_is_minus_the_log_probability_that_the_chosen_side_wins():
    assert value(pairs(SCORES)) == pytest.approx(LOSS, abs=1e-12)


@pytest.mark.parametrize(
    "changed",
    [
        pairs([[log(3)], [0.0], [0.1], [log(3)]]),
        pairs(SCORES, side=[1, -1, -1, 1]),
        pairs(SCORES, margin=[0.1] * 4),
        pairs(SCORES, labels=[[1], [0], [nan], [nan]]),
    ],
)
def test_the_oracle_notices_a_change(changed: Batch):
    assert value(changed, margin=1.0) != pytest.approx(LOSS, abs=1e-3)


def test_equal_scores_lose_ln_2_and_half_of_the_accuracy():
    loss = bradley_terry(pairs([[0.7], [0.7]]), heads=1)
    assert loss.value.item() == pytest.approx(log(2), abs=1e-12)
    assert loss.metrics["accuracy"] == 0.5


def test_a_margin_is_subtracted_and_the_centre_pulls_both_scores_to_zero():
    # -ln sigmoid(2 - 1 - 1 * 1) = ln 2, and 0.1 * (2 + 1)^2 = 0.9
    data = pairs([[2.0], [1.0]], margin=[1.0, 1.0])
    assert value(data, margin=1.0) == pytest.approx(log(2), abs=1e-12)
    assert value(data, margin=1.0, centre=0.1) == pytest.approx(log(2) + 0.9, abs=1e-12)
    assert value(data) == pytest.approx(log(1 + exp(-1)), abs=1e-12)  # nobody asked for the margin


def test_shifting_all_scores_changes_nothing_but_the_centre():
    shifted = [[score + 5] for (score,) in SCORES]
    assert value(pairs(shifted)) == pytest.approx(LOSS, abs=1e-12)
    assert value(pairs(shifted), centre=0.01) > value(pairs(SCORES), centre=0.01) + 0.1


def test_swapping_the_sides_turns_the_difference_round():
    # -ln sigmoid(d) + ln sigmoid(-d) = -d
    one, other = pairs([[1.3], [0.2]]), pairs([[0.2], [1.3]])
    assert value(one) - value(other) == pytest.approx(-1.1, abs=1e-12)


@pytest.mark.parametrize("difference", [-50.0, -1.0, 0.0, 1.0, 30.0])
def test_the_gradient_by_the_difference_lies_between_minus_1_and_0(difference: float):
    data = pairs([[difference], [0.0]])
    bradley_terry(data, heads=1).value.backward()
    assert data.head.grad is not None
    chosen, rejected = data.head.grad[:, 0].tolist()
    assert chosen == pytest.approx(-1 / (1 + exp(difference)), rel=1e-12)
    assert -1 <= chosen < 0
    assert rejected == -chosen


def test_labels_say_which_side_is_better_in_each_objective():
    # Head 0 agrees with the sides, head 1 says the opposite, head 2 does not know of the second pair:
    #   head 0: (ln 4/3 + ln 4) / 2, head 1: (ln 4 + ln 4/3) / 2, head 2: ln 4/3 of one pair; mean over heads
    labels = [[1, 0.2, 3], [0, 0.5, 1], [1, -2, nan], [0, -1, 1]]
    data = pairs([row * 3 for row in SCORES], [[*row] for row in labels])
    data = replace(data, totals=replace(data.totals, labels=(4, 4, 2)))
    loss = bradley_terry(data, heads=1)
    assert loss.value.item() == pytest.approx((LOSS + LOSS + log(4 / 3)) / 3, abs=1e-12)
    assert [loss.metrics[f"accuracy_{head}"] for head in range(3)] == [0.5, 0.5, 1.0]
    loss.value.backward()
    assert data.head.grad is not None
    assert data.head.grad[2:, 2].tolist() == [0.0, 0.0]
    assert (data.head.grad[2:, :2] != 0).all()


def test_a_head_without_any_label_is_not_part_of_the_mean():
    data = pairs([row * 2 for row in SCORES], [[1, nan], [0, nan]] * 2)
    assert value(data) == pytest.approx(LOSS, abs=1e-12)
    nobody = pairs(SCORES, [[nan]] * 4)
    assert value(nobody) == 0.0


def test_a_margin_does_not_count_where_a_label_says_the_opposite():
    data = pairs([[1.0], [0.0]], [[0], [1]], margin=[3.0, 3.0])
    assert value(data, margin=1.0) == pytest.approx(log(1 + exp(1)), abs=1e-12)


def test_members_learn_from_their_own_tasks_and_all_heads_of_a_member_from_the_same():
    # 40 pairs of 20 groups, 2 objectives x 3 members, scores 0: gradients are -1/2 / 40 / 6 times the draw
    groups = [number // 4 for number in range(80)]
    data = pairs([[0.0] * 6] * 80, group=groups)
    bradley_terry(data, heads=3, seed=5).value.backward()
    assert data.head.grad is not None
    drawn = (data.head.grad[::2] * -2 * 40 * 6).round()
    expected = bootstrap(torch.arange(20).repeat_interleave(2), 3, 5).repeat(1, 2)
    assert torch.equal(drawn, expected.double())
    assert not torch.equal(drawn[:, 0], drawn[:, 1])


def test_a_bootstrap_draws_each_group_once_on_average_and_some_never():
    counts = bootstrap(torch.arange(10_000), 4, 0).double()
    # Poisson of mean and variance 1: P(0) = 1/e; 40,000 draws, so 4 standard errors are 0.02 and 0.01
    assert counts.mean().item() == pytest.approx(1.0, abs=0.02)
    assert counts.var().item() == pytest.approx(1.0, abs=0.05)
    assert (counts == 0).double().mean().item() == pytest.approx(exp(-1), abs=0.01)
    correlations = torch.corrcoef(counts.T) - torch.eye(4)
    assert correlations.abs().max() < 0.05


def test_what_a_member_draws_depends_on_seed_and_group_and_on_nothing_else():
    whole = bootstrap(torch.arange(100), 4, 0)
    assert torch.equal(bootstrap(torch.tensor([7, 99]), 4, 0), whole[[7, 99]])
    assert not torch.equal(bootstrap(torch.arange(100), 4, 1), whole)
    assert torch.equal(bootstrap(torch.arange(100), 1, 0), torch.ones(100, 1))


def test_gradients_of_micro_batches_add_up():
    loss = objective("bradley_terry", {"centre": 0.1, "margin": 1.0}).loss
    whole = example_batch(algorithm("bradley_terry"), seed=1)
    loss(whole).value.backward()
    together = []
    for unit in range(4):
        part = part_of(whole, [2 * unit, 2 * unit + 1])
        part = replace(part, head=part.head.detach().requires_grad_())
        loss(part).value.backward()
        together.append(part.head.grad)
    assert torch.allclose(torch.cat(together), whole.head.grad, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize(
    ("batch", "message"),
    [
        (pairs([[0.0], [0.0]], side=[1, 1]), "a pair is one chosen and one rejected sequence"),
        (pairs([[0.0], [0.0]], unit=[0, 1]), "a pair is one chosen and"),
        (pairs([[0.0], [0.0]], side=[0, 0]), "a pair is one chosen and"),
        (pairs([[0.0] * 3, [0.0] * 3]), "3 outputs cannot be shared by objectives with 2 heads each"),
    ],
)
def test_what_is_no_pair_is_an_error(batch: Batch, message: str):
    with pytest.raises(ValueError, match=message):
        bradley_terry(batch, heads=2)


def test_the_score_of_a_sequence_is_that_of_its_last_learnt_token():
    data = batch_of(
        [[0.0] * 3] * 4,
        [[1, 0, 1], [1, 1, 0], [0, 1, 1], [1, 0, 0]],
        head=[
            [[9.0], [9.0], [log(3)]],
            [[9.0], [0.0], [9.0]],
            [[9.0], [9.0], [0.0]],
            [[log(3)], [9.0], [9.0]],
        ],
        unit=[0, 0, 1, 1],
        side=[1, -1, 1, -1],
    )
    loss = bradley_terry(data, heads=1).value
    loss.backward()
    assert loss.item() == pytest.approx(LOSS, abs=1e-12)
    assert data.head.grad is not None
    assert (data.head.grad[:, 0] != 0).tolist() == [False, True, False, True, False, True, True]


def test_a_soft_pair_pulls_to_its_log_odds():
    # scores apart by ln 3, p = 3/4: -(3/4 log 3/4 + 1/4 log 1/4), the entropy, and no gradient
    batch = pairs([[log(3)], [0.0]], preference=[0.75, 0.75])
    loss = bradley_terry(batch, heads=1).value
    assert loss.item() == pytest.approx(-(0.75 * log(0.75) + 0.25 * log(0.25)), abs=1e-12)
    (gradient,) = torch.autograd.grad(loss, batch.head)
    assert gradient.abs().max().item() == pytest.approx(0, abs=1e-12)
