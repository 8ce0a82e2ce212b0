"""Figures of the requests of one client: `Figures`."""

from dataclasses import asdict, dataclass
from typing import Any

from agentgym_envs.endpoints.records import Completion, Endpoint

CHARACTERS_PER_TOKEN = 4
"""Estimate of a token's length where the endpoint reports no usage."""


@dataclass
class Figures:
    """Number, tokens and time of requests so far."""

    requests: int = 0
    cached: int = 0
    """Answers that were taken from a cache."""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    estimated: int = 0
    """Requests whose tokens are estimated, because the endpoint reported none."""
    latency_s: float = 0.0

    def add(self, completion: Completion, prompt_characters: int) -> None:
        """Count the tokens of one answer."""
        if completion.usage is not None:
            self.prompt_tokens += completion.usage.prompt_tokens
            self.completion_tokens += completion.usage.completion_tokens
            return
        self.estimated += 1
        self.prompt_tokens += prompt_characters // CHARACTERS_PER_TOKEN
        self.completion_tokens += len(completion.said.content or "") // CHARACTERS_PER_TOKEN

    def of(self, endpoint: Endpoint) -> dict[str, Any]:
        """The figures as JSON, with the model and, where prices are known, the cost."""
        told = {
            "model": endpoint.model,
            "host": endpoint.host,
            "temperature": endpoint.temperature,
            "max_tokens": endpoint.max_tokens,
            **asdict(self),
        }
        told["latency_s"] = round(self.latency_s, 3)
        cost = self.cost(endpoint)
        return told if cost is None else {**told, "cost": cost}

    def cost(self, endpoint: Endpoint) -> float | None:
        """Price of the tokens so far; None where prices are not known."""
        if endpoint.prompt_price is None or endpoint.completion_price is None:
            return None
        prompts = self.prompt_tokens * endpoint.prompt_price
        return round((prompts + self.completion_tokens * endpoint.completion_price) / 1e6, 6)
