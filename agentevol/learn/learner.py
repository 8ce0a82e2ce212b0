"""Gradient-based learner: a start and training sequences in, a checkpoint and its metrics out.

learner = GradientLearner(LearnConfig(algorithm="dpo", learning_rate=1e-6))
report = learner.learn(LearnerJob(start, sequences, Path("runs/a/checkpoints/1"), seed=0))
"""

import math
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager

import torch
from transformers import PreTrainedModel

from agentevol.config.sections.learner import LearnConfig
from agentevol.core.algorithms.contract import Algorithm, Floats
from agentevol.core.errors import ConfigError, RunStopped
from agentevol.core.protocols import Anchor, Checkpoint, LearnerJob, LearnReport, TrainingSequence
from agentevol.learn.batches.assembly import OptimiserBatch
from agentevol.learn.batches.batch_plan import learning_rate_factor, tokens_of
from agentevol.learn.checkpoints import optimiser_state
from agentevol.learn.checkpoints.writer import write
from agentevol.learn.continual import ewc
from agentevol.learn.continual.consolidation import in_one_piece
from agentevol.learn.distributed.ranks import ALONE, Ranks
from agentevol.learn.gradients import MAXIMUM, accumulate
from agentevol.learn.heads import critic, linear, reward_scale
from agentevol.learn.heads import names as head_names
from agentevol.learn.heads.episode_scores import final_scores
from agentevol.learn.heads.initialisation import process_heads
from agentevol.learn.heads.turn_values import turn_values
from agentevol.learn.metrics import Figures
from agentevol.learn.network.attention import PACKED_ATTENTION
from agentevol.learn.network.model_checks import positions
from agentevol.learn.network.network import Network, Reader
from agentevol.learn.next_tokens import Prompt, next_token_logp
from agentevol.learn.optimisers import optimisers
from agentevol.learn.perplexity import perplexity
from agentevol.learn.resume import Saved, fingerprint
from agentevol.learn.training_state import (
    Training,
    check_vocabulary,
    divide,
    freeze,
    hold,
    learnt_sequences,
    prepare,
    scale_of,
)
from agentevol.models.causal_lm import load_model
from agentevol.models.checkpoints import Lineage

Progress = Callable[[int, int, float], None]
"""Callback after every optimiser step, with its number from 1, the number of steps, and its loss."""


class GradientLearner:
    """Training of a causal language model, or of heads on it, with any algorithm, on packed training
    sequences.

    Equal start, data, configuration and seed give equal weights on a CPU with the same number of threads. In
    distributed training every process calls the same methods with equal arguments; `ranks` is the rank of
    this one, among `config.shards`.
    """

    def __init__(self, config: LearnConfig, progress: Progress | None = None, ranks: Ranks = ALONE) -> None:
        self.config = config
        self._progress = progress
        self._ranks = ranks

    def learn(self, job: LearnerJob) -> LearnReport:
        """Train from `job.start` on `job.sequences` and write the new folder `job.out` atomically.

        Raises `NothingToLearn` where nothing can be trained on, `ConfigError` for other unusable input
        (negative weights, a corrupt start, an existing `out`), `RunStopped` for a loss that is not finite or
        a full disk.
        """
        self._check(job)
        began, config, start = time.perf_counter(), self.config, job.start
        device = _device(config.device)
        held = job.anchor or Anchor(start)
        with _threads(config.threads), _seeded(job.seed, device):
            training = prepare(config, self._ranks, device, start, job.sequences, job.objectives)
            if self._ranks.rank:  # equal start weights, but different dropout masks on each rank
                torch.manual_seed(job.seed + (self._ranks.rank << 44))
            noted = freeze(training, job.reference, job.multipliers, job.sampler)
            hold(training, held, job.seed)
            divide(training, job.seed)
            saved = Saved(job.out, _identity(config, training, job, held), self._ranks)
            used = optimisers(training.network, config)
            if config.keep_moments:
                optimiser_state.take_up(used, start.path)
            figures = _train(training, used, saved, self._progress)
            metrics = {
                **figures.report(training.fitting, time.perf_counter() - began),
                **critic.figures(config, training.network, start.path, len(training.steps)),
                **noted,
            }
            extra = _files_beside(training, used, job.objectives)
            learnt, lineage = learnt_sequences(training), _lineage(job, metrics)
            metrics |= write(
                training.network, config, start, job.out, lineage, learnt, self._ranks, extra, held
            )
            saved.remove()
        return LearnReport(job.checkpoint, metrics)

    def values(
        self,
        checkpoint: Checkpoint,
        sequences: Sequence[TrainingSequence],
        names: Sequence[str] = ("outcome",),
    ) -> list[dict[str, dict[int, float]]]:
        """Values of a process reward model, one mapping per head: episode -> turn -> V after it, in [0, 1].

        A model without heads gives 0.5 everywhere; training sequences beyond `micro_batch_tokens` are left
        out. Raises `ConfigError` for one with heads of other `names`.
        """
        device = _device(self.config.device)
        with _threads(self.config.threads):
            model = load_model(checkpoint.path, PACKED_ATTENTION)
            said = process_heads(checkpoint.path, model, names)
            limit = min(self.config.micro_batch_tokens, positions(model))
            return turn_values(self._scoring(model, said, device), sequences, limit, len(names))

    def scores(self, checkpoint: Checkpoint, sequences: Sequence[TrainingSequence]) -> dict[str, Floats]:
        """Episode -> (H,) raw scores of the heads of the reward model `checkpoint`.

        Episodes beyond `micro_batch_tokens` are left out. Raises `ConfigError` for a model without heads, and
        for token ids outside of its vocabulary.
        """
        device = _device(self.config.device)
        with _threads(self.config.threads):
            said = linear.load_heads(checkpoint.path)
            if said is None:
                raise ConfigError(f"{checkpoint.path} is no reward model: it has no heads")
            model = load_model(checkpoint.path, PACKED_ATTENTION)
            check_vocabulary(sequences, model)
            limit = min(self.config.micro_batch_tokens, positions(model))
            return final_scores(self._scoring(model, said, device), sequences, limit)

    def perplexity(self, checkpoint: Checkpoint, sequences: Sequence[TrainingSequence]) -> float:
        """Perplexity over the training sequences that fit `micro_batch_tokens`; raises `ConfigError` where
        none does.
        """
        device = _device(self.config.device)
        with _threads(self.config.threads):
            model = load_model(checkpoint.path, PACKED_ATTENTION)
            check_vocabulary(sequences, model)
            limit = min(self.config.micro_batch_tokens, positions(model))
            torch.nn.Module.to(model, device)
            network = Network(Reader(model), "policy", device, self.config.dtype == "bf16")
            return perplexity(network, sequences, limit)

    def next_tokens(
        self, checkpoint: Checkpoint, prompts: Sequence[Prompt], ids: Sequence[int]
    ) -> dict[str, Floats]:
        """Prompt -> (D,) log-probabilities of the tokens `ids` after it under the policy in `checkpoint`.

        Prompts beyond `micro_batch_tokens`, or the model's window, are left out.
        """
        device = _device(self.config.device)
        with _threads(self.config.threads):
            model = load_model(checkpoint.path, PACKED_ATTENTION)
            limit = min(self.config.micro_batch_tokens, positions(model))
            torch.nn.Module.to(model, device)
            network = Network(Reader(model), "policy", device, self.config.dtype == "bf16")
            return next_token_logp(network, prompts, ids, limit)

    def _check(self, job: LearnerJob) -> None:
        if job.out.exists():
            raise ConfigError(f"{job.out} exists already: a checkpoint is never overwritten")
        if self.config.shards != self._ranks.size:
            raise ConfigError(
                f"learn.shards is {self.config.shards}, but {self._ranks.size} processes learn: only"
                " `agentevol run` starts several"
            )

    def _scoring(self, model: PreTrainedModel, said: torch.nn.Linear, device: torch.device) -> Network:
        torch.nn.Module.to(model, device)
        return Network(Reader(model, said.to(device)), "reward", device, self.config.dtype == "bf16")


def _identity(config: LearnConfig, training: Training, job: LearnerJob, held: Anchor) -> str:
    """Fingerprint of a training whose state is saved, so that only an equal one resumes from it; "" for one
    whose state is not saved.
    """
    if config.save_every is None:
        return ""
    return fingerprint(
        config,
        job.start,
        sequences=training.fitting.sequences,
        seed=job.seed,
        reference=job.reference,
        multipliers=job.multipliers,
        anchor=(held.checkpoint, held.sequences),
        objectives=tuple(job.objectives),
    )


def _lineage(job: LearnerJob, metrics: Mapping[str, float]) -> Lineage:
    return Lineage(
        version=job.checkpoint.version,
        parent=job.start.path.name,
        parent_version=job.start.version,
        table_version=job.table_version,
        seed=job.seed,
        metrics={name: value if math.isfinite(value) else None for name, value in metrics.items()},
    )


def _files_beside(
    training: Training, used: Sequence[torch.optim.Optimizer], objectives: Sequence[str]
) -> dict[str, bytes]:
    """Further files of the checkpoint, apart from heads, by name; on rank 0, and every rank has to call
    this.
    """
    config, ranks = training.config, training.ranks
    files = {optimiser_state.FILE: optimiser_state.to_bytes(used, ranks)} if config.keep_moments else {}
    if config.ewc is not None and config.ewc.online and training.penalty is not None:
        held = in_one_piece(training.penalty.held, training.network.language(), ranks)
        files[ewc.FILE] = ewc.to_bytes(held)
    if _compares(training.objective.algorithm):
        files[reward_scale.FILE] = scale_of(training, objectives).to_bytes()
    if training.objective.algorithm.data == "steps" and training.network.heads is not None:
        names = head_names.named(objectives, training.network.heads.out_features)
        files[head_names.FILE] = head_names.to_bytes(names)
    return files


def _compares(algorithm: Algorithm) -> bool:
    """True where it learns scores by comparison, which have no zero and no unit until they are
    standardised.
    """
    return algorithm.model == "reward" and algorithm.data == "pairs"


def _train(
    training: Training, used: Sequence[torch.optim.Optimizer], saved: Saved, progress: Progress | None
) -> Figures:
    """Run all optimiser steps, resuming from the state of an earlier call that was killed."""
    config, steps = training.config, training.steps
    figures = (saved.read(training.network, used) if config.save_every else None) or Figures()
    warmup = int(config.warmup_fraction * len(steps))
    training.network.model.train()
    began = time.perf_counter()
    alone = critic.steps_alone(config, training.start.path, len(steps))
    for number in range(len(figures.losses), len(steps)):
        factor = learning_rate_factor(number, len(steps), warmup, config.schedule)
        _set_learning_rate(used, factor)
        loss = _step(training, used, steps[number], figures, critic_alone=number < alone)
        if progress is not None:
            progress(number + 1, len(steps), loss)
        if config.save_every and (number + 1) % config.save_every == 0:
            saved.write(training.network, used, figures)
    figures.seconds += time.perf_counter() - began
    return figures


def _set_learning_rate(used: Sequence[torch.optim.Optimizer], factor: float) -> None:
    for group in (group for optimiser in used for group in optimiser.param_groups):
        group["lr"] = group["initial_lr"] * factor


def _step(
    training: Training,
    used: Sequence[torch.optim.Optimizer],
    batch: OptimiserBatch,
    figures: Figures,
    *,
    critic_alone: bool,
) -> float:
    """Run one optimiser step and return its loss. Raises `RunStopped` before a bad loss reaches the
    weights.
    """
    config, network = training.config, training.network
    critics = critic.own_optimisers(used, network)
    step = accumulate(
        network, training.assembly, training.objective, batch, config.micro_batch_tokens, training.ranks
    )
    if training.penalty is not None:
        held = training.penalty.add_gradient()
        step.loss += held
        step.metrics |= {"ewc_penalty": held, f"ewc_penalty{MAXIMUM}": held}
    grad_norm, noted = critic.clip(network, config.max_grad_norm, apart=bool(critics))
    step.metrics |= noted
    if not (math.isfinite(step.loss) and math.isfinite(grad_norm)):
        raise RunStopped(
            f"learning diverged in step {len(figures.losses) + 1} of {len(training.steps)}: loss {step.loss},"
            f" gradient norm {grad_norm}; nothing was saved; lower learning_rate, now {config.learning_rate}"
        )
    for optimiser in critics if critic_alone else used:
        optimiser.step()
    for optimiser in used:
        optimiser.zero_grad(set_to_none=True)
    figures.add(step, grad_norm, batch.totals.tokens, tokens_of(training.fitting.sequences, batch.indices))
    return step.loss


@contextmanager
def _seeded(seed: int, device: torch.device) -> Generator[None, None, None]:
    """Seed torch's generators (dropout, fresh adapters), then restore their states."""
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        torch.manual_seed(seed)
        yield


@contextmanager
def _threads(count: int | None) -> Generator[None, None, None]:
    """Run with this many CPU threads, then restore the number."""
    before = torch.get_num_threads()
    torch.set_num_threads(count or before)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _device(name: str) -> torch.device:
    """Return the device of this name; raises `ConfigError` where there is none."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        return torch.empty(0, device=name).device
    except (RuntimeError, AssertionError, NotImplementedError) as cause:
        raise ConfigError(f"no device {name!r}: {cause}") from cause
