"""Sides of the comparison: each trains on units of sequences in this process, and measures its time."""

import importlib
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from transformers import Qwen2Config, Qwen2ForCausalLM

from agentevol.cli.benchmarks.learn.lanes import Lane, Shape
from agentevol.cli.benchmarks.learn.sequences import END, SEED, Unit, for_the_learner, tokens_per_step
from agentevol.config.sections.learner import LearnConfig
from agentevol.core.protocols import Checkpoint, LearnerJob, TrainingSequence
from agentevol.learn.learner import GradientLearner
from agentevol.models.causal_lm import without_bars


@dataclass
class Learnt:
    """Result of one side's training."""

    wall: float = 0.0
    cpu: float = 0.0
    """CPU seconds of all threads."""
    losses: list[float] = field(default_factory=list[float])
    """Loss of every step."""

    def timed(self, work: Callable[[], object]) -> "Learnt":
        """Run and time the work once."""
        wall, cpu = time.perf_counter(), time.process_time()
        work()
        if torch.cuda.is_available():
            torch.cuda.synchronize()
        self.wall, self.cpu = time.perf_counter() - wall, time.process_time() - cpu
        return self


def make_model(shape: Shape, folder: Path) -> None:
    """Write random weights as a Hugging Face folder."""
    torch.manual_seed(0)
    config = Qwen2Config(
        vocab_size=shape.vocabulary,
        hidden_size=shape.hidden,
        intermediate_size=shape.intermediate,
        num_hidden_layers=shape.layers,
        num_attention_heads=shape.heads,
        num_key_value_heads=shape.kv_heads,
        max_position_embeddings=shape.positions,
        tie_word_embeddings=shape.tied,
    )
    with without_bars():
        Qwen2ForCausalLM(config).save_pretrained(folder)


def learner(lane: Lane, folder: Path, units: Sequence[Unit]) -> Learnt:
    """`GradientLearner`, from a folder to a folder."""
    learnt = Learnt()
    config = LearnConfig(
        algorithm=lane.algorithm,
        learning_rate=lane.learning_rate,
        warmup_fraction=0.0,
        schedule="constant",
        batch_tokens=tokens_per_step(lane, units),
        micro_batch_tokens=lane.pass_tokens,
        dtype=lane.dtype,
        threads=lane.threads,
        device=lane.device,
    )
    trained = GradientLearner(config, lambda _step, _steps, loss: learnt.losses.append(loss))
    sequences = for_the_learner(units)
    with tempfile.TemporaryDirectory() as out:
        return learnt.timed(
            lambda: trained.learn(LearnerJob(Checkpoint(folder, 0), sequences, Path(out) / "new", SEED))
        )


def padded(lane: Lane, folder: Path, units: Sequence[Unit]) -> Learnt:
    """The naive training loop."""
    learnt, sequences = Learnt(), [sequence for unit in units for sequence in unit]
    model = Qwen2ForCausalLM.from_pretrained(folder, dtype=torch.float32).train()
    torch.nn.Module.to(model, torch.device(lane.device))
    optimiser = torch.optim.AdamW(model.parameters(), lr=lane.learning_rate, weight_decay=0.0, fused=True)

    def epoch() -> None:
        for first in range(0, len(sequences), lane.sequences_per_step):
            batch = collate(sequences[first : first + lane.sequences_per_step], lane.device)
            with torch.autocast(lane.device, dtype=torch.bfloat16, enabled=lane.dtype == "bf16"):
                loss: Any = model(**batch).loss
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimiser.step()
            optimiser.zero_grad()
            learnt.losses.append(loss.item())

    return learnt.timed(epoch)


def collate(sequences: Sequence[TrainingSequence], device: str) -> dict[str, torch.Tensor]:
    """Sequences padded to the longest, with labels of -100 on untrained tokens."""
    shape = (len(sequences), max(len(sequence.token_ids) for sequence in sequences))
    token_ids, labels, attended = (
        torch.zeros(shape, dtype=torch.long),
        torch.full(shape, -100),
        torch.zeros(shape),
    )
    for index, sequence in enumerate(sequences):
        ids, mask = torch.from_numpy(sequence.token_ids).long(), torch.from_numpy(sequence.mask)
        token_ids[index, : len(ids)] = ids
        labels[index, : len(ids)] = torch.where(mask, ids, -100)
        attended[index, : len(ids)] = 1
    batch = {"input_ids": token_ids, "labels": labels, "attention_mask": attended}
    return {name: tensor.to(device) for name, tensor in batch.items()}


def trl(lane: Lane, folder: Path, units: Sequence[Unit]) -> Learnt:
    """TRL's trainer of the lane's algorithm, with its logged losses."""
    library: Any = importlib.import_module("trl")
    datasets: Any = importlib.import_module("datasets")
    per_unit = len(units[0])
    with tempfile.TemporaryDirectory() as out:
        options: dict[str, Any] = {
            "output_dir": out,
            "per_device_train_batch_size": lane.trl_sequences // per_unit,
            "gradient_accumulation_steps": lane.sequences_per_step // lane.trl_sequences,
            "train_sampling_strategy": "sequential",
            "learning_rate": lane.learning_rate,
            "lr_scheduler_type": "constant",
            "num_train_epochs": 1,
            "max_length": lane.shape.positions,
            "bf16": lane.dtype == "bf16",
            "use_cpu": lane.device == "cpu",
            "gradient_checkpointing": False,
            "logging_steps": 1,
            "save_strategy": "no",
            "report_to": [],
            "disable_tqdm": True,
        }
        if lane.algorithm == "sft":
            kind, config = library.SFTTrainer, library.SFTConfig(**options, completion_only_loss=True)
        else:
            kind, config = library.DPOTrainer, library.DPOConfig(**options)
        trainer = kind(
            model=Qwen2ForCausalLM.from_pretrained(folder, dtype=torch.float32),
            args=config,
            train_dataset=datasets.Dataset.from_dict(columns(units)),
            processing_class=_tokenizer(lane.shape.vocabulary),
        )
        learnt = Learnt().timed(trainer.train)
        learnt.losses = [entry["loss"] for entry in trainer.state.log_history if "loss" in entry]
        return learnt


def columns(units: Sequence[Unit]) -> dict[str, list[Any]]:
    """Units in TRL's format: token ids and their mask, or the texts of pairs."""
    if len(units[0]) == 1:
        sequences = [unit[0] for unit in units]
        return {
            "input_ids": [sequence.token_ids.tolist() for sequence in sequences],
            "completion_mask": [sequence.mask.astype(int).tolist() for sequence in sequences],
        }
    return {
        "prompt": [_text(chosen, before=True) for chosen, _ in units],
        "chosen": [" " + _text(chosen, before=False) for chosen, _ in units],
        "rejected": [" " + _text(rejected, before=False) for _, rejected in units],
    }


def _text(sequence: TrainingSequence, *, before: bool) -> str:
    """Prompt of a sequence, or its completion, one word for each token."""
    return " ".join(map(_word, sequence.token_ids[sequence.mask != before].tolist()))


def _word(token: int) -> str:
    """Word of a token. No word is a part of another: special ones would be found in it."""
    return f"<{token}>"


def _tokenizer(vocabulary: int) -> Any:
    transformers: Any = importlib.import_module("transformers")
    tokenizers: Any = importlib.import_module("tokenizers")
    words = tokenizers.models.WordLevel({_word(token): token for token in range(vocabulary)}, _word(0))
    core = tokenizers.Tokenizer(words)
    core.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=core, pad_token=_word(0), eos_token=_word(END), unk_token=_word(0)
    )


SIDES = {"learner": learner, "padded": padded, "trl": trl}
