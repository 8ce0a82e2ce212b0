"""Lagrange multipliers of constrained costs (their prices), updated once for each round.

    prices/0003.json   the prices after iteration 3, used by iteration 4

Each file is a cache: it holds the key of the episodes and the configuration that it was derived from, and a
hash of the prices. One that is missing, damaged, or of another key is derived again from the one before.
"""

import json
from collections.abc import Callable, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

from agentevol.config.run import RunConfig
from agentevol.core.algorithms.registry import objective
from agentevol.core.errors import ConfigError
from agentevol.core.files import write_atomically
from agentevol.learn.constraints import Multiplier, from_json, to_json
from agentevol.loop.control.controllers import multipliers
from agentevol.loop.state.cache import CacheKeys
from agentevol.loop.state.episodes import Episodes
from agentgym_store.records import Trajectory

Costed = Callable[[int, Sequence[Trajectory]], Sequence[Trajectory]]
"""Function of an iteration and its explored episodes."""


class Prices:
    """Prices of constrained costs, iteration by iteration."""

    def __init__(
        self, folder: Path, config: RunConfig, episodes: Episodes, keys: CacheKeys, costed: Costed
    ) -> None:
        """`costed` gives the explored episodes of an iteration costs that are not in the table."""
        self._folder, self._episodes, self._keys, self._costed = folder, episodes, keys, costed
        self._constraints = config.constraints
        self._cost = str(objective(config.learn.algorithm, config.learn.options).options.get("cost", "sum"))

    def before(self, iteration: int) -> dict[str, Multiplier]:
        """Prices used by this iteration; empty without a constraint.

        Only rounds whose prices are not known are read.
        """
        if not self._constraints:
            return {}
        keys = self._after(iteration - 1)
        known = next((n for n in range(len(keys), 0, -1) if self._read(n, keys[n - 1])), 0)
        found = self._read(known, keys[known - 1]) if known else None
        for number in range(known + 1, len(keys) + 1):
            found = self._step(found, self._costed(number, self._episodes.explored(number)))
            self._write(number, keys[number - 1], found)
        return self._step(None) if found is None else found

    def update(self, iteration: int, explored: Sequence[Trajectory]) -> None:
        """Derive the prices after a round from its complete episodes, while they are in memory."""
        if self._constraints and self._episodes.ids("explore", iteration) == {t.episode for t in explored}:
            key = self._after(iteration)[-1]
            self._write(iteration, key, self._step(self.before(iteration), self._costed(iteration, explored)))

    def _step(
        self, before: dict[str, Multiplier] | None, *explored: Sequence[Trajectory]
    ) -> dict[str, Multiplier]:
        return multipliers(self._constraints, explored, self._cost, before)

    def _after(self, iteration: int) -> list[str]:
        """Keys of the prices after each iteration up to this one."""
        keys = list[str]()
        for fingerprint in self._episodes.fingerprints("explore", range(1, iteration + 1)):
            keys.append(self._keys.of("prices", fingerprint, *keys[-1:]))
        return keys

    def _read(self, iteration: int, key: str) -> dict[str, Multiplier] | None:
        try:
            told: Any = json.loads(self._file(iteration).read_text())
            text = told["multipliers"]
            whole = (told["key"], told["sha256"]) == (key, _checksum(text))
            return from_json(text) if whole else None
        except (OSError, ValueError, TypeError, KeyError, AttributeError, ConfigError):
            return None

    def _write(self, iteration: int, key: str, found: dict[str, Multiplier]) -> None:
        text = to_json(found)
        told = {"key": key, "sha256": _checksum(text), "multipliers": text}
        write_atomically(self._file(iteration), json.dumps(told, indent=1))

    def _file(self, iteration: int) -> Path:
        return self._folder / f"{iteration:04d}.json"


def _checksum(text: str) -> str:
    return sha256(text.encode()).hexdigest()
