"""Tables of thinking modes: their shares, over all turns of an evaluation and by the number of the turn."""

from collections.abc import Iterator

from agentevol.core.summaries import RunSummary, ThinkingSummary
from agentgym_envs.thinking import NAMES

SHARES = [*(f"mode {mode}" for mode in NAMES), "malformed"]
"""Columns of the shares of a row."""


def thinking_table(summary: RunSummary) -> tuple[list[str], list[list[str]]]:
    """Header and rows: a line for all turns of each evaluated iteration, and of the first and the last one a
    line for each turn.
    """
    found = [
        (one.iteration, one.evaluation.thinking)
        for one in summary.iterations
        if one.evaluation is not None and one.evaluation.thinking is not None
    ]
    ends = {found[0][0], found[-1][0]} if found else set[int]()
    rows = [row for number, one in found for row in _rows(number, one, by_turn=number in ends)]
    return ["iteration", "turn", "replies", *SHARES, "tokens", "of the thought", "of the answer"], rows


def shares_by_turn(thinking: ThinkingSummary) -> Iterator[tuple[int, int, list[float]]]:
    """Number of the turn, its replies, and the share of each mode and of malformed replies among them."""
    for turn, counts in thinking.by_turn.items():
        total = sum(counts.values())
        yield turn, total, [counts.get(mode, 0) / total for mode in (*NAMES, -1)]


def _rows(iteration: int, thinking: ThinkingSummary, *, by_turn: bool) -> Iterator[list[str]]:
    whole = thinking.all
    shares = [*(thinking.share(mode) for mode in NAMES), thinking.malformed]
    counts = [whole.tokens, whole.thinking_tokens, whole.answer_tokens]
    yield [
        *(f"{iteration}", "all", f"{whole.turns:,}"),
        *_percent(shares),
        *("–" if count is None else f"{count:.1f}" for count in counts),
    ]
    if by_turn:
        for turn, total, own in shares_by_turn(thinking):
            yield [f"{iteration}", f"{turn}", f"{total:,}", *_percent(own), *("",) * len(counts)]


def _percent(shares: list[float]) -> list[str]:
    return [f"{100 * share:.1f} %" for share in shares]
