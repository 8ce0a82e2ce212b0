"""A learner that holds on to an earlier policy: by its weights, by what it says, and by mixing the two."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load as parsed
from support.tiny_models import qwen2, write_model

from agentevol.config.sections.forgetting import EwcConfig
from agentevol.config.sections.learner import LearnConfig
from agentevol.core.errors import ConfigError
from agentevol.core.protocols import Anchor, Checkpoint, LearnerJob, TrainingSequence
from agentevol.learn.batches.packing import packed
from agentevol.learn.continual.consolidation import Penalty, consolidation
from agentevol.learn.continual.ewc import FILE, Consolidation, load
from agentevol.learn.continual.interpolation import write_between
from agentevol.learn.learner import GradientLearner
from agentevol.learn.network.attention import PACKED_ATTENTION
from agentevol.learn.network.log_probabilities import final_hidden, output_head, score
from agentevol.learn.network.network import Network, Reader
from agentevol.models.causal_lm import load_model
from agentevol.models.checkpoints import read_lineage
from agentevol.models.lora import FILE as ADAPTERS
from agentevol.models.lora_config import LoraConfig

VOCABULARY = 12
FAST = LearnConfig(learning_rate=1e-2, batch_tokens=100, micro_batch_tokens=100, device="cpu", threads=1)


@pytest.fixture(scope="module")
def start(tmp_path_factory: pytest.TempPathFactory) -> Checkpoint:
    return write_model(tmp_path_factory.mktemp("anchored"), qwen2(VOCABULARY), version=0)


def sequence(*said: int, name: str = "sequence", replayed: bool = False) -> TrainingSequence:
    """Token 1 is read, then these are said."""
    ids = np.asarray([1, *said], dtype=np.int32)
    unknown = np.full(len(ids), np.nan, np.float32)
    return TrainingSequence(ids, np.arange(len(ids)) > 0, unknown, 1.0, name, replayed=replayed)


NEW = [sequence(2, 3, 4, name=f"new {number}") for number in range(40)]
OLD = [sequence(7, 8, 9, name="old"), sequence(5, 6, name="older")]


def weights(path: Path) -> dict[str, torch.Tensor]:
    return load_model(path, PACKED_ATTENTION).state_dict()


def distance(one: Path, other: Path) -> float:
    ours, theirs = weights(one), weights(other)
    return sum((ours[name] - theirs[name]).square().sum().item() for name in ours) ** 0.5


def read_tensors(file: Path) -> dict[str, torch.Tensor]:
    return parsed(file.read_bytes())


def logp(path: Path, said: TrainingSequence) -> torch.Tensor:
    with torch.no_grad():
        return score(load_model(path, PACKED_ATTENTION), packed([said], [0])).logp_N


def learn(
    start: Checkpoint, out: Path, sequences: Sequence[TrainingSequence] = NEW, **given: Any
) -> dict[str, float]:
    anchor = given.pop("anchor", None)
    config = FAST.model_copy(update=given)
    return GradientLearner(config).learn(LearnerJob(start, sequences, out, seed=0, anchor=anchor)).metrics


def network(path: Path) -> Network:
    return Network(Reader(load_model(path, PACKED_ATTENTION)), "policy", torch.device("cpu"))


# Fisher 1 and 3 of two weights: scaled to mean 1 they are 0.5 and 1.5. Moved by 2 and -1 with strength 0.1:
#   penalty 0.1 / 2 * (0.5 * 4 + 1.5 * 1) = 0.175, gradient 0.1 * (0.5 * 2, 1.5 * -1) = (0.1, -0.15)
def test_the_penalty_s_gradient_is_added_to_what_is_there():
    moved = torch.nn.Parameter(torch.tensor([3.0, 0.0]))
    moved.grad = torch.tensor([1.0, 1.0])
    held = Consolidation({"w": torch.tensor([1.0, 1.0])}, {"w": torch.tensor([1.0, 3.0])})
    assert Penalty({"w": moved}, held, 0.1).add_gradient() == pytest.approx(0.175)
    assert moved.grad.tolist() == pytest.approx([1.1, 0.85])
    # the oracle notices another strength
    assert Penalty({"w": moved}, held, 0.2).add_gradient() != pytest.approx(0.175, rel=0.1)


def squared_gradients(path: Path, said: TrainingSequence) -> dict[str, torch.Tensor]:
    model = load_model(path, PACKED_ATTENTION)
    score(model, packed([said], [0])).logp_N.mean().backward()
    found = {name: parameter.grad for name, parameter in model.named_parameters()}
    return {name: grad.square() for name, grad in found.items() if grad is not None}


def test_with_the_data_s_labels_it_is_the_mean_of_squared_gradients_of_sequences(start: Checkpoint):
    config = EwcConfig(fisher="labels")
    found = consolidation(Anchor(start, OLD), network(start.path), config, 100, seed=0)
    first, second = squared_gradients(start.path, OLD[0]), squared_gradients(start.path, OLD[1])
    for name, tensor in first.items():
        torch.testing.assert_close(found.fisher[name], (tensor + second[name]) / 2, rtol=1e-4, atol=1e-10)
    together = squared_gradients(start.path, sequence(7, 8, 9, 5, 6))  # one long sequence is another number
    assert any(not torch.allclose(found.fisher[name], together[name], rtol=0.1) for name in first)


def test_with_drawn_tokens_it_is_the_expectation_under_the_policy(start: Checkpoint):
    # one token after token 1: sum over the vocabulary of p(y) (d log p(y))^2, summed over all weights
    probabilities = torch.cat([logp(start.path, sequence(token)) for token in range(VOCABULARY)]).exp()
    assert probabilities.sum().item() == pytest.approx(1.0, abs=1e-5)
    sizes = [
        sum(square.sum().item() for square in squared_gradients(start.path, sequence(token)).values())
        for token in range(VOCABULARY)
    ]
    expected = float((probabilities * torch.tensor(sizes)).sum())
    many = Anchor(start, [sequence(3)] * 400)
    drawn = consolidation(many, network(start.path), EwcConfig(sequences=400), 100, seed=0)
    total = sum(tensor.sum().item() for tensor in drawn.fisher.values())
    spread = float((probabilities * (torch.tensor(sizes) - expected) ** 2).sum()) ** 0.5
    assert total == pytest.approx(expected, abs=5 * spread / 400**0.5)  # five standard errors of 400 draws
    assert sizes[3] != pytest.approx(expected, abs=5 * spread / 400**0.5)  # the label alone is another number


def test_sequences_that_are_too_many_or_too_long_are_left_out(start: Checkpoint):
    three = [sequence(2), sequence(3), sequence(4)]
    some = consolidation(Anchor(start, three), network(start.path), EwcConfig(sequences=1), 100, seed=0)
    again = consolidation(Anchor(start, three), network(start.path), EwcConfig(sequences=1), 100, seed=0)
    assert all(torch.equal(some.fisher[name], again.fisher[name]) for name in some.fisher)
    with pytest.raises(ConfigError, match="none of 2 sequences to keep has at most 2 tokens"):
        consolidation(Anchor(start, OLD), network(start.path), EwcConfig(), 2, seed=0)


def moved(out: Path, start: Checkpoint) -> float:
    """How far what is to be kept has moved, in nats over all of its tokens."""
    return sum((logp(out, one) - logp(start.path, one)).abs().sum().item() for one in OLD)


def test_a_penalised_update_keeps_more_and_says_what_it_cost(start: Checkpoint, tmp_path: Path):
    free = learn(start, tmp_path / "free", epochs=4)
    anchor = Anchor(start, OLD)
    held = learn(start, tmp_path / "held", epochs=4, ewc=EwcConfig(strength=10.0), anchor=anchor)
    assert moved(tmp_path / "held", start) < 0.6 * moved(tmp_path / "free", start)
    assert held["ewc_penalty_max"] >= held["ewc_penalty"] > 0
    assert held["loss_first"] == free["loss_first"]  # at the anchor the penalty is 0
    assert held["loss_last"] > free["loss_last"]  # and here it is counted
    assert "ewc_penalty" not in free


def test_a_killed_learner_with_a_penalty_goes_on_bit_for_bit(start: Checkpoint, tmp_path: Path):
    anchor = Anchor(start, OLD, tmp_path / "ewc.safetensors")
    config = FAST.model_copy(update={"ewc": EwcConfig(strength=10.0), "epochs": 2})
    GradientLearner(config).learn(
        LearnerJob(start, NEW, tmp_path / "calm", 0, anchor=replace(anchor, file=None))
    )
    careful = config.model_copy(update={"save_every": 2})
    steps: list[int] = []

    def die(step: int, _steps: int, _loss: float) -> None:
        if step == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        GradientLearner(careful, die).learn(LearnerJob(start, NEW, tmp_path / "killed", 0, anchor=anchor))
    learner = GradientLearner(careful, lambda step, *_: steps.append(step))
    learner.learn(LearnerJob(start, NEW, tmp_path / "killed", 0, anchor=anchor))
    assert steps[0] == 3
    assert distance(tmp_path / "calm", tmp_path / "killed") == 0.0
    # what was measured lies there for the next update, which does not measure it again
    kept = load(tmp_path / "ewc.safetensors")
    assert kept.kind == "sampled"
    nothing = replace(anchor, sequences=())
    report = GradientLearner(config).learn(LearnerJob(start, NEW, tmp_path / "later", 0, anchor=nothing))
    assert report.metrics["ewc_penalty"] > 0


def held_to(path: Path) -> Consolidation:
    return load(path / FILE)


def test_online_each_stage_is_added_to_the_ones_before_and_held_where_it_ended(
    start: Checkpoint, tmp_path: Path
):
    config = EwcConfig(strength=1.0, online=True, decay=0.5, fisher="labels")
    learn(start, tmp_path / "1", ewc=config, anchor=Anchor(start, OLD))
    first = Checkpoint(tmp_path / "1", 1)
    learn(first, tmp_path / "2", ewc=config, anchor=Anchor(first, [sequence(2, 3)]))
    before, after = held_to(tmp_path / "1"), held_to(tmp_path / "2")
    new = squared_gradients(first.path, sequence(2, 3))
    for name, weight in weights(first.path).items():
        assert torch.equal(after.weights[name], weight)  # where the stage before ended
        expected = 0.5 * before.fisher[name] + new[name]
        torch.testing.assert_close(after.fisher[name], expected, rtol=1e-4, atol=1e-10)
    assert torch.equal(before.weights["lm_head.weight"], weights(start.path)["lm_head.weight"])
    # without `online` nothing is written, and nothing of before is read
    plain = EwcConfig(strength=1.0, fisher="labels")
    learn(first, tmp_path / "3", ewc=plain, anchor=Anchor(first, [sequence(2, 3)], tmp_path / "measured"))
    assert not (tmp_path / "3" / FILE).exists()
    torch.testing.assert_close(load(tmp_path / "measured").fisher["lm_head.weight"], new["lm_head.weight"])


def test_another_kind_of_information_is_not_added_up(start: Checkpoint, tmp_path: Path):
    given = {"strength": 1.0, "online": True}
    learn(start, tmp_path / "1", ewc=EwcConfig(fisher="labels", **given), anchor=Anchor(start, OLD))
    first = Checkpoint(tmp_path / "1", 1)
    with pytest.raises(ConfigError, match="same parameters and kind"):
        learn(first, tmp_path / "2", ewc=EwcConfig(**given), anchor=Anchor(first, OLD))


KEPT = LoraConfig(rank=2, keep=True)


def adapters(path: Path) -> dict[str, torch.Tensor]:
    return read_tensors(path / ADAPTERS)


def test_kept_adapters_go_on_and_their_checkpoints_are_whole_models(start: Checkpoint, tmp_path: Path):
    learn(start, tmp_path / "1", lora=KEPT)
    first = Checkpoint(tmp_path / "1", 1)
    learn(first, tmp_path / "still", lora=KEPT, learning_rate=0.0)
    for name, tensor in adapters(tmp_path / "1").items():
        assert torch.equal(adapters(tmp_path / "still")[name], tensor)
    assert distance(tmp_path / "still", tmp_path / "1") < 1e-6  # taken out and merged again
    learn(first, tmp_path / "2", lora=KEPT)
    # all that both updates learnt is in one pair of matrices
    name = "model.layers.0.self_attn.q_proj"
    learnt = adapters(tmp_path / "2")
    product = learnt[f"{name}.lora_B.default.weight"] @ learnt[f"{name}.lora_A.default.weight"]
    change = weights(tmp_path / "2")[f"{name}.weight"] - weights(start.path)[f"{name}.weight"]
    torch.testing.assert_close(change, 32 / 2 * product, rtol=1e-4, atol=1e-6)
    # fresh ones begin at 0 again
    learn(first, tmp_path / "fresh", lora=LoraConfig(rank=2))
    assert not (tmp_path / "fresh" / ADAPTERS).exists()


def test_adapters_of_another_shape_are_refused(start: Checkpoint, tmp_path: Path):
    learn(start, tmp_path / "1", lora=KEPT)
    with pytest.raises(ConfigError, match="adapters of another rank"):
        learn(Checkpoint(tmp_path / "1", 1), tmp_path / "2", lora=LoraConfig(rank=3, keep=True))


@pytest.mark.parametrize("dtype", ["float32", "bf16"])
def test_kept_adapters_are_held_where_the_last_stage_left_them(start: Checkpoint, tmp_path: Path, dtype: str):
    learn(start, tmp_path / "1", OLD, lora=KEPT, epochs=10, dtype=dtype)
    first = Checkpoint(tmp_path / "1", 1)
    learn(first, tmp_path / "free", lora=KEPT, epochs=4, dtype=dtype)
    config, anchor = EwcConfig(strength=100.0, online=True), Anchor(first, OLD)
    held = learn(first, tmp_path / "held", lora=KEPT, epochs=4, dtype=dtype, ewc=config, anchor=anchor)

    def moved_from(out: Path) -> float:
        return sum((logp(out, one) - logp(first.path, one)).abs().sum().item() for one in OLD)

    assert held["ewc_penalty"] > 0
    assert moved_from(tmp_path / "held") < 0.6 * moved_from(tmp_path / "free")
    found = held_to(tmp_path / "held")
    assert all(".lora_" in name for name in found.fisher)  # over the adapters alone
    for name, tensor in adapters(first.path).items():
        assert torch.equal(found.weights[name], tensor)


def test_fresh_adapters_are_held_to_nothing(start: Checkpoint, tmp_path: Path):
    with pytest.raises(ConfigError, match=r"fresh ones have no Fisher information.*learn.distillation"):
        learn(start, tmp_path / "1", lora=KEPT, ewc=EwcConfig(), anchor=Anchor(start, OLD))


def test_over_the_vocabulary_the_divergence_is_exact(start: Checkpoint, tmp_path: Path):
    replayed = [replace(one, replayed=True) for one in OLD]
    learn(start, tmp_path / "other", OLD, epochs=3)
    # one step on replayed sequences alone, from other weights than the anchor's: reported is the mean KL
    anchor = Anchor(start)
    told = learn(
        Checkpoint(tmp_path / "other", 1), tmp_path / "out", replayed, distillation=1.0,
        distillation_form="full", anchor=anchor, learning_rate=0.0,
    )  # fmt: skip
    before, after = (distributions(path) for path in (start.path, tmp_path / "other"))
    expected = (before.exp() * (before - after)).sum(dim=1).mean().item()
    assert told["distillation_kl"] == pytest.approx(expected, rel=1e-4)
    assert expected > 1e-3


def distributions(path: Path) -> torch.Tensor:
    """(5, V) log-probabilities in the places of what OLD says."""
    model = load_model(path, PACKED_ATTENTION)
    with torch.no_grad():
        hidden = [final_hidden(model, packed([one], [0]))[: int(one.mask.sum())] for one in OLD]
        return torch.cat([output_head(model)(each) for each in hidden]).log_softmax(dim=1)


def test_over_the_vocabulary_replayed_sequences_are_held_and_new_ones_are_not(
    start: Checkpoint, tmp_path: Path
):
    sequences = [*NEW, *(replace(one, replayed=True) for one in OLD)]
    free = learn(start, tmp_path / "free", sequences, epochs=4)
    given = {"distillation": 50.0, "distillation_form": "full"}
    learn(start, tmp_path / "held", sequences, epochs=4, **given)
    assert moved(tmp_path / "held", start) < 0.5 * moved(tmp_path / "free", start)
    still = learn(start, tmp_path / "still", sequences, learning_rate=0.0, **given)
    assert still["distillation_kl"] == pytest.approx(0.0, abs=1e-6)
    learn(start, tmp_path / "new", epochs=2)
    alone = learn(start, tmp_path / "alone", epochs=2, **given)
    assert distance(tmp_path / "new", tmp_path / "alone") == 0.0
    assert alone["distillation_kl"] == 0.0
    assert "distillation_kl" not in free


def test_a_perplexity_is_that_of_all_learnt_tokens_that_fit(start: Checkpoint):
    told = GradientLearner(FAST).perplexity(start, OLD)
    expected = torch.cat([logp(start.path, one) for one in OLD]).mean().neg().exp().item()
    assert told == pytest.approx(expected, rel=1e-5)
    short = FAST.model_copy(update={"micro_batch_tokens": 3})
    alone = logp(start.path, OLD[1]).mean().neg().exp().item()
    assert GradientLearner(short).perplexity(start, OLD) == pytest.approx(alone, rel=1e-5)
    assert alone != pytest.approx(expected, rel=1e-3)
    with pytest.raises(ConfigError, match="none of 1 sequences can be read"):
        GradientLearner(short).perplexity(start, OLD[:1])


def test_distillation_holds_what_is_replayed_where_the_anchor_had_it(start: Checkpoint, tmp_path: Path):
    replayed = [replace(one, replayed=True) for one in OLD]
    sequences = [*NEW, *replayed]
    free = learn(start, tmp_path / "free", sequences, epochs=4)
    held = learn(start, tmp_path / "held", sequences, epochs=4, distillation=50.0)

    assert moved(tmp_path / "held", start) < 0.5 * moved(tmp_path / "free", start)
    assert held["distillation_kl"] > 0
    assert held["replay_sequences"] == free["replay_sequences"] == 2
    assert free["replay_fraction"] == pytest.approx(5 / 125)  # 40 sequences of 3 and these of 3 and 2 tokens
    origins = [json.loads(line) for line in (tmp_path / "held" / "sequences.jsonl").read_text().splitlines()]
    assert [one["episode"] for one in origins if one.get("replayed")] == ["old", "older"]


def test_identical_policies_have_nothing_to_distil(start: Checkpoint, tmp_path: Path):
    sequences = [*NEW, *(replace(one, replayed=True) for one in OLD)]
    still = learn(start, tmp_path / "still", sequences, learning_rate=0.0, distillation=1.0)
    assert still["distillation_kl"] == pytest.approx(0.0, abs=1e-12)
    # and new sequences are not held at all
    free = learn(start, tmp_path / "free", epochs=2)
    alone = learn(start, tmp_path / "alone", epochs=2, distillation=50.0)
    assert distance(tmp_path / "free", tmp_path / "alone") == 0.0
    assert alone["distillation_kl"] == 0.0
    assert "replay_sequences" not in free


@pytest.mark.parametrize("lora", [None, LoraConfig(rank=2)])
def test_a_checkpoint_lies_between_the_anchor_and_what_was_learnt(
    start: Checkpoint, tmp_path: Path, lora: LoraConfig | None
):
    learn(start, tmp_path / "whole", lora=lora)
    figures = learn(start, tmp_path / "part", lora=lora, interpolation=0.25)
    before, whole, part = (weights(path) for path in (start.path, tmp_path / "whole", tmp_path / "part"))
    for name, tensor in part.items():
        torch.testing.assert_close(tensor, 0.75 * before[name] + 0.25 * whole[name], rtol=0, atol=1e-6)
    assert figures["interpolation_moved"] == pytest.approx(distance(start.path, tmp_path / "whole"), rel=1e-4)
    assert figures["interpolation_kept"] == pytest.approx(distance(start.path, tmp_path / "part"), rel=1e-4)
    # afterwards it is the same, which is how several shares of one update are tried
    out = tmp_path / "later"
    write_between(start.path, tmp_path / "whole", 0.25, out, torch.float32)
    for name, tensor in weights(out).items():
        torch.testing.assert_close(tensor, part[name], rtol=0, atol=1e-6)
    later = read_lineage(out)
    assert later is not None
    assert later.version == 1
    assert later.metrics["interpolation_kept"] == pytest.approx(figures["interpolation_kept"], rel=1e-4)
    assert (out / "sequences.jsonl").read_bytes() == (tmp_path / "whole" / "sequences.jsonl").read_bytes()
    lineage = read_lineage(tmp_path / "part")
    assert lineage is not None
    assert lineage.metrics["interpolation_kept"] == figures["interpolation_kept"]
