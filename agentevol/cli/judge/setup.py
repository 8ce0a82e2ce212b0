"""Options of `agentevol judge` that say by whom and how is judged."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from agentevol.data.judgements.panel import Asked, Panel
    from agentgym_envs.endpoints.budget import Budget


@dataclass(frozen=True)
class Setup:
    """Judges with their settings, and what they are asked."""

    judges: list[str] | None
    dimensions: str | None
    samples: int
    aggregate: Literal["mean", "median"]
    profiles: Path | None
    url: str
    api_key_env: str
    temperature: float
    max_tokens: int
    call_timeout_s: float
    item_timeout_s: float
    retries: int
    concurrency: int
    cache: Path | None
    prices: Path | None
    budget: str | None

    def panel(self) -> "Panel":
        """The judges. Raises `ConfigError`, and for files `SotopiaDataError` and `OSError`."""
        from agentevol.data.judgements.conversations import Conversations
        from agentevol.data.judgements.judges.names import ModelSettings, judges_named, read_prices
        from agentevol.data.judgements.panel import Panel

        conversations = Conversations(self.profiles)
        if self.profiles is not None:
            _ = conversations.profiles  # what is wrong with the folder is told before anybody is asked
        settings = ModelSettings(
            url=self.url,
            api_key_env=self.api_key_env,
            temperature=self.temperature,
            max_tokens=self.max_tokens,
            timeout_s=self.call_timeout_s,
            retries=self.retries,
            concurrency=self.concurrency,
            prices={} if self.prices is None else read_prices(self.prices),
            cache=self.cache,
        )
        budget = None if self.budget is None else _budget(self.budget)
        return Panel(
            judges_named(self.judges or ["rule"], conversations, settings, budget), self.item_timeout_s
        )

    def asked(self) -> "Asked":
        """Requests for every item. Raises `ConfigError` for dimensions that cannot be read."""
        from agentevol.data.judgements.dimension_sets import read_dimensions
        from agentevol.data.judgements.panel import Asked

        chosen = None if self.dimensions is None else read_dimensions(self.dimensions)
        return Asked(dimensions=chosen, samples=self.samples, aggregate=self.aggregate)


def _budget(text: str) -> "Budget":
    """The budget of `--budget`. Raises `ConfigError`."""
    from agentevol.core.errors import ConfigError
    from agentgym_envs.endpoints.budget import Budget

    try:
        return Budget.of(text)
    except ValueError as cause:
        raise ConfigError(str(cause)) from None
