"""Direct rollout of one-turn environments without a server: one thread samples the answers of a round in one
batch.

It costs a fraction of an engine with a server, for benchmarks that train many times. The training data are
the same: token ids, their log-probabilities and the environment's reward.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from transformers import DynamicCache, PreTrainedModel

from agentevol.config.run import RunConfig
from agentevol.core.protocols import Checkpoint, Message
from agentevol.core.splits import drawn, spread
from agentevol.models.causal_lm import load_model
from agentevol.models.rendering import ChatRenderer, load_tokenizer
from agentgym_envs.core import Task
from agentgym_envs.registry import make
from agentgym_store.records import Sample, Terminated, Trajectory, Turn

Said = tuple[list[int], list[float]]
"""Sampled token ids with their log-probabilities."""


class DirectArena:
    """Environment of one turn whose prompts are equally long."""

    def __init__(self, base: Path, environment: str, new_tokens: int) -> None:
        self._world: Any = make(environment)  # none of these waits on an endpoint
        self._renderer = ChatRenderer(load_tokenizer(base))
        self._new_tokens = new_tokens

    def tested(self, policy: Checkpoint, count: int, seed: int) -> list[Trajectory]:
        """One answer, drawn by `seed` at temperature 1, to each of `count` test tasks."""
        tasks = self._world.tasks("test")
        return self._play(policy, [tasks[place] for place in spread(count)(len(tasks))], 1, seed, 0)

    def explore(self, policy: Checkpoint, config: RunConfig, number: int) -> list[Trajectory]:
        """The episodes of a round, the samples of a task side by side."""
        tasks, explore = self._world.tasks("train"), config.explore
        places = drawn(config.seed, number * explore.tasks, explore.tasks)(len(tasks))
        chosen = [tasks[place] for place in places]
        return self._play(policy, chosen, explore.samples, config.seed, number + 1)

    def _play(
        self, policy: Checkpoint, tasks: Sequence[Task], samples: int, seed: int, number: int
    ) -> list[Trajectory]:
        asked = [task for task in tasks for _ in range(samples)]
        texts = [str(self._world.reset(task, 0).text) for task in asked]
        prompts = [self._renderer.prompt([Message("user", text)]) for text in texts]
        draw = torch.Generator().manual_seed(seed * 10_000 + number)
        model = load_model(policy.path, "sdpa")
        said = sampled(model, prompts, self._renderer.end_id, self._new_tokens, draw)
        return [
            self._judged(task, place % samples, number, text, self._sample(prompt, answer, policy))
            for place, (task, text, prompt, answer) in enumerate(
                zip(asked, texts, prompts, said, strict=True)
            )
        ]

    def _sample(self, prompt: Sequence[int], said: Said, policy: Checkpoint) -> Sample:
        ids, logprobs = said
        return Sample(
            text=self._renderer.text(ids),
            prompt_ids=tuple(prompt),
            token_ids=tuple(ids),
            logprobs=tuple(logprobs),
            policy_version=policy.version,
        )

    def _judged(self, task: Task, attempt: int, number: int, text: str, sample: Sample) -> Trajectory:
        """Episode with this answer and its reward."""
        self._world.reset(task, 0)
        result = self._world.step(sample.text)
        turn = Turn(
            action=sample.text,
            observation=result.observation.text,
            reward=result.reward,
            info=result.info,
            costs=result.costs,
            sample=sample,
        )
        return Trajectory(
            id=f"{number:03d}/{task.id}/{attempt:02d}",
            run="bench",
            iteration=number,
            purpose="explore" if number else "evaluate",
            env=task.env,
            env_version=self._world.version,
            data_version=self._world.data_version,
            task_id=task.id,
            split=task.split,
            difficulty=task.difficulty,
            instruction=task.instruction,
            seed=0,
            attempt=attempt,
            policy=f"version {sample.policy_version}",
            initial_observation=text,
            turns=(turn,),
            ending=Terminated(),
            started_at="",
            wall_s=0.0,
        )


@torch.inference_mode()
def sampled(
    model: PreTrainedModel, prompts: Sequence[Sequence[int]], end_id: int, most: int, draw: torch.Generator
) -> list[Said]:
    """Sample a continuation at temperature 1 after each of the prompts, which are equally long, up to
    `end_id` or `most` tokens.
    """
    said_BT, over_B = torch.tensor(prompts), torch.zeros(len(prompts), dtype=torch.bool)
    cache, read_BT, logps = DynamicCache(), said_BT, list[torch.Tensor]()
    while len(logps) < most and not bool(over_B.all()):
        logits_BTV = model(read_BT, past_key_values=cache, use_cache=True, logits_to_keep=1).logits
        logp_BV = logits_BTV[:, -1].float().log_softmax(-1)
        read_BT = torch.multinomial(logp_BV.exp(), 1, generator=draw)
        logps.append(logp_BV.gather(1, read_BT))
        said_BT = torch.cat([said_BT, read_BT], dim=1)
        over_B |= read_BT[:, 0] == end_id
    ids = said_BT[:, len(prompts[0]) :].tolist()
    logp = torch.cat(logps, dim=1).tolist()
    lengths = [row.index(end_id) + 1 if end_id in row else len(row) for row in ids]
    return [(row[:n], found[:n]) for row, found, n in zip(ids, logp, lengths, strict=True)]
