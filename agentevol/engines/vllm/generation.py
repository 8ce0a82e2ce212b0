"""Generation with vLLM: requests and their counters, and the probe that verifies weights."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from agentevol.core.errors import PolicyFault, one_line
from agentevol.engines.interfaces import Sampled
from agentevol.engines.vllm.arguments import parameters_of, probe_parameters, sampled_of
from agentevol.engines.vllm.capabilities import Capabilities
from agentevol.engines.vllm.policy import Order, Served, VllmCounts
from agentevol.engines.vllm.process import VllmProcess
from agentevol.engines.vllm.weights import verification


class Generation:
    """Requests of one engine.

    `adapters` gives vLLM's `LoRARequest` for a set of weights, None without adapters. `reason` says why the
    engine serves no more requests, None while it does.
    """

    def __init__(
        self,
        vllm: Capabilities,
        process: VllmProcess,
        counts: VllmCounts,
        adapters: Callable[[Served], Any],
        reason: Callable[[], str | None],
    ) -> None:
        self._vllm, self._process, self._counts = vllm, process, counts
        self._adapters, self._reason = adapters, reason
        self._requests = 0

    async def sample(self, order: Order) -> Sampled:
        """Sample with the weights of the order; cancelling it aborts the request.

        Raises `PolicyFault` where the request was aborted or vLLM failed.
        """
        self._requests += 1
        request_id = f"{order.conversation_id}/{self._requests}"
        parameters = parameters_of(self._vllm, order)
        output, sampled = await self._generate(request_id, order.prompt_ids, parameters, order.served)
        self._counts.read += len(order.prompt_ids)
        self._counts.cached += output.num_cached_tokens or 0
        self._counts.sampled += len(sampled.token_ids)
        return sampled

    async def probe(self, served: Served, vocabulary: int, context: int) -> list[tuple[list[int], Sampled]]:
        """Prompts of the probe (`weights.verification`), and the samples after them. Raises `PolicyFault`."""
        prompts, count = verification.prompts(vocabulary, context), verification.new_tokens(context)
        generated = await asyncio.gather(
            *(
                self._generate(
                    f"probe/{served.version}/{row}", prompt, probe_parameters(self._vllm, row, count), served
                )
                for row, prompt in enumerate(prompts)
            )
        )
        return [(prompt, sampled) for prompt, (_, sampled) in zip(prompts, generated, strict=True)]

    async def _generate(
        self, request_id: str, prompt_ids: Sequence[int], parameters: Any, served: Served
    ) -> tuple[Any, Sampled]:
        """vLLM's output of a request, and the sample in it."""
        try:
            adapters = self._adapters(served)
            output = await self._process.generate(request_id, prompt_ids, parameters, adapters)
        except PolicyFault:
            raise
        except Exception as cause:  # any failure in vLLM is the engine's
            raise PolicyFault(f"vLLM: {one_line(cause)}") from cause
        sampled = sampled_of(output)
        if sampled is None:
            raise PolicyFault(self._reason() or "vLLM aborted it")
        return output, sampled
