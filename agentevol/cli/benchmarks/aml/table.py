"""Table of the paper's shape: goal, overall, tokens a turn, modes by turn; differences between arms."""

from collections.abc import Callable, Iterator, Sequence

from agentevol.cli.benchmarks.aml.arms import ARMS, PAIRS, PLAYS
from agentevol.cli.benchmarks.aml.figures import PlayFigures
from agentevol.cli.benchmarks.aml.outcomes import Outcome
from agentevol.cli.benchmarks.spreads import less, spread
from agentgym_envs.thinking import NAMES

WIDTH, NAME = 15, 12
"""Characters of a figure with its interval, and of an arm's name."""
Column = tuple[str, Callable[[PlayFigures], float | None], int]
"""Title, figure and decimals."""


def _share(mode: int) -> Callable[[PlayFigures], float | None]:
    return lambda one: 100 * one.thinking.share(mode) if one.thinking else None


COLUMNS: tuple[Column, ...] = (
    ("goal", lambda one: one.goal, 2),
    ("overall", lambda one: one.overall, 2),
    ("reward", lambda one: one.reward, 3),
    ("tokens a turn", lambda one: one.thinking.all.tokens if one.thinking else None, 1),
    ("answer tokens", lambda one: one.thinking.all.answer_tokens if one.thinking else None, 1),
    ("turns", lambda one: one.turns, 1),
    *((f"mode {mode} %", _share(mode), 0) for mode in NAMES),
    ("malformed %", lambda one: 100 * one.thinking.malformed if one.thinking else None, 1),
)


def table(outcomes: Sequence[Outcome]) -> Iterator[str]:
    """Lines of the table: means over the seeds with half of Student's 95 % interval, where there are several;
    differences seed by seed.
    """
    for play in PLAYS:
        found = [one for one in outcomes if play in one.plays]
        if found:
            yield from _play(play, found)


def _play(play: str, outcomes: Sequence[Outcome]) -> Iterator[str]:
    n = outcomes[0].plays[play].n
    yield f"\n{PLAYS[play]}: {n} scored episodes of each arm and seed"
    yield f"{'':{NAME}}" + "".join(f"{name:>{WIDTH}}" for name, _, _ in COLUMNS)
    for arm in _arms(outcomes):
        rows = [one.plays[play] for one in outcomes if one.arm == arm]
        yield f"{arm:{NAME}}" + "".join(
            f"{spread([figure(row) for row in rows], places):>{WIDTH}}" for _, figure, places in COLUMNS
        )
    for first, second in PAIRS:
        yield from _difference(play, outcomes, first, second)
    yield from _kinds(play, outcomes)
    yield from _by_turn(play, outcomes)


def _difference(play: str, outcomes: Sequence[Outcome], first: str, second: str) -> Iterator[str]:
    ones, others = (
        {one.seed: one.plays[play] for one in outcomes if one.arm == arm} for arm in (first, second)
    )
    seeds = sorted(ones.keys() & others.keys())
    if not seeds:
        return
    cells = [
        spread([less(figure(ones[seed]), figure(others[seed])) for seed in seeds], places, "+")
        for _, figure, places in COLUMNS
    ]
    yield f"{f'{first} - {second}':{NAME}}" + "".join(f"{cell:>{WIDTH}}" for cell in cells)


def _kinds(play: str, outcomes: Sequence[Outcome]) -> Iterator[str]:
    """Mean goal (or reward) of each arm by kind of task."""
    kinds = sorted({kind for one in outcomes for kind in one.plays[play].kinds})
    if len(kinds) < 2:
        return
    yield f"\n{title_of(outcomes[0].plays[play])} by kind of task, {play}"
    yield f"{'':{NAME}}" + "".join(f"{kind:>{WIDTH}}" for kind in kinds)
    for arm in _arms(outcomes):
        rows = [one.plays[play].kinds for one in outcomes if one.arm == arm]
        yield f"{arm:{NAME}}" + "".join(
            f"{spread([row.get(kind) for row in rows], 2):>{WIDTH}}" for kind in kinds
        )


def title_of(figures: PlayFigures) -> str:
    """Name of the figure by which kinds are compared."""
    return "reward" if figures.goal is None else "goal"


def _by_turn(play: str, outcomes: Sequence[Outcome]) -> Iterator[str]:
    """Share of each mode among the replies of a turn, all seeds together."""
    yield f"\nreplies by turn and mode, {play}: percent in mode {', '.join(str(mode) for mode in NAMES)}"
    turns = sorted({turn for one in outcomes for turn in _turns(one.plays[play])})
    yield f"{'':{NAME}}" + "".join(f"{f'turn {turn}':>{WIDTH}}" for turn in turns)
    for arm in _arms(outcomes):
        rows = [_turns(one.plays[play]) for one in outcomes if one.arm == arm]
        yield f"{arm:{NAME}}" + "".join(f"{_modes(rows, turn):>{WIDTH}}" for turn in turns)


def _modes(rows: Sequence[dict[int, dict[int, int]]], turn: int) -> str:
    counts = [row.get(turn, {}) for row in rows]
    total = sum(sum(count.values()) for count in counts)
    if not total:
        return "–"
    return "/".join(f"{100 * sum(count.get(mode, 0) for count in counts) / total:.0f}" for mode in NAMES)


def _turns(figures: PlayFigures) -> dict[int, dict[int, int]]:
    return figures.thinking.by_turn if figures.thinking else {}


def _arms(outcomes: Sequence[Outcome]) -> list[str]:
    """Arms with an outcome, in the order of the table."""
    found = {one.arm for one in outcomes}
    return [arm for arm in ARMS if arm in found]
