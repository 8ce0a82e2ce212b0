"""Figures of an evaluation as rows and lines of text."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from agentevol.core.summaries import MeanScore
from agentevol.loop.report.evaluations.paired import PairedScore
from agentevol.loop.report.evaluations.summary import EvaluationFigures, Means
from agentevol.loop.report.rates import score_interval_text, score_text

Rows = list[tuple[str, ...]]
TELLING = ("ampo", "omniscient")
"""Views of Sotopia's protocol in which an agent reads the other's secret."""


def score_rows(figures: EvaluationFigures, partner: str) -> tuple[Sequence[str], Rows]:
    """Header and rows: mean, interval, n of each dimension, and the means in each seat, and of a partner."""
    seats = figures.by_seat if len(figures.by_seat) > 1 else {}
    beside = {f"seat {seat}": means for seat, means in seats.items()}
    if figures.partner:
        beside[f"beside: {partner}"] = figures.partner
    rows = [
        (name, *_cells(score), *(score_text(means.get(name, MeanScore())) for means in beside.values()))
        for name, score in figures.scores.items()
    ]
    return ("dimension", *_COLUMNS, *beside), rows


def group_rows(group: str, groups: Mapping[str, Means]) -> tuple[Sequence[str], Rows]:
    """Header and rows: mean, interval and n of each dimension that was scored in a group."""
    rows = [
        (value, name, *_cells(score))
        for value, means in groups.items()
        for name, score in means.items()
        if score.n
    ]
    return (group, "dimension", *_COLUMNS), rows


def paired_rows(scores: Mapping[Any, PairedScore]) -> tuple[Sequence[str], Rows]:
    """Header and rows: means of both evaluations, their difference and its interval, pairs and clusters."""
    rows = [
        (
            name,
            f"{one.first:.3f}",
            f"{one.second:.3f}",
            f"{one.second - one.first:+.3f}",
            _signed_interval(one.difference),
            f"{one.difference.n:,}",
            f"{one.difference.clusters:,}",
        )
        for name, one in scores.items()
    ]
    return ("score", "first", "second", "difference", "95 % interval", "pairs", "clusters"), rows


def lines(figures: EvaluationFigures) -> Iterator[str]:
    """Endings with their sum, and what else there is: failures, end reasons, tokens, modes, view, judge."""
    yield f"endings: {_sum(figures)}"
    counts = {
        "failed episodes by cause": figures.failures,
        "end reasons": figures.end_reasons,
        "turns by thinking mode": figures.levels,
    }
    for title, numbers in counts.items():
        if numbers:
            yield f"{title}: {', '.join(f'{name} {count:,}' for name, count in numbers.items())}"
    if figures.scores and figures.unscored:
        yield f"cut by a limit before they were scored: {figures.unscored:,}"
    if figures.tokens_per_turn is not None:
        yield f"tokens per turn: {figures.tokens_per_turn:.1f}"
    for view in figures.views:
        yield f"view: {view}" + (f" ({_TOLD})" if view in TELLING else "")
    yield from (f"judge: {_members(judge)}" for judge in figures.judges)
    of = ", without failed episodes" if figures.failures else ""
    for role, counts in figures.requests.items():
        told = ", ".join(f"{name.replace('_', ' ')} {count:,}" for name, count in counts.items())
        yield f"endpoint of the {role}{of}: {told}"
    yield from figures.labels


def clusters(figures: EvaluationFigures) -> int:
    """Largest number of clusters of a mean score."""
    return max((score.clusters for score in figures.scores.values()), default=0)


_TOLD = "agents read their partner's secret: the dimension `secret` says little"
_COLUMNS = ("mean", "95 % interval", "n")


def _sum(figures: EvaluationFigures) -> str:
    """`38 terminated + 2 failed(policy) = 20 episodes x 2 seats`."""
    ended = " + ".join(f"{count:,} {name}" for name, count in figures.endings.items())
    seats = figures.agents // max(1, figures.played)
    each = f" x {seats} seats" if seats > 1 else ""
    lost = figures.episodes - figures.played
    missing = f"; {lost:,} unaccounted for" if lost else ""
    return f"{ended} = {figures.played:,} episodes{each}{missing}"


def _members(judge: Mapping[str, Any]) -> str:
    """`kind openai, model m, ...`, long texts cut and lists counted: `--json` has them whole."""
    shown = {
        name: len(value) if isinstance(value, list) else str(value)[:40] for name, value in judge.items()
    }
    return ", ".join(f"{name} {value}" for name, value in shown.items())


def _cells(score: MeanScore) -> tuple[str, str, str]:
    return score_text(score), score_interval_text(score), f"{score.n:,}"


def _signed_interval(score: MeanScore) -> str:
    return "–" if score.low is None or score.high is None else f"{score.low:+.3f} to {score.high:+.3f}"
