"""Muon on a CPU beside torch's own."""

import pytest
import torch

from agentevol.learn.muon import Muon, orthogonal

SHAPES = [(24, 64), (64, 24), (32, 32)]
RATE, DECAY = 0.02, 0.1


def moved(kind: str, shape: tuple[int, int], steps: int) -> torch.Tensor:
    """How far `steps` steps along random gradients move a matrix."""
    draw = torch.Generator().manual_seed(3)
    weight = torch.nn.Parameter(torch.randn(shape, generator=draw))
    start = weight.detach().clone()
    if kind == "torch":
        optimiser = torch.optim.Muon([weight], RATE, DECAY, adjust_lr_fn="match_rms_adamw")
    else:
        optimiser = Muon([weight], RATE, DECAY)
    for _ in range(steps):
        weight.grad = torch.randn(shape, generator=draw)
        optimiser.step()
    return weight.detach() - start


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("steps", [1, 4])
def test_a_step_is_torchs_but_for_the_rounding_of_bfloat16(shape: tuple[int, int], steps: int):
    ours, theirs = moved("ours", shape, steps), moved("torch", shape, steps)
    assert 0 < (ours - theirs).norm() < 0.02 * theirs.norm()


@pytest.mark.parametrize("shape", SHAPES)
def test_updates_are_nearly_orthogonal(shape: tuple[int, int]):
    gradient = torch.randn(shape, generator=torch.Generator().manual_seed(1))
    settings = Muon([torch.nn.Parameter(gradient)], RATE, DECAY).param_groups[0]
    values = torch.linalg.svdvals(orthogonal(gradient, settings))
    assert 0.6 < values.min() < values.max() < 1.25
    assert torch.linalg.svdvals(gradient / gradient.norm()).max() < 0.6  # they were far from it


def test_its_state_is_that_of_torchs():
    weight = torch.nn.Parameter(torch.eye(3))
    first = Muon([weight], RATE, DECAY)
    weight.grad = torch.ones(3, 3)
    first.step()
    second = torch.optim.Muon([weight], RATE, DECAY, adjust_lr_fn="match_rms_adamw")
    second.load_state_dict(first.state_dict())
    assert torch.equal(second.state[weight]["momentum_buffer"], torch.full((3, 3), 0.05))


def test_a_weight_without_gradient_stays():
    weight = torch.nn.Parameter(torch.eye(3))
    Muon([weight], RATE, DECAY).step()
    assert torch.equal(weight.detach(), torch.eye(3))
