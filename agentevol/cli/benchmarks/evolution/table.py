"""Table of an experiment: means over seeds with intervals, differences from the control, curves."""

from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean

from agentevol.cli.benchmarks.evolution.experiment import Column, Experiment, Row
from agentevol.cli.benchmarks.spreads import less, spread

WIDTH, NAME = 18, 32
"""Characters of a figure with its interval, and of an arm's name."""


def table(experiment: Experiment, rows: Sequence[Row]) -> Iterator[str]:
    """Lines of the table. An interval is Student's, of 95 %, over the seeds; a difference is taken seed by
    seed.
    """
    found = {arm: {row.seed: row for row in rows if row.arm == arm} for arm in experiment.arms}
    found = {arm: by_seed for arm, by_seed in found.items() if by_seed}
    yield f"\n{experiment.title}"
    yield f"{'':{NAME}}{'seeds':>6}" + "".join(f"{title:>{WIDTH}}" for _, title, _ in experiment.columns)
    for arm, by_seed in found.items():
        cells = [
            spread([row.figures.get(name) for row in by_seed.values()], places)
            for name, _, places in experiment.columns
        ]
        yield f"{arm:{NAME}}{len(by_seed):>6}" + "".join(f"{cell:>{WIDTH}}" for cell in cells)
    yield from _differences(experiment, found)
    yield from _curves(experiment, found)


def _differences(experiment: Experiment, found: Mapping[str, Mapping[int, Row]]) -> Iterator[str]:
    arms = {experiment.control: [arm for arm in found if arm != experiment.control]}
    for arm, other in experiment.beside.items():
        arms.setdefault(other, []).append(arm)
    for control, own in arms.items():
        compared = [arm for arm in own if found.get(arm, {}).keys() & found.get(control, {})]
        if compared:
            yield f"\nless {control}, seed by seed"
        for arm in compared:
            yield _difference(arm, found[arm], found[control], experiment.columns)


def _difference(
    arm: str, by_seed: Mapping[int, Row], control: Mapping[int, Row], columns: Sequence[Column]
) -> str:
    seeds = sorted(by_seed.keys() & control.keys())
    cells = [
        spread(
            [less(by_seed[seed].figures.get(name), control[seed].figures.get(name)) for seed in seeds],
            places,
            "+",
        )
        for name, _, places in columns
    ]
    return f"{arm:{NAME}}{len(seeds):>6}" + "".join(f"{cell:>{WIDTH}}" for cell in cells)


def _curves(experiment: Experiment, found: Mapping[str, Mapping[int, Row]]) -> Iterator[str]:
    """Means over the seeds by iteration."""
    for figure, title in experiment.curves.items():
        yield f"\n{title}, by iteration: mean over the seeds"
        for arm, by_seed in found.items():
            curves = [row.curves[figure] for row in by_seed.values() if row.curves.get(figure)]
            if curves:
                means = [fmean(values) for values in zip(*curves, strict=False)]
                yield f"{arm:{NAME}}" + "".join(f"{value:>8.3f}" for value in means)
