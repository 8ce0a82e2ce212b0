"""Budget of calls to endpoints, in US dollars or tokens: `Budget`, `shared_budget`."""

import re
from collections.abc import Sequence
from typing import Final, Literal

from agentgym_envs.endpoints.figures import Figures
from agentgym_envs.endpoints.records import Endpoint

_FORM: Final = re.compile(r"(\d{1,12}(?:\.\d{1,6})?) ?(usd|tokens)", re.IGNORECASE | re.ASCII)


class Budget:
    """Limit of what endpoints may cost together. Calls that are under way when it is reached go on."""

    def __init__(self, limit: float, unit: Literal["usd", "tokens"]) -> None:
        self.limit, self.unit = limit, unit
        self._watched: list[tuple[Endpoint, Figures]] = []

    @classmethod
    def of(cls, text: str) -> "Budget":
        """The budget of a text such as `2.50usd` or `100000tokens`. Raises `ValueError`, in one line."""
        found = _FORM.fullmatch(text.strip())
        if found is None or float(found[1]) <= 0:
            raise ValueError(
                f"the budget {text!r} is neither dollars, as 2.50usd, nor tokens, as 100000tokens"
            )
        return cls(float(found[1]), "usd" if found[2].lower() == "usd" else "tokens")

    def watch(self, endpoint: Endpoint, figures: Figures) -> None:
        """Count what `figures` count from now on. Raises `ValueError` for dollars without prices."""
        if self.unit == "usd" and figures.cost(endpoint) is None:
            raise ValueError(f"a budget in dollars needs the prices of {endpoint.model!r}")
        self._watched.append((endpoint, figures))

    def figures(self, endpoint: Endpoint) -> Figures:
        """Figures of all requests to an endpoint; counted from the first call of this method on."""
        for watched, figures in self._watched:
            if watched == endpoint:
                return figures
        self.watch(endpoint, Figures())
        return self._watched[-1][1]

    @property
    def spent(self) -> float:
        """Dollars or tokens so far."""
        if self.unit == "usd":
            return sum(figures.cost(endpoint) or 0.0 for endpoint, figures in self._watched)
        return float(sum(one.prompt_tokens + one.completion_tokens for _, one in self._watched))

    @property
    def is_spent(self) -> bool:
        """Whether the limit is reached."""
        return self.spent >= self.limit

    def __str__(self) -> str:
        return f"${self.limit:g}" if self.unit == "usd" else f"{self.limit:,.0f} tokens"


_SHARED: dict[tuple[str, ...], Budget] = {}


def shared_budget(text: str, endpoints: Sequence[Endpoint]) -> Budget:
    """The budget of this process for these endpoints. Raises `ValueError` as `Budget.of` and `watch` do."""
    key = text, *(one.model_dump_json() for one in endpoints)
    if key not in _SHARED:
        budget = Budget.of(text)
        for endpoint in endpoints:
            budget.figures(endpoint)
        _SHARED[key] = budget
    return _SHARED[key]
