"""Rollout speed: the embedded engine against transformers `generate`, on 64 concurrent multi-turn episodes.

A toy environment of realistic length (a first observation of 150 tokens, then 30 for each turn) and a random
model in the shape of a small Qwen2 (vocabulary 1024, `SHAPE`, untied embeddings). An action has 6 tokens; at
most one in a hundred ends earlier, since the end token is no likelier than the other 1,023. Sides:

    engine             64 episodes at once, keys and values kept across turns
    generate           one episode after another, the whole history anew in each turn
    generate, batched  all episodes of a turn in one call, padded, the whole history anew in each turn

Sides alternate within a run, so that a machine shared with others slows all of them alike; the ratio is taken
within the run. `generate` one by one is measured on fewer episodes (`SINGLE`): its speed does not depend on
their number.
"""

import asyncio
import json as json_module
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast, Qwen2Config, Qwen2ForCausalLM

from agentevol.cli.benchmarks.figures import Figure, ratio
from agentevol.core.protocols import Checkpoint, Conversation, Message, Sampling
from agentevol.engines.embedded.engine import EmbeddedEngine
from agentgym_envs.core import Observation

VOCABULARY = 1024
FIRST_TOKENS, NEXT_TOKENS, ACTION_TOKENS = 150, 30, 6
EPISODES, TURNS, THREADS, RUNS = 64, 15, 1, 3
SINGLE = 4
"""Number of episodes that `generate` plays one by one."""
BUDGET = 3
"""Minimum ratio to the speed of `generate` called per turn on the whole history."""
TEMPLATE = (
    "{% for message in messages %}{{ message.content }}"
    "{% if message.role == 'assistant' %}<|end|>{% else %}<|agent|>{% endif %}{% endfor %}"
)


@dataclass(frozen=True)
class Shape:
    """Sizes of a Qwen2 model."""

    hidden: int
    layers: int
    heads: int
    kv_heads: int
    intermediate: int


SHAPE = Shape(hidden=192, layers=4, heads=6, kv_heads=6, intermediate=512)


def make_checkpoint(folder: Path, shape: Shape = SHAPE) -> Path:
    """A random model with a word-level tokenizer, as a Hugging Face folder."""
    words = {f"w{index}": index for index in range(VOCABULARY - 3)}
    words |= {"<unk>": VOCABULARY - 3, "<|end|>": VOCABULARY - 2, "<|agent|>": VOCABULARY - 1}
    core = Tokenizer(models.WordLevel(words, unk_token="<unk>"))
    core.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=core,
        unk_token="<unk>",
        eos_token="<|end|>",
        additional_special_tokens=["<|agent|>"],
        chat_template=TEMPLATE,
    )
    tokenizer.save_pretrained(folder)
    torch.manual_seed(0)
    config = Qwen2Config(
        vocab_size=VOCABULARY,
        hidden_size=shape.hidden,
        num_hidden_layers=shape.layers,
        num_attention_heads=shape.heads,
        num_key_value_heads=shape.kv_heads,
        intermediate_size=shape.intermediate,
        max_position_embeddings=1024,
        tie_word_embeddings=False,
        bos_token_id=None,
        eos_token_id=VOCABULARY - 2,
    )
    model = Qwen2ForCausalLM(config)
    with torch.no_grad():  # sharper sampling; the end token has logit 0 and is rarely drawn
        model.lm_head.weight.mul_(4)
        model.lm_head.weight[VOCABULARY - 2].zero_()
    model.save_pretrained(folder)
    return folder


def words(seed: int, count: int) -> str:
    """`count` words of the vocabulary, a function of the seed."""
    return " ".join(f"w{(seed * 7919 + place * 104729) % (VOCABULARY - 3)}" for place in range(count))


def observation(episode: int, turn: int) -> str:
    """Observation of the toy environment: long at first, then short."""
    return words(episode * 1000 + turn, FIRST_TOKENS if turn == 0 else NEXT_TOKENS)


async def play(engine: EmbeddedEngine, episodes: int, turns: int) -> int:
    """Play all episodes at once through the engine; returns the number of sampled tokens."""
    policy = engine.serve(Sampling(max_new_tokens=ACTION_TOKENS))

    async def episode(number: int) -> int:
        conversation = Conversation(str(number), [Message("user", observation(number, 0))])
        for turn in range(turns):
            conversation.say(await policy.act(conversation, seed=number))
            conversation.hear(Observation(text=observation(number, turn + 1)))
        policy.release(conversation.id)
        return sum(len(sample.token_ids) for sample in conversation.samples)

    return sum(await asyncio.gather(*(episode(number) for number in range(episodes))))


def generate(model: Any, tokenizer: Any, numbers: list[int], turns: int) -> int:
    """Play the episodes `numbers`, one padded call for each turn; returns the number of sampled tokens."""
    end, agent = tokenizer.convert_tokens_to_ids(["<|end|>", "<|agent|>"])
    histories = [[*tokenizer.encode(observation(number, 0)), agent] for number in numbers]
    sampled = 0
    for turn in range(turns):
        width = max(map(len, histories))
        ids = torch.tensor([[end] * (width - len(history)) + history for history in histories])
        mask = torch.tensor([[0] * (width - len(history)) + [1] * len(history) for history in histories])
        output = model.generate(
            ids,
            attention_mask=mask,
            do_sample=True,
            top_k=0,
            max_new_tokens=ACTION_TOKENS,
            min_new_tokens=ACTION_TOKENS,
            pad_token_id=end,
        )
        for history, row, number in zip(histories, output[:, width:].tolist(), numbers, strict=True):
            sampled += len(row)
            history += [*row, end, *tokenizer.encode(observation(number, turn + 1)), agent]
    return sampled


def speeds(side: Callable[[], int]) -> tuple[float, float]:
    """Sampled tokens per second, and per CPU second, of one run of a side; prompts do not count."""
    start, cpu_start = perf_counter(), process_time()
    tokens = side()
    return tokens / (perf_counter() - start), tokens / (process_time() - cpu_start)


def measure(folder: Path) -> dict[str, list[Figure]]:
    """`RUNS` measurements of each side, in tokens per second and per CPU second, after a warm-up.

    With one thread, CPU time is more reliable than wall time beside other work.
    """
    torch.set_num_threads(THREADS)
    tokenizer = PreTrainedTokenizerFast.from_pretrained(folder)
    model = Qwen2ForCausalLM.from_pretrained(folder).eval()
    engine = EmbeddedEngine(Checkpoint(folder, 0), slots=EPISODES, threads=THREADS)
    everyone = list(range(EPISODES))
    sides: dict[str, Callable[[], int]] = {
        "engine": lambda: asyncio.run(play(engine, EPISODES, TURNS)),
        "generate, batched": lambda: generate(model, tokenizer, everyone, TURNS),
        "generate": lambda: sum(generate(model, tokenizer, [number], TURNS) for number in range(SINGLE)),
    }
    asyncio.run(play(engine, EPISODES, 2))
    generate(model, tokenizer, everyone, 1)
    rounds = [[speeds(side) for side in sides.values()] for _ in range(RUNS)]
    engine.close()
    return {
        unit: [
            Figure(name, unit, tuple(measured[index][place] for measured in rounds))
            for index, name in enumerate(sides)
        ]
        for place, unit in enumerate(("tokens/s", "tokens per CPU second"))
    }


def main(json: bool = False) -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as folder:
        measured = measure(make_checkpoint(Path(folder)))
    figures = [figure for unit, sides in measured.items() for figure in (*sides, *ratios(unit, sides))]
    if json:
        rows = [figure.as_json() for figure in figures]
        print(json_module.dumps({"benchmark": "rollout", "threads": THREADS, "figures": rows}, indent=2))
        return
    print(
        f"{EPISODES} episodes, {TURNS} turns, {FIRST_TOKENS} + {NEXT_TOKENS} tokens a turn, "
        f"{ACTION_TOKENS} sampled a turn, {THREADS} thread, CPU, float32"
    )
    print("\n".join(map(str, figures)))
    print(f"budget {BUDGET} times generate: {'kept' if figures[-1].median >= BUDGET else 'MISSED'}")


def ratios(unit: str, sides: list[Figure]) -> list[Figure]:
    """Ratios of the engine, which comes first, to each other side."""
    engine, *others = sides
    return [ratio(f"engine / {other.what}, {unit}", engine.runs, other.runs) for other in others]
