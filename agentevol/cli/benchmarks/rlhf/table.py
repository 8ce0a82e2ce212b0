"""Table of the comparison: accuracy by stage, differences between arms, and figures by round."""

from collections.abc import Callable, Iterator, Sequence

from agentevol.cli.benchmarks.rlhf.arms import ARMS, PAIRS
from agentevol.cli.benchmarks.rlhf.outcomes import Outcome, Rate, Round
from agentevol.cli.benchmarks.spreads import less, spread
from agentevol.learn.rewards.stopping import overoptimised
from agentevol.loop.report.intervals import wilson

NAME, WIDTH, ROUND = 16, 20, 8
"""Characters of an arm's name, of a figure with its interval, and of a round."""
Figure = Callable[[Outcome], float | None]
PATIENCE = 2
"""Evaluations of `reward.patience` by default."""

STAGES: tuple[tuple[str, Callable[[Outcome], Rate]], ...] = (
    ("base", lambda one: one.base),
    ("cloned", lambda one: one.rounds[0].test),
    ("last round", lambda one: one.rounds[-1].test),
    ("chosen", lambda one: _chosen(one).test),
    ("cloned, sampled", lambda one: one.sampled[0]),
    ("last, sampled", lambda one: one.sampled[1]),
)
"""Accuracy before and after cloning, after the last round, and of the round with the best validation; at
temperature 1 after cloning and after the last round.
"""
FIGURES: tuple[tuple[str, Figure, int], ...] = (
    ("gain on the clone", lambda one: less(one.rounds[-1].test.percent, one.rounds[0].test.percent), 1),
    ("gain, sampled", lambda one: less(one.sampled[1].percent, one.sampled[0].percent), 1),
    ("KL, nats a token", lambda one: one.kl, 3),
    ("held-out pairs %", lambda one: one.held_out_pairs, 1),
    ("samples", lambda one: float(one.samples), 0),
    ("outcomes learnt", lambda one: float(one.labels), 0),
)
CURVES: tuple[tuple[str, Callable[[Round], float | None], int], ...] = (
    ("model's score", lambda one: one.score, 2),
    ("validation %", lambda one: one.validation.percent, 1),
    ("held-out %", lambda one: one.test.percent, 1),
    ("KL", lambda one: one.kl, 3),
    ("pairs right %", lambda one: None if one.pair_accuracy is None else 100 * one.pair_accuracy, 0),
)
"""Figures by round of an arm with a reward model."""


def table(outcomes: Sequence[Outcome]) -> Iterator[str]:
    """Lines of the table: means over the seeds with half of Student's 95 % interval, for a single seed the
    Wilson interval of its questions; differences seed by seed; figures by round.
    """
    n = outcomes[0].rounds[0].test.n
    yield f"right answers to {n} held-out questions of each arm and seed, in percent"
    titles = [*(name for name, _ in STAGES), *(name for name, _, _ in FIGURES)]
    yield f"{'':{NAME}}" + "".join(f"{title:>{WIDTH}}" for title in titles)
    for arm in _arms(outcomes):
        own = [one for one in outcomes if one.arm == arm]
        cells = [*(_rates([stage(one) for one in own]) for _, stage in STAGES), *_figures(own)]
        yield f"{arm:{NAME}}" + "".join(f"{cell:>{WIDTH}}" for cell in cells)
    yield from _differences(outcomes)
    for outcome in outcomes:
        if outcome.preference_rounds:
            yield from _curves(outcome)


def _figures(own: Sequence[Outcome]) -> list[str]:
    return [
        spread([figure(one) for one in own], places, "+" if title.startswith("gain") else "")
        for title, figure, places in FIGURES
    ]


def _rates(rates: Sequence[Rate]) -> str:
    """Mean over seeds with its interval; of one seed the share with that of its questions."""
    if len(rates) > 1 or not rates[0].n:
        return spread([one.percent for one in rates], 1)
    (only,) = rates
    low, high = wilson(only.wins, only.n)
    return f"{only.percent:.1f} ({100 * low:.1f}–{100 * high:.1f})"


def _differences(outcomes: Sequence[Outcome]) -> Iterator[str]:
    """Points after the last round between two arms, seed by seed."""
    yield "\nlast round, points of difference by seed"
    last = {(one.arm, one.seed): one.rounds[-1].test.percent for one in outcomes}
    for first, second in PAIRS:
        seeds = sorted(
            {one.seed for one in outcomes if (first, one.seed) in last and (second, one.seed) in last}
        )
        if seeds:
            found = [less(last[first, seed], last[second, seed]) for seed in seeds]
            by_seed = ", ".join("–" if one is None else f"{one:+.1f}" for one in found)
            yield f"{f'{first} - {second}':{NAME}}{spread(found, 1, '+'):>{WIDTH}}   {by_seed}"


def _curves(outcome: Outcome) -> Iterator[str]:
    """Figures of one run by round, and when it stopped or would have been stopped."""
    rounds = outcome.rounds
    yield f"\n{outcome.arm}, seed {outcome.seed}: {stop_of(outcome)}"
    yield f"{'round':{NAME}}" + "".join(f"{one.iteration:>{ROUND}}" for one in rounds)
    for name, figure, places in CURVES:
        yield f"{name:{NAME}}" + "".join(f"{_number(figure(one), places):>{ROUND}}" for one in rounds)


def stop_of(outcome: Outcome) -> str:
    """Phrase about the stop of a run: when it fired, or would have."""
    if outcome.stopped_after is not None:
        return f"stopped after round {outcome.stopped_after} of {outcome.planned}"
    known = [one for one in outcome.rounds if one.score is not None and one.validation.percent is not None]
    score, right = ([figure(one) or 0.0 for one in known] for figure in (_score, _validation))
    place = overoptimised(score, right, patience=PATIENCE)
    if place is None:
        return f"all {outcome.planned} rounds, and a patience of {PATIENCE} would not have stopped it"
    return (
        f"all {outcome.planned} rounds; a patience of {PATIENCE} stops after round {known[place].iteration}"
    )


def _score(one: Round) -> float | None:
    return one.score


def _validation(one: Round) -> float | None:
    return one.validation.percent


def _chosen(outcome: Outcome) -> Round:
    """The round with the best validation, the earliest of equals."""
    return max(outcome.rounds, key=lambda one: one.validation.percent or 0.0)


def _number(value: float | None, places: int) -> str:
    return "–" if value is None else f"{value:.{places}f}"


def _arms(outcomes: Sequence[Outcome]) -> list[str]:
    """Arms with an outcome, in the order of the table."""
    found = {one.arm for one in outcomes}
    return [arm for arm in ARMS if arm in found]
