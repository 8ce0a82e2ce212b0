"""Preference losses and fine-tuning against TRL's trainers."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.nn.functional import logsigmoid

from agentevol.core.algorithms.contract import Batch
from agentevol.learn.algorithms.imitation.sft import sft
from agentevol.learn.algorithms.preference.dpo import dpo
from agentevol.learn.algorithms.preference.ipo import ipo
from agentevol.learn.algorithms.preference.kto import kto, kto_losses, reference_point
from agentevol.learn.algorithms.preference.orpo import log_odds_ratio, orpo
from agentevol.learn.algorithms.testing import batch_of

pytestmark = pytest.mark.golden

Rows = list[list[float]]


def padded(rows: Rows, width: int) -> Rows:
    return [row + [0.0] * (width - len(row)) for row in rows]


def pairs_of(inputs: dict[str, Any], columns: tuple[str, ...]) -> tuple[Batch, list[list[float]], int]:
    """A batch of the chosen rows and then the rejected ones, its mask, and the number of pairs."""
    width = max(len(inputs[f"{side}_mask"][0]) for side in ("chosen", "rejected"))
    count = len(inputs["chosen_mask"])
    both = {
        name: padded(inputs[f"chosen_{name}"], width) + padded(inputs[f"rejected_{name}"], width)
        for name in ("mask", *columns)
    }
    mask = both.pop("mask")
    batch = batch_of(
        both.pop("logp"),
        mask,
        unit=[*range(count), *range(count)],
        side=[1] * count + [-1] * count,
        **both,
    )
    return batch, mask, count


def gradient_rows(batch: Batch, value: torch.Tensor, mask: Any) -> torch.Tensor:
    """(B, T) gradient by the log-probability of each token, 0 off the mask."""
    value.backward()
    assert batch.logp.grad is not None
    chosen = torch.as_tensor(mask, dtype=torch.bool)
    return torch.zeros(chosen.shape, dtype=torch.float64).masked_scatter(chosen, batch.logp.grad)


def cases(file: dict[str, Any], *kinds: str) -> list[dict[str, Any]]:
    found = [case for case in file["cases"] if case["loss_type"] in kinds]
    assert found
    return found


def test_dpo_hinge_and_ipo(golden_algorithm: Callable[[str], Any], agree: Callable[..., None]):
    file = golden_algorithm("trl_preference")
    for case in cases(file, "dpo", "dpo_hinge", "ipo"):
        expected, beta = case["expected"], case["hyper"]["beta"]
        batch, mask, count = pairs_of(case["inputs"], ("logp", "ref_logp"))
        normalised = case["hyper"]["length_normalized"]
        if case["loss_type"] == "ipo":
            loss = ipo(batch, beta=beta, length_normalize=normalised)
        else:
            form = "hinge" if case["loss_type"] == "dpo_hinge" else "sigmoid"
            loss = dpo(batch, beta=beta, form=form, length_normalize=normalised)
        what, tolerance = case["id"], file["tolerance"]
        log_ratio = batch.sums(batch.logp - batch.ref_logp).detach()
        agree(loss.value.detach(), expected["loss"], tolerance, f"{what} loss")
        agree(log_ratio[:count], expected["chosen_logratio"], tolerance, f"{what} chosen")
        agree(log_ratio[count:], expected["rejected_logratio"], tolerance, f"{what} rejected")
        agree(
            loss.metrics["log_ratio_chosen"],
            sum(expected["chosen_logratio"]) / count,
            tolerance,
            f"{what} metric",
        )
        gradient = gradient_rows(batch, loss.value, mask)
        for side, rows in (("chosen", gradient[:count]), ("rejected", gradient[count:])):
            theirs = expected[f"grad_{side}_logp"]
            agree(rows[:, : len(theirs[0])], theirs, tolerance, f"{what} gradient, {side}")


def test_kto(golden_algorithm: Callable[[str], Any], agree: Callable[..., None]):
    file = golden_algorithm("trl_preference")
    for case in cases(file, "kto"):
        inputs, expected, tolerance = case["inputs"], case["expected"], file["tolerance"]
        batch = batch_of(inputs["logp"], inputs["mask"], ref_logp=inputs["ref_logp"])
        other = batch_of(
            inputs["mismatched_logp"], inputs["mismatched_mask"], ref_logp=inputs["mismatched_ref_logp"]
        )
        point = reference_point(other.sums(other.logp - other.ref_logp))
        losses = kto_losses(
            batch.sums(batch.logp - batch.ref_logp),
            point,
            torch.tensor(inputs["label"]),
            **case["hyper"],
        )
        agree(point, expected["kl"], tolerance, f"{case['id']} reference point")
        whole = _with_mismatched(inputs)
        loss = kto(whole, kto_reference="mismatched", **case["hyper"])
        agree(loss.value.detach(), expected["loss"], tolerance, f"{case['id']} loss of one batch")
        agree(loss.metrics["reference_point"], expected["kl"], tolerance, f"{case['id']} point of one batch")
        agree(losses.mean().detach(), expected["loss"], tolerance, f"{case['id']} loss")
        gradient = gradient_rows(batch, losses.mean(), inputs["mask"])
        agree(gradient, expected["grad_logp"], tolerance, f"{case['id']} gradient")


def _with_mismatched(inputs: dict[str, Any]) -> Batch:
    """Labelled rows and mismatched ones, of side 0, in one batch."""
    width = max(len(inputs["logp"][0]), len(inputs["mismatched_logp"][0]))

    def both(name: str) -> list[list[float]]:
        rows = [*inputs[name], *inputs[f"mismatched_{name}"]]
        return [[*row, *[0.0] * (width - len(row))] for row in rows]

    labels = [1 if desirable else -1 for desirable in inputs["label"]]
    count = len(labels)
    return batch_of(
        both("logp"),
        both("mask"),
        ref_logp=both("ref_logp"),
        side=[*labels, *[0] * len(inputs["mismatched_logp"])],
        unit=[*range(count), *range(len(inputs["mismatched_logp"]))],
    )


def test_orpo(golden_algorithm: Callable[[str], Any], agree: Callable[..., None]):
    # TRL's likelihood covers the prompt, which is not learnt here: it is `sft` on all tokens, and the rest of
    # the loss is the odds term
    file = golden_algorithm("trl_preference")
    for case in cases(file, "orpo"):
        inputs, expected, tolerance = case["inputs"], case["expected"], file["tolerance"]
        batch, _, count = pairs_of(inputs, ("logp",))
        loss = orpo(batch, **case["hyper"])
        means = batch.sums(batch.logp).detach() / batch.lengths
        odds = log_odds_ratio(means[:count], means[count:])
        nll = sft(batch_of(inputs["nll_logp"], inputs["nll_mask"])).value.item()
        agree(nll, expected["nll"], tolerance, f"{case['id']} likelihood")
        agree(means[:count], expected["chosen_avg_logp"], tolerance, f"{case['id']} chosen")
        agree(means[count:], expected["rejected_avg_logp"], tolerance, f"{case['id']} rejected")
        agree(odds, expected["log_odds_ratio"], tolerance, f"{case['id']} odds")
        agree(
            loss.value.item() - loss.metrics["nll"] + nll,
            expected["loss"],
            tolerance,
            f"{case['id']} loss",
        )


def test_sft(golden_algorithm: Callable[[str], Any], agree: Callable[..., None]):
    file = golden_algorithm("trl_preference")
    for case in cases(file, "sft"):
        batch = batch_of(case["inputs"]["logp"], case["inputs"]["mask"])
        assert batch.totals.tokens == case["expected"]["masked_tokens"]
        agree(sft(batch).value.detach(), case["expected"]["loss"], file["tolerance"], case["id"])


def sequence_pairs(data: dict[str, Any]) -> Batch:
    """Pairs known by their log-ratios and lengths alone: each ratio is spread evenly over the tokens."""
    lengths = [int(n) for n in data["n_chosen"] + data["n_rejected"]]
    ratios = data["chosen_logratio"] + data["rejected_logratio"]
    count, width = len(data["n_chosen"]), max(lengths)
    return batch_of(
        [[ratio / length] * width for ratio, length in zip(ratios, lengths, strict=True)],
        [[column < length for column in range(width)] for length in lengths],
        ref_logp=[0.0] * len(lengths),
        unit=[*range(count), *range(count)],
        side=[1] * count + [-1] * count,
    )


def test_the_first_batch(golden_algorithm: Callable[[str], Any], agree: Callable[..., None]):
    file = golden_algorithm("batch1_trl")
    data, tolerance = file["data"], file["tolerance"]
    for name, loss in (
        ("dpo_sigmoid", lambda batch, beta: dpo(batch, beta=beta)),
        ("dpo_hinge", lambda batch, beta: dpo(batch, beta=beta, form="hinge")),
        ("dpo_ipo", lambda batch, beta: ipo(batch, beta=beta)),
    ):
        value = loss(sequence_pairs(data[name]), data[name]["beta"]).value.detach()
        agree(value, data[name]["loss"], tolerance, name)
    kto = data["kto"]
    losses = kto_losses(
        torch.tensor(kto["logratio"], dtype=torch.float64),
        kto["kl"],
        torch.tensor(kto["label"]),
        beta=kto["beta"],
        desirable_weight=kto["w_d"],
        undesirable_weight=kto["w_u"],
    )
    agree(losses.mean(), kto["loss"], tolerance, "kto")
    given = data["orpo"]
    chosen, rejected = (
        torch.tensor(given[f"{side}_avg_logp"], dtype=torch.float64) for side in ("chosen", "rejected")
    )
    odds_term = -given["beta"] * logsigmoid(log_odds_ratio(chosen, rejected)).mean()
    agree(given["nll"] + odds_term, given["loss"], tolerance, "orpo")


@pytest.mark.parametrize("change", ["beta", "mask", "sides"])
def test_the_comparison_notices_a_change(
    change: str, golden_algorithm: Callable[[str], Any], agree: Callable[..., None]
):
    file = golden_algorithm("trl_preference")
    case = next(case for case in cases(file, "dpo") if case["tag"] == "random policy and reference")
    inputs, beta = dict(case["inputs"]), case["hyper"]["beta"]
    if change == "beta":
        beta *= 1.01
    elif change == "mask":
        row = inputs["chosen_mask"][0]
        at = row.index(1)
        inputs["chosen_mask"] = [[*row[:at], 0, *row[at + 1 :]], *inputs["chosen_mask"][1:]]
    else:
        swap = {"chosen": "rejected", "rejected": "chosen"}
        sides = {key: key.split("_", 1) for key in inputs}
        inputs = {f"{swap[side]}_{rest}": inputs[key] for key, (side, rest) in sides.items()}
    loss = dpo(pairs_of(inputs, ("logp", "ref_logp"))[0], beta=beta)
    with pytest.raises(AssertionError, match="beyond the tolerance"):
        agree(loss.value.detach(), case["expected"]["loss"], file["tolerance"], "changed")
