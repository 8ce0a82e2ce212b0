"""vLLM's own offline throughput: `vllm.LLM.generate`, all prompts in one call.

The other side of the comparison begins a turn when the environment has answered the previous one; this side
gets all turns of all episodes at once, with the resulting histories. No scheduler of episodes can do that, so
this is an upper bound.
"""

import os
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import MISSING, fields
from importlib import import_module
from typing import Any

from agentevol.cli.benchmarks.rollout.work import Ask
from agentevol.engines.vllm.process import SETTINGS
from agentevol.engines.vllm.watchdog import Watchdog, watching_children


@contextmanager
def offline(arguments: Any) -> Generator["Offline"]:
    """`vllm.LLM` with the engine's own `arguments`, an `AsyncEngineArgs`, within the block."""
    for name, value in SETTINGS.items():
        os.environ.setdefault(name, value)
    watchdog = Watchdog()
    with watching_children(watchdog):
        llm = import_module("vllm").LLM(**changed(arguments))
    try:
        yield Offline(llm)
    finally:
        llm.llm_engine.engine_core.shutdown()
        watchdog.dismiss()


def changed(arguments: Any) -> dict[str, Any]:
    """The fields of a dataclass that differ from their defaults.

    >>> changed(Ask((), 3))
    {'prompt_ids': (), 'sampled': 3}
    """
    found: dict[str, Any] = {}
    for field in fields(arguments):
        value = getattr(arguments, field.name)
        default = field.default if field.default_factory is MISSING else field.default_factory()
        if default is MISSING or value != default:
            found[field.name] = value
    return found


class Offline:
    """Wrapper of a `vllm.LLM`."""

    def __init__(self, llm: Any) -> None:
        self._llm = llm
        self._sampling: Any = import_module("vllm").SamplingParams

    def generate(self, work: Sequence[Ask]) -> int:
        """Sample as many tokens after each prompt as the episodes did: with a seed for each turn, and
        log-probabilities. Returns the number of prompt tokens found in the prefix cache; raises `ValueError`
        where the numbers of sampled tokens differ.
        """
        prompts = [{"prompt_token_ids": list(ask.prompt_ids)} for ask in work]
        options = [self._options(ask, number) for number, ask in enumerate(work)]
        outputs = self._llm.generate(prompts, options, use_tqdm=False)
        lengths = [len(output.outputs[0].token_ids) for output in outputs]
        if lengths != [ask.sampled for ask in work]:
            raise ValueError("vLLM did not sample the tokens that it was asked for")
        return sum(output.num_cached_tokens or 0 for output in outputs)

    def forget(self) -> None:
        """Empty the prefix cache."""
        self._llm.reset_prefix_cache()

    def _options(self, ask: Ask, seed: int) -> Any:
        return self._sampling(
            temperature=1.0,
            max_tokens=ask.sampled,
            ignore_eos=True,
            seed=seed,
            logprobs=0,
            detokenize=False,
        )
