"""Process reward model: the probability, after each turn, that the episode succeeds.

A turn has one learnt token, the last of its action. Its label is the share of continuations from there that
succeeded (`agentevol.learn.rewards.process`), in [0, 1], or NaN where there are none.
"""

from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits

from agentevol.core.algorithms.contract import Algorithm, Batch, Loss
from agentevol.core.errors import ConfigError
from agentevol.learn.algorithms.reward_model.head_labels import known_labels, of_known, over_heads


def process_reward(batch: Batch, *, hard: bool = False, trust_samples: bool = False) -> Loss:
    """Binary cross-entropy between sigmoid(head) and label: mean over each head's labels, then over heads.

    Soft labels as in AgentPRM (Choudhury, 2025, arXiv:2502.10325); `hard` makes them 1 as soon as any
    continuation succeeded (Math-Shepherd, Wang et al., 2023, arXiv:2312.08935). `trust_samples` weights a
    label of K continuations by K / (K + 1), and does not change the denominator.
    """
    count_H = known_labels(batch)
    known_NH = batch.label.isfinite()
    target_NH = batch.label.nan_to_num(0.0)
    if hard:
        target_NH = (target_NH > 0).to(target_NH.dtype)
    loss_NH = binary_cross_entropy_with_logits(batch.head, target_NH, reduction="none") * known_NH
    if trust_samples:
        if batch.label_samples is None:
            raise ConfigError("trust_samples needs the number of continuations behind each label")
        loss_NH = loss_NH * (batch.label_samples / (batch.label_samples + 1))[:, None]
    error_NH = (batch.head.detach().sigmoid() - target_NH) * known_NH
    loss_H, brier_H = of_known(loss_NH, count_H), of_known(error_NH**2, count_H)
    return Loss(over_heads(loss_H, count_H), _metrics(loss_H.detach(), brier_H, count_H))


def _metrics(loss_H: Tensor, brier_H: Tensor, count_H: Tensor) -> dict[str, float]:
    """Means over the heads, and `_0`, `_1`, ... for each where there are several."""
    values = {"bce": loss_H, "brier": brier_H}
    metrics = {name: over_heads(value_H, count_H).item() for name, value_H in values.items()}
    if len(count_H) == 1:
        return metrics
    return metrics | {
        f"{name}_{head}": value
        for name, value_H in values.items()
        for head, value in enumerate(value_H.tolist())
    }


ALGORITHM = Algorithm(loss=process_reward, data="steps", model="reward")
