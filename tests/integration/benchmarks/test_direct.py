"""Worlds of one turn played in one batch: what is recorded is what was sampled."""

from types import SimpleNamespace

import pytest
import torch

from benchmarks.direct import sampled

END, VOCABULARY = 0, 4


class Counter:
    """A model that says what comes after what it read last, 1, 2, 3, END, mostly or surely."""

    def __call__(self, read_BT: torch.Tensor, **_: object) -> SimpleNamespace:
        following = torch.where(read_BT < VOCABULARY - 1, read_BT + 1, END)
        probability = torch.full((*read_BT.shape, VOCABULARY), 0.25 / 3)
        probability.scatter_(2, following[..., None], 0.75)
        return SimpleNamespace(logits=probability.log() if self.sure is None else self.sure * probability)

    sure: float | None = 1e6


def test_sampling_ends_with_the_end_token_of_each_row():
    said = sampled(Counter(), [[9, 1], [9, 2], [9, 3]], END, 8, torch.Generator())  # type: ignore[arg-type]
    assert [ids for ids, _ in said] == [[2, 3, 0], [3, 0], [0]]
    assert [logp for _, logp in said] == [[0.0] * 3, [0.0] * 2, [0.0]]
    assert [ids for ids, _ in sampled(Counter(), [[9, 1]], END, 2, torch.Generator())] == [[2, 3]]  # type: ignore[arg-type]


def test_a_token_comes_as_often_as_its_log_probability_says():
    model = Counter()
    model.sure = None
    said = sampled(model, [[9, 1]] * 4000, END, 1, torch.Generator().manual_seed(0))  # type: ignore[arg-type]
    share = sum(ids == [2] for ids, _ in said) / 4000
    assert share == pytest.approx(0.75, abs=0.03)  # four standard errors
    found = {ids[0]: logp[0] for ids, logp in said}
    assert found[2] == pytest.approx(torch.tensor(0.75).log().item(), abs=1e-6)
    assert found[3] == pytest.approx(torch.tensor(0.25 / 3).log().item(), abs=1e-6)
