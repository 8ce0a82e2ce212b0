"""Our losses and the trainers of TRL itself on one small random model: values and gradients of the weights.

Runs where TRL is installed (`pip install 'agentevol[trl]'`); nothing is downloaded.
"""

from pathlib import Path
from typing import Any

import pytest
import torch
from torch.nn.functional import logsigmoid

from agentevol.core.algorithms.contract import Batch
from agentevol.learn.algorithms.imitation.sft import sft
from agentevol.learn.algorithms.preference.dpo import dpo
from agentevol.learn.algorithms.preference.ipo import ipo
from agentevol.learn.algorithms.preference.kto import kto_losses, reference_point
from agentevol.learn.algorithms.preference.orpo import log_odds_ratio
from agentevol.learn.algorithms.testing import batch_of

trl = pytest.importorskip("trl", reason="TRL is not installed: agentevol[trl]")
datasets = pytest.importorskip("datasets")

pytestmark = pytest.mark.golden

WORDS = ("<pad>", "<eos>", *"abcdefghijklmnopqrstuvwx")

PROMPTS = ["a b c", "d e", "f g h i"]
CHOSEN = ["j k l m", "n o", "p q r"]
REJECTED = ["s t", "u v w x a b", "c"]

# both compute in float32, in another order of additions
CLOSE = {"rel": 2e-5, "abs": 2e-6}


def random_model(seed: int) -> Any:
    from transformers import Qwen2Config, Qwen2ForCausalLM

    torch.manual_seed(seed)
    shape = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2}
    config = Qwen2Config(
        vocab_size=len(WORDS), num_key_value_heads=2, pad_token_id=0, eos_token_id=1, bos_token_id=1, **shape
    )
    model = Qwen2ForCausalLM(config)
    for parameter in model.parameters():
        parameter.data.mul_(4)  # so that its predictions are far from uniform
    return model


def word_tokenizer() -> Any:
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import WhitespaceSplit
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(WordLevel({word: number for number, word in enumerate(WORDS)}, unk_token="<pad>"))
    tokenizer.pre_tokenizer = WhitespaceSplit()
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, pad_token="<pad>", eos_token="<eos>")


def arguments(kind: Any, folder: Path, **options: Any) -> Any:
    common = {"report_to": [], "use_cpu": True, "bf16": False, "gradient_checkpointing": False}
    rows = {"per_device_train_batch_size": len(PROMPTS), "max_length": 64}
    return kind(output_dir=str(folder), **common, **rows, **options)


def logp_of(model: Any, ids: torch.Tensor, attention: torch.Tensor) -> torch.Tensor:
    """(B, T - 1): of each token but the first."""
    logits = model(input_ids=ids, attention_mask=attention).logits[:, :-1].float()
    return torch.log_softmax(logits, dim=-1).gather(2, ids[:, 1:, None]).squeeze(2)


def batch_from(
    policy: Any, reference: Any, inputs: dict[str, Any], prefix: str = "", **columns: Any
) -> Batch:
    ids, attention, mask = (
        inputs[f"{prefix}{name}"] for name in ("input_ids", "attention_mask", "completion_mask")
    )
    with torch.no_grad():
        ref_logp = logp_of(reference, ids, attention)
    return batch_of(logp_of(policy, ids, attention), mask[:, 1:], ref_logp=ref_logp, **columns)


def gradients(model: Any, value: torch.Tensor) -> torch.Tensor:
    parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
    return torch.cat([one.flatten() for one in torch.autograd.grad(value, parameters, retain_graph=True)])


def assert_same(model: Any, ours: torch.Tensor, theirs: torch.Tensor) -> None:
    assert ours.item() == pytest.approx(theirs.item(), **CLOSE)
    mine, their = gradients(model, ours), gradients(model, theirs)
    assert their.abs().max() > 1e-4
    assert torch.allclose(mine, their, rtol=1e-3, atol=1e-4 * their.abs().max().item())


@pytest.mark.parametrize("beta", [0.1, 0.5])
@pytest.mark.parametrize("name", ["sigmoid", "hinge", "ipo"])
def test_dpo_hinge_and_ipo(name: str, beta: float, tmp_path: Path):
    policy, reference = random_model(0), random_model(1)
    rows = datasets.Dataset.from_dict({"prompt": PROMPTS, "chosen": CHOSEN, "rejected": REJECTED})
    trainer = trl.DPOTrainer(
        model=policy,
        ref_model=reference,
        args=arguments(trl.DPOConfig, tmp_path, beta=beta, loss_type=[name]),
        train_dataset=rows,
        processing_class=word_tokenizer(),
    )
    inputs = trainer.data_collator([trainer.train_dataset[number] for number in range(len(PROMPTS))])
    trainer.model.eval()  # no dropout; the loss is the same
    theirs = trainer.compute_loss(trainer.model, inputs)
    count = len(PROMPTS)
    batch = batch_from(policy, reference, inputs, unit=[*range(count)] * 2, side=[1] * count + [-1] * count)
    ours = ipo(batch, beta=beta) if name == "ipo" else dpo(batch, beta=beta, form=name)
    assert_same(policy, ours.value, theirs)


@pytest.mark.parametrize("labels", [[True, False, True], [False, False, True], [True, True, True]])
def test_kto(labels: list[bool], tmp_path: Path):
    policy, reference = random_model(0), random_model(1)
    rows = datasets.Dataset.from_dict({"prompt": PROMPTS, "completion": CHOSEN, "label": labels})
    weights = {"beta": 0.2, "desirable_weight": 1.3, "undesirable_weight": 0.7}
    trainer = trl.KTOTrainer(
        model=policy,
        ref_model=reference,
        args=arguments(trl.KTOConfig, tmp_path, **weights),
        train_dataset=rows,
        processing_class=word_tokenizer(),
    )
    inputs = trainer.data_collator([trainer.train_dataset[number] for number in range(len(PROMPTS))])
    trainer.model.eval()
    theirs = trainer.compute_loss(trainer.model, inputs)
    batch = batch_from(policy, reference, inputs)
    mismatched = batch_from(policy, reference, inputs, "KL_")
    point = reference_point(mismatched.sums(mismatched.logp - mismatched.ref_logp))
    ratios = batch.sums(batch.logp - batch.ref_logp)
    losses = kto_losses(ratios, point, torch.as_tensor(inputs["label"], dtype=torch.bool), **weights)
    assert_same(policy, losses.mean(), theirs)


def test_orpo(tmp_path: Path):
    orpo = pytest.importorskip("trl.experimental.orpo")
    policy = random_model(0)
    rows = datasets.Dataset.from_dict({"prompt": PROMPTS, "chosen": CHOSEN, "rejected": REJECTED})
    trainer = orpo.ORPOTrainer(
        model=policy,
        args=arguments(orpo.ORPOConfig, tmp_path, beta=0.3, disable_dropout=True),
        train_dataset=rows,
        processing_class=word_tokenizer(),
    )
    inputs = trainer.data_collator([trainer.train_dataset[number] for number in range(len(PROMPTS))])
    trainer.model.eval()
    theirs = trainer.compute_loss(trainer.model, inputs)
    means: dict[str, torch.Tensor] = {}
    for side in ("chosen", "rejected"):
        logp = logp_of(policy, inputs[f"{side}_input_ids"], inputs[f"{side}_attention_mask"])
        batch = batch_of(logp, inputs[f"{side}_labels"][:, 1:] != -100)
        means[side] = batch.sums(batch.logp) / batch.lengths
    logp = logp_of(policy, inputs["chosen_input_ids"], inputs["chosen_attention_mask"])
    likelihood = sft(batch_of(logp, inputs["chosen_attention_mask"][:, 1:])).value
    odds = log_odds_ratio(means["chosen"], means["rejected"])
    assert_same(policy, likelihood - 0.3 * logsigmoid(odds).mean(), theirs)


def test_the_comparison_notices_a_change():
    policy, reference = random_model(0), random_model(1)
    ids = torch.tensor([[2, 3, 4, 5], [2, 3, 6, 7]])
    inputs = {
        "input_ids": ids,
        "attention_mask": torch.ones_like(ids),
        "completion_mask": torch.tensor([[0, 0, 1, 1]] * 2),
    }
    one, same, other = (
        dpo(batch_from(policy, reference, inputs, unit=[0, 0], side=[1, -1]), beta=beta).value
        for beta in (0.1, 0.1, 0.101)
    )
    assert_same(policy, one, same)
    with pytest.raises(AssertionError):
        assert_same(policy, one, other)
