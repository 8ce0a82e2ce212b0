"""Gradient of one optimiser step, exact for any number of forward passes.

Most losses are sums over sequences, pairs or groups: these are packed into micro-batches and each adds its
part. If the unit of a loss does not fit into one, two passes are made: the first computes the
log-probabilities of the whole step, from which the loss and its gradients by each of them follow; the second
backpropagates these gradients into the weights.
"""

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

import torch

from agentevol.core.algorithms.contract import Integers, Loss, Objective
from agentevol.learn.batches.assembly import Assembly, OptimiserBatch
from agentevol.learn.batches.batch_plan import tokens_of
from agentevol.learn.batches.packing import packed
from agentevol.learn.distributed.forward_passes import Passes, shared_out
from agentevol.learn.distributed.ranks import ALONE, Ranks
from agentevol.learn.network.network import Network, Outputs

MAXIMUM = "_max"

Gradients = Mapping[str, torch.Tensor | None]
"""Gradients by column; None where the loss does not depend on it."""


@dataclass
class Step:
    """Sums and metrics of one optimiser step."""

    loss: float = 0.0
    nll: float = 0.0
    """Sum of the negative log-probabilities of the learnt tokens, unweighted."""
    correct: int = 0
    metrics: dict[str, float] = field(default_factory=dict[str, float])
    by_environment: dict[str, list[float]] = field(default_factory=dict[str, list[float]])
    """`nll` and number of learnt tokens by environment, over the training sequences that name theirs."""

    def add(
        self,
        loss: Loss,
        outputs: Mapping[str, torch.Tensor],
        correct: int,
        environments: Sequence[tuple[str, int]] = (),
    ) -> None:
        """Add a part of the step; `environments` are those of its training sequences, each with its learnt
        tokens.
        """
        nll = -outputs["logp"].detach().sum().item() if "logp" in outputs else 0.0
        own = _by_environment(outputs, environments)
        self.merge(Step(loss.value.item(), nll, correct, dict(loss.metrics), own))

    def merge(self, other: "Step") -> None:
        """Add another part of the step."""
        self.loss += other.loss
        self.nll += other.nll
        self.correct += other.correct
        merge_sums(self.by_environment, other.by_environment)
        for name, value in other.metrics.items():
            before = self.metrics.get(name)
            if before is None:
                self.metrics[name] = value
            else:
                self.metrics[name] = max(before, value) if name.endswith(MAXIMUM) else before + value


def merge_sums(sums: dict[str, list[float]], others: Mapping[str, Sequence[float]]) -> None:
    """Add values of the same name."""
    for name, values in others.items():
        own = sums.get(name, [0.0] * len(values))
        sums[name] = [one + other for one, other in zip(own, values, strict=True)]


def _by_environment(
    outputs: Mapping[str, torch.Tensor], environments: Sequence[tuple[str, int]]
) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {}
    if "logp" not in outputs or not any(name for name, _ in environments):
        return found
    parts = outputs["logp"].detach().cpu().split([tokens for _, tokens in environments])
    for (name, tokens), part in zip(environments, parts, strict=True):
        if name:
            merge_sums(found, {name: [-part.sum().item(), float(tokens)]})
    return found


def _environments(assembly: Assembly, indices: Sequence[int]) -> list[tuple[str, int]]:
    return [
        (assembly.training_sequences[index].environment, int(assembly.tokens[index])) for index in indices
    ]


def accumulate(
    network: Network,
    assembly: Assembly,
    objective: Objective,
    whole: OptimiserBatch,
    max_tokens: int,
    ranks: Ranks = ALONE,
) -> Step:
    """Add the gradient of the loss of `whole` to the weights' gradients; each rank reads its share of it.

    No forward pass reads more than `max_tokens` tokens.
    """
    sequences = assembly.training_sequences
    atoms = assembly.atoms(objective.algorithm.together, whole.indices)
    if objective.algorithm.together == "batch":
        atoms = [[index for atom in atoms for index in atom]]
    fits = max(tokens_of(sequences, atom) for atom in atoms) <= max_tokens
    if fits and len(atoms) >= min(ranks.size, len(whole.indices)):
        return _in_one_pass(
            network, assembly, objective, whole, shared_out(sequences, atoms, max_tokens, ranks)
        )
    # also with fewer atoms than ranks: two passes over parts are faster than one over the whole
    alone = [[index] for index in whole.indices]
    return _in_two_passes(
        network, assembly, objective, whole, shared_out(sequences, alone, max_tokens, ranks)
    )


def _in_one_pass(
    network: Network, assembly: Assembly, objective: Objective, whole: OptimiserBatch, passes: Passes
) -> Step:
    step = Step()
    for indices in passes.own:
        outputs = _read(network, assembly, objective, indices)
        leaves = {name: column.detach().requires_grad_() for name, column in outputs.columns.items()}
        loss = objective.loss(assembly.batch(whole, indices, leaves))
        _back(outputs.columns, _gradients(loss, leaves), passes.ranks)
        step.add(loss, leaves, outputs.correct, _environments(assembly, indices))
    for indices in passes.idle:
        outputs = _read(network, assembly, objective, indices)
        _back(outputs.columns, dict.fromkeys(outputs.columns), passes.ranks)
    total = Step()
    for part in passes.ranks.gathered(step):
        total.merge(part)
    return total


def _in_two_passes(
    network: Network, assembly: Assembly, objective: Objective, whole: OptimiserBatch, passes: Passes
) -> Step:
    draws, seen = [], []
    with torch.no_grad():
        for indices in (*passes.own, *passes.idle):
            draws.append(_random_state(network.device))
            seen.append(_read(network, assembly, objective, indices))
    columns = passes.joined([outputs.columns for outputs in seen], assembly.tokens)
    leaves = {name: column.requires_grad_() for name, column in columns.items()}
    loss = objective.loss(assembly.batch(whole, passes.order, leaves))
    parts = _parts(_gradients(loss, leaves), passes, assembly.tokens)
    for indices, state, gradients in zip((*passes.own, *passes.idle), draws, parts, strict=True):
        with _same_draws(network.device, state):
            outputs = _read(network, assembly, objective, indices)
        _back(outputs.columns, gradients, passes.ranks)
    step = Step()
    correct = sum(outputs.correct for outputs in seen[: len(passes.own)])
    step.add(loss, leaves, correct, _environments(assembly, passes.order))
    told = passes.ranks.gathered(step)  # every rank computes the same loss, over all tokens
    return replace(told[0], correct=sum(one.correct for one in told))


def _read(network: Network, assembly: Assembly, objective: Objective, indices: Sequence[int]) -> Outputs:
    return network.read(packed(assembly.training_sequences, indices), entropy="entropy" in objective.needs)


def _gradients(loss: Loss, leaves: Mapping[str, torch.Tensor]) -> Gradients:
    found = torch.autograd.grad(loss.value, list(leaves.values()), allow_unused=True)
    return dict(zip(leaves, found, strict=True))


def _parts(gradients: Gradients, passes: Passes, tokens: Integers) -> list[Gradients]:
    """Gradients by the outputs of each pass of this rank; None for those of dummy passes."""
    parts: list[Gradients] = []
    first = sum(passes.counts(tokens)[: passes.ranks.rank])
    for indices in passes.own:
        after = first + int(tokens[indices].sum())
        parts.append({name: None if g is None else g[first:after] for name, g in gradients.items()})
        first = after
    return [*parts, *(dict.fromkeys(gradients) for _ in passes.idle)]


def _back(outputs: Mapping[str, torch.Tensor], gradients: Gradients, ranks: Ranks) -> None:
    """Backpropagate gradients by the outputs into the weights.

    All ranks backpropagate the same columns, with zeros where needed: each weight's gradient is summed over
    all ranks or none.
    """
    counts = ranks.any([gradients[name] is not None for name in outputs])
    given = {name: gradients[name] for name, counted in zip(outputs, counts, strict=True) if counted}
    if given:
        torch.autograd.backward(
            [outputs[name] for name in given],
            [torch.zeros_like(outputs[name]) if g is None else g for name, g in given.items()],
        )


def _random_state(device: torch.device) -> tuple[torch.Tensor, torch.Tensor | None]:
    own = torch.cuda.get_rng_state(device) if device.type == "cuda" else None
    return torch.get_rng_state(), own


@contextmanager
def _same_draws(
    device: torch.device, state: tuple[torch.Tensor, torch.Tensor | None]
) -> Generator[None, None, None]:
    """Restore the random state `state`: both passes need the same dropout masks."""
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        torch.set_rng_state(state[0])
        if state[1] is not None:
            torch.cuda.set_rng_state(state[1], device)
        yield
