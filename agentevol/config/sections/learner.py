"""Configuration of the learner: `LearnConfig`."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from agentevol.config.sections.forgetting import EwcConfig
from agentevol.config.sections.section import Section
from agentevol.core.algorithms.contract import Option
from agentevol.core.algorithms.registry import objective
from agentevol.models.lora_config import LoraConfig


class KLTarget(Section):
    """Adaptive KL coefficient that follows a target (arXiv:1909.08593)."""

    target: float = Field(default=0.1, gt=0)
    """In nats, of the mean over tokens."""
    horizon: float = Field(default=10_000, gt=0)
    """Number of episodes in which the coefficient can change by about a fifth."""


class LearnConfig(BaseModel):
    """Settings of a learner."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    algorithm: str = "sft"
    options: dict[str, Option] = {}
    """Options of the algorithm."""
    optimiser: Literal["adamw", "muon"] = "adamw"
    """`muon` orthogonalises the updates of inner matrices (Jordan et al. 2024), scaled to AdamW's size
    (arXiv:2502.16982), and leaves the rest to AdamW: it needs fewer tokens when training from scratch.
    """
    learning_rate: float = Field(default=1e-5, ge=0)
    """Peak learning rate of the schedule. 1e-5 suits billions of pretrained weights, 1e-3 a few millions; 0
    leaves the weights unchanged.
    """
    critic_learning_rate: float | None = Field(default=None, gt=0)
    """Peak learning rate of a separate optimiser of the critic, for algorithms that have one: ten times the
    policy's is usual (1e-5 beside 1e-6). None trains the value head with the policy, in one optimiser.
    """
    critic_warmup: int = Field(default=0, ge=0)
    """Optimiser steps in which a new critic is trained alone, counted over all iterations of a run:
    advantages against an untrained critic are noise. 10 to 20 are usual.
    """
    epochs: int = Field(default=1, ge=1)
    max_steps: int | None = Field(default=None, ge=1)
    """Stop after this many optimiser steps; the schedule then ends there."""
    batch_tokens: int = Field(default=16384, ge=1)
    """Most tokens read for one optimiser step; a longer training sequence makes a batch of its own."""
    micro_batch_tokens: int = Field(default=4096, ge=2)
    """Most tokens in one forward pass: bounds the memory, changes no result beyond rounding."""
    overflow: Literal["drop", "cut_left_turns", "error"] = "drop"
    """Treatment of training sequences longer than `micro_batch_tokens` or the model's positions: `drop`
    leaves them out (counted by `sequences_dropped_overflow`), `cut_left_turns` removes the opening and the
    first turns (counted by `sequences_cut_left`), `error` raises `ConfigError`. They are never cut silently,
    nor within a turn.
    """
    warmup_fraction: float = Field(default=0.1, ge=0, le=1)
    schedule: Literal["linear", "cosine", "constant"] = "cosine"
    """Decay of the learning rate to 0 after the warm-up, if any."""
    weight_decay: float = Field(default=0.0, ge=0)
    """Applied to matrices only, not to norms and biases."""
    betas: tuple[float, float] = (0.9, 0.999)
    """AdamW's decay rates; 0.95 for the second suits training from scratch."""
    keep_moments: bool = False
    """Write the state of the optimiser beside the weights, and continue with that of the start: for policies
    that are updated in many short rounds. Takes three times as much disk.
    """
    max_grad_norm: float = Field(default=1.0, gt=0)
    device: str = "auto"
    """`auto` is the first CUDA device, else the CPU; or a torch device such as `cuda:1`."""
    shards: int = Field(default=1, ge=1)
    """Number of processes that train together, each on a device of its own: data, weights, gradients and
    optimiser state are sharded over them (FSDP2). Changes no result beyond rounding.
    """
    dtype: Literal["float32", "bf16"] = "float32"
    """Precision of matrix products. Trained weights, optimiser and log-probabilities are float32; weights
    under adapters are kept in this precision, and adapters are merged into the start's own weights.
    """
    save_dtype: Literal["float32", "bf16"] = "float32"
    """Precision of the checkpoint's weights."""
    gradient_checkpointing: bool = False
    lora: LoraConfig | None = None
    threads: int | None = Field(default=None, ge=1)
    """CPU threads while learning; None keeps torch's setting."""
    rollout_temperature: float | None = Field(default=None, gt=0)
    """Temperature at which the rollouts were sampled: algorithms that read rewards compare log-probabilities
    at it, and so does `logp_gap`. None is 1, or in a run its `explore.temperature`. Episodes that have one
    of their own (`Trajectory.temperature`) are compared at that.
    """
    old_logprobs: Literal["recomputed", "rollout"] = "recomputed"
    """Source of the old probabilities in the importance ratio: `recomputed` by the learner with the weights
    at the start of the update, or `rollout`, as recorded by the engine, which saves a forward pass but puts
    the engine's rounding and the staleness of its weights into the ratio. `old_mismatch` is the mean
    difference of the two, over 16384 tokens at most.
    """
    max_logp_gap: float = Field(default=0.05, gt=0)
    """Largest mean difference between the log-probabilities of engine and learner; above it learning stops,
    since they compute different models, or read different tokens.
    """
    reference: Literal["start", "base"] = "start"
    """Reference model of algorithms that have one: `start`, the weights at the start of the update, or in a
    run `base`, those of its first round: the base, or its clone.
    """
    save_every: int | None = Field(default=None, ge=1)
    """Optimiser steps between two saved states from which a killed learner resumes; None starts again."""
    ewc: EwcConfig | None = None
    """Penalise changes of weights that mattered for earlier tasks, relative to the anchor: the policy that a
    run, or `agentevol train`, starts from.
    """
    distillation: float = Field(default=0.0, ge=0)
    """Strength of the divergence from the anchor on replayed training sequences
    (`agentevol.learn.continual.distillation`).
    """
    distillation_form: Literal["k3", "full"] = "k3"
    """Form of the divergence: `k3`, estimated on the stored tokens, or `full`, over the vocabulary, for which
    the anchor computes a forward pass in every step.
    """
    interpolation: float | None = Field(default=None, gt=0, lt=1)
    """Share of the learnt weights in the checkpoint, mixed with the anchor's; None is all."""

    @model_validator(mode="after")
    def _options_are_known(self) -> "LearnConfig":
        objective(self.algorithm, self.options)
        if self.optimiser == "muon" and self.lora is not None:
            raise ValueError("optimiser 'muon' is for full weights: leave out lora or take 'adamw'")
        if self.keep_moments and self.lora is not None:
            raise ValueError("keep_moments is for full weights: leave out lora")
        if self.shards > 1 and self.optimiser == "muon":
            raise ValueError("optimiser 'muon' needs whole matrices: take 'adamw' or shards = 1")
        if self.shards > 1 and self.device not in ("auto", "cpu", "cuda"):
            raise ValueError(f"device {self.device!r} is one device: shards take 'auto', 'cpu' or 'cuda'")
        if not all(0 <= beta < 1 for beta in self.betas):
            raise ValueError(f"betas lie in [0, 1), not {self.betas}")
        return self

    @model_validator(mode="after")
    def _critic_is_there(self) -> "LearnConfig":
        if self.critic_learning_rate is None and not self.critic_warmup:
            return self
        chosen = objective(self.algorithm, self.options)
        if chosen.algorithm.model != "critic":
            raise ValueError(
                f"critic_learning_rate and critic_warmup need a critic: {self.algorithm} has none"
            )
        if not chosen.options.get("value_coef", 1.0):
            raise ValueError("critic_learning_rate and critic_warmup have no effect: options.value_coef is 0")
        return self

    @model_validator(mode="after")
    def _old_policy_is_read(self) -> "LearnConfig":
        if self.old_logprobs == "recomputed":
            return self
        chosen = objective(self.algorithm, self.options)
        if "old_logp" not in chosen.needs:
            raise ValueError(f"old_logprobs has no effect: {self.algorithm} has no old policy")
        if "rollout_logp" in chosen.needs:
            raise ValueError(
                "old_logprobs = 'rollout' leaves options.importance nothing to correct: leave out one of them"
            )
        return self

    @model_validator(mode="after")
    def _cuts_what_can_be_cut(self) -> "LearnConfig":
        data = objective(self.algorithm, self.options).algorithm.data
        if self.overflow == "cut_left_turns" and data != "episodes":
            raise ValueError(
                f"overflow = 'cut_left_turns' is for algorithms that imitate: {self.algorithm} reads whole"
                f" {data}; take 'drop', or raise micro_batch_tokens"
            )
        return self

    @model_validator(mode="after")
    def _anchored_where_it_can_be(self) -> "LearnConfig":
        chosen = objective(self.algorithm, self.options).algorithm
        kept = self.lora is not None and self.lora.keep
        if self.ewc is not None and self.lora is not None and not kept:
            raise ValueError(
                "ewc keeps weights near earlier values, which new adapters do not have: set lora.keep = true,"
                " leave out lora, or take distillation on replayed sequences"
            )
        if self.interpolation is not None and kept:
            raise ValueError("interpolation mixes whole weights, unlike lora.keep: leave out one")
        if chosen.model == "reward" and (self.ewc is not None or self.interpolation is not None):
            raise ValueError(f"ewc and interpolation keep policies: {self.algorithm} makes a reward model")
        if self.distillation_form != "k3" and not self.distillation:
            raise ValueError("distillation_form has no effect without distillation above 0")
        if self.distillation and chosen.data != "episodes":
            raise ValueError(
                f"distillation has no effect: {self.algorithm} learns from {chosen.data}, never replayed"
            )
        return self
