"""Walks through a shop: time of a step, and memory of a session."""

import gc
import time
import tracemalloc
from collections.abc import Sequence
from typing import Any

SESSIONS = 256


class Walk:
    """One session, from a search to the purchase of its first hit."""

    def __init__(self, shop: Any) -> None:
        from agentgym_envs.webshop.state import State

        self.shop, self.state, self.steps = shop, State(), 0

    def to_item(self, title: str) -> None:
        """Search, open the first hit, and choose an option of each group."""
        self._step(f"search[{title}]")
        first = self.shop.shown(self.state)[0]
        self._step(f"click[{first.asin}]")
        for values in first.options.values():
            if values and values[0]:
                self._step(f"click[{values[0]}]")

    def to_end(self) -> None:
        """Read the features, and buy."""
        for action in ("click[features]", "click[< prev]", "click[buy now]"):
            self._step(action)

    def _step(self, action: str) -> None:
        """Step with the page's text and its clickables afterwards, as an environment makes them."""
        from agentgym_envs.webshop.pages import plain

        after = self.shop.step(self.state, action)
        if after is None:
            raise RuntimeError(f"{action} did nothing on the page {self.state.page!r}")
        self.state = after
        self.steps += 1
        plain(self.shop, self.state, "i need what is in this shop")
        self.shop.clickables(self.state)


def step_ms(catalogue: Any, titles: Sequence[str]) -> float:
    """Milliseconds a step, over a walk for each title, none of which was searched before."""
    shop = _shop(catalogue)
    steps, began = 0, time.perf_counter()
    for title in titles:
        walk = Walk(shop)
        walk.to_item(title)
        walk.to_end()
        steps += walk.steps
    return (time.perf_counter() - began) * 1e3 / steps


def session_bytes(catalogue: Any, titles: Sequence[str]) -> float:
    """Mean memory freed with each of many sessions on the page of an item, all in one shop."""
    tracemalloc.start()
    try:
        states = _on_items(catalogue, titles)
        gc.collect()  # the shop, whose caches are shared by all sessions
        held = tracemalloc.get_traced_memory()[0]
        states.clear()
        gc.collect()
        return (held - tracemalloc.get_traced_memory()[0]) / SESSIONS
    finally:
        tracemalloc.stop()


def _on_items(catalogue: Any, titles: Sequence[str]) -> list[Any]:
    shop, states = _shop(catalogue), list[Any]()
    for number in range(SESSIONS):
        walk = Walk(shop)
        walk.to_item(titles[number % len(titles)])
        states.append(walk.state)
    return states


def _shop(catalogue: Any) -> Any:
    from agentgym_envs.webshop.rules import FIXED
    from agentgym_envs.webshop.shop import Shop

    return Shop(catalogue, FIXED)
