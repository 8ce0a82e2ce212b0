"""Replay of earlier training data beside new data, against forgetting.

100 tokens of new sequences with a fraction of 0.2 get 25 tokens of earlier ones: 25 / 125 = 0.2.
"""

from collections import Counter
from collections.abc import Generator, Hashable, Iterable, Sequence
from itertools import islice
from typing import NamedTuple, TypeVar

import numpy as np

from agentevol.core.errors import ConfigError

ItemT = TypeVar("ItemT")


class Candidate(NamedTuple):
    """Environment and length of a training sequence, as a mixture needs them."""

    environment: str
    tokens: int
    """Learnt tokens, at least 1."""


def mixture(
    new: Sequence[Candidate],
    earlier: Sequence[Candidate],
    *,
    fraction: float = 0.2,
    floor: float = 0.01,
    seed: int = 0,
) -> list[int]:
    """Indices of the `earlier` training sequences to learn beside all `new` ones, in an order drawn from
    `seed`.

    They make up `fraction` of all tokens, up to the length of one, and so of each batch drawn from both in
    random order, in expectation. First each earlier environment is filled up to `floor` of all tokens, then
    sequences are drawn uniformly; none recurs before all have been drawn. Raises `ConfigError` where the
    fraction is too small for the floors. A fraction of 0 replays nothing.
    """
    if not 0 <= fraction < 1 or not 0 <= floor < 1:
        raise ConfigError(f"fraction and floor lie in [0, 1), unlike {fraction} and {floor}")
    if not all(sequence.tokens >= 1 for sequence in earlier):
        raise ConfigError("a replayed sequence needs a trained token")
    new_tokens = sum(sequence.tokens for sequence in new)
    wanted = fraction / (1 - fraction) * new_tokens
    if wanted == 0 or not earlier:
        return []
    lacking = _lacking(new, earlier, floor * (new_tokens + wanted))
    if (needed := sum(lacking.values())) > wanted * (1 + 1e-9):
        raise ConfigError(
            f"a floor of {floor} for {len(lacking)} environments needs {needed:.0f} replayed tokens, but a"
            f" fraction of {fraction} allows {wanted:.0f}: raise the fraction or lower the floor"
        )
    random = np.random.default_rng(seed)
    chosen: list[int] = []
    for environment, tokens in lacking.items():
        own = [index for index, sequence in enumerate(earlier) if sequence.environment == environment]
        chosen += _until(earlier, _turns(own, random), tokens)
    left = wanted - sum(earlier[index].tokens for index in chosen)
    fresh = sorted(set(range(len(earlier))) - set(chosen))
    chosen += _until(earlier, _turns(fresh, random, then=range(len(earlier))), left)
    return random.permutation(chosen).tolist()


def _lacking(new: Sequence[Candidate], earlier: Sequence[Candidate], floor_tokens: float) -> dict[str, float]:
    """Tokens that each earlier environment lacks to its floor, where it lacks any."""
    present = Counter[str]()
    for sequence in new:
        present[sequence.environment] += sequence.tokens
    environments = sorted({sequence.environment for sequence in earlier})
    return {name: floor_tokens - present[name] for name in environments if present[name] < floor_tokens}


def _turns(
    first: Sequence[int], random: np.random.Generator, then: Sequence[int] | None = None
) -> Generator[int, None, None]:
    """`first` in random order, then `then` (or `first`) again and again."""
    yield from random.permutation(first).tolist()
    while True:
        yield from random.permutation(first if then is None else then).tolist()


def _until(sequences: Sequence[Candidate], order: Iterable[int], tokens: float) -> list[int]:
    """The shortest prefix of the order that has `tokens` tokens."""
    chosen: list[int] = []
    for index in order:
        if tokens <= 0:
            break
        chosen.append(index)
        tokens -= sequences[index].tokens
    return chosen


def reservoir(items: Iterable[ItemT], size: int, seed: int) -> list[ItemT]:
    """`size` items of a stream, each with the same probability, in one pass (Vitter, 1985, algorithm R)."""
    random = np.random.default_rng(seed)
    stream = iter(items)
    kept = list(islice(stream, size))
    for seen, item in enumerate(stream, start=len(kept) + 1):
        place = int(random.integers(seen))
        if place < size:
            kept[place] = item
    return kept


def stratified(strata: Sequence[Hashable], size: int, seed: int) -> list[int]:
    """Indices of at most `size` items, as evenly from all strata as their sizes allow.

    With strata (environment, success) rare successes are kept, and so are failures.
    """
    random = np.random.default_rng(seed)
    members: dict[Hashable, list[int]] = {}
    for index in random.permutation(len(strata)).tolist():
        members.setdefault(strata[index], []).append(index)
    rounds = sorted((place, index) for own in members.values() for place, index in enumerate(own))
    # within a round the strata are in random order, or the last would always be cut off
    keys = {index: (place, random.random()) for place, index in rounds}
    return sorted(keys, key=lambda index: keys[index])[:size]
