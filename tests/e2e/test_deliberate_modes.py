"""Modes of thinking matter: a tiny language model, cloned from the expert in all modes, solves what a mode
has room for, and no more.

Run by itself, it prints the table of docs/environments.md: python tests/e2e/test_deliberate_modes.py
"""

import random
import sys
from collections.abc import Iterator

import pytest
import torch
from torch import Tensor
from transformers import LlamaConfig, LlamaForCausalLM

from agentevol.learn.muon import Muon
from agentgym_envs.deliberate import Deliberate
from agentgym_envs.deliberate.puzzles import DEPTHS, NUMBERS
from agentgym_envs.thinking import HEADERS

WORDS = ["<pad>", "<agent>", "<end>", *"0123456789", *NUMBERS, "Counter", "Level", "Answer", *HEADERS[4]]
ID = {word: number for number, word in enumerate(WORDS)}
PAD, AGENT, END = 0, 1, 2
RATE = 5e-3

Table = dict[tuple[str, int], float]


def encode(text: str) -> list[int]:
    return [ID[word] for word in text.split()]


def tiny_model() -> LlamaForCausalLM:
    return LlamaForCausalLM(
        LlamaConfig(
            vocab_size=len(WORDS),
            hidden_size=64,
            intermediate_size=256,
            num_hidden_layers=3,
            num_attention_heads=4,
            max_position_embeddings=64,
            pad_token_id=PAD,
            bos_token_id=AGENT,
            eos_token_id=END,
        )
    )


def demonstrations(size: int, seed: int) -> Iterator[tuple[Tensor, Tensor]]:
    """Batches of the expert's episodes on training tasks, in all modes: ids and labels."""
    draw, world = random.Random(seed), Deliberate()
    tasks = world.tasks("train")
    while True:
        rows: list[tuple[list[int], list[int]]] = []
        for _ in range(size):
            task = tasks[draw.randrange(len(tasks))]
            prompt = [*encode(world.reset(task, seed).text), AGENT]
            reply = [*encode(world.expert(task)[0]), END]
            rows.append((prompt + reply, [-100] * len(prompt) + reply))
        longest = max(len(ids) for ids, _ in rows)
        yield (
            torch.tensor([ids + [PAD] * (longest - len(ids)) for ids, _ in rows]),
            torch.tensor([labels + [-100] * (longest - len(labels)) for _, labels in rows]),
        )


def clone(steps: int, seed: int) -> LlamaForCausalLM:
    torch.manual_seed(seed)
    model = tiny_model()
    inner = [matrix for name, matrix in model.named_parameters() if matrix.ndim == 2 and "layers" in name]
    taken = {id(matrix) for matrix in inner}
    outer = [weight for weight in model.parameters() if id(weight) not in taken]
    muon = Muon(inner, RATE, weight_decay=0.0)
    adamw = torch.optim.AdamW(outer, lr=RATE, betas=(0.9, 0.95), weight_decay=0.0)
    for step, (ids, labels) in zip(range(steps), demonstrations(32, seed), strict=False):
        for optimiser in (muon, adamw):
            optimiser.zero_grad()
            for group in optimiser.param_groups:
                group["lr"] = RATE * min(1.0, (step + 1) / 50) * max(0.02, 1 - step / steps)
        model(input_ids=ids, attention_mask=(ids != PAD).long(), labels=labels).loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        muon.step()
        adamw.step()
    return model.eval()


@torch.no_grad()
def solved(model: LlamaForCausalLM, count: int) -> Table:
    """The mean return on test tasks by difficulty and mode; the model is told the mode and says the rest."""
    world, table = Deliberate(), Table()
    for difficulty in DEPTHS:
        tasks = [world.tasks("test", difficulty)[number] for number in range(count)]
        texts = [[*encode(world.reset(task, 0).text), AGENT] for task in tasks]
        for mode in HEADERS:
            ids = torch.tensor([text + encode(f"Level {mode}") for text in texts])
            said = model.generate(
                ids, attention_mask=torch.ones_like(ids), max_new_tokens=24, do_sample=False, pad_token_id=PAD
            )
            returns: list[float] = []
            for task, row in zip(tasks, said[:, len(texts[0]) :].tolist(), strict=True):
                world.reset(task, 0)
                spoken = row[: row.index(END)] if END in row else row
                returns.append(world.step(" ".join(WORDS[number] for number in spoken)).reward)
            table[difficulty, mode] = sum(returns) / count
    return table


def lines(table: Table) -> Iterator[str]:
    yield f"    {'':10}" + "".join(f"  mode {mode}" for mode in HEADERS)
    for difficulty in DEPTHS:
        yield f"    {difficulty:10}" + "".join(f"{table[difficulty, mode]:8.1%}" for mode in HEADERS)


@pytest.mark.slow
def test_a_mode_solves_what_it_has_room_for_and_no_more():
    torch.set_num_threads(1)
    model = clone(800, seed=0)
    assert len(WORDS) < 100
    assert 100_000 < model.num_parameters() < 1_000_000
    table = solved(model, 100)
    for level, difficulty in enumerate(DEPTHS, start=1):
        for mode in HEADERS:
            share = table[difficulty, mode]
            assert share >= 0.9 if mode >= level else share <= 0.4, "\n".join(lines(table))


if __name__ == "__main__":
    torch.set_num_threads(1)
    for line in lines(solved(clone(1000, seed=int(sys.argv[1]) if len(sys.argv) > 1 else 0), 200)):
        print(line)  # noqa: T201 - what it was started for
