"""Success rates and mean scores as rows and as text, shared by plot, terminal and page."""

from dataclasses import dataclass

from agentevol.core.summaries import (
    EvaluationSummary,
    IterationSummary,
    MeanScore,
    RunSummary,
    ThinkingSummary,
    best,
    by_reward,
)
from agentevol.loop.report.intervals import newcombe, welch, wilson
from agentgym_envs.thinking import NAMES


@dataclass(frozen=True)
class SuccessRow:
    """One point of the plot: `successes` of `n` episodes after an iteration."""

    iteration: int
    successes: int
    n: int
    group: str = ""
    """An environment, a difficulty, or empty for all episodes together."""


def success_rows(summary: RunSummary) -> list[SuccessRow]:
    """All episodes of every evaluation, and those of each environment or difficulty where there are
    several.
    """
    rows: list[SuccessRow] = []
    for one in summary.iterations:
        if one.evaluation is None:
            continue
        rows.append(SuccessRow(one.iteration, one.evaluation.successes, one.evaluation.n))
        groups = {name: (own.successes, own.n) for name, own in one.evaluation.environments.items()}
        groups = groups or one.evaluation.by.get("difficulty", {})
        if len(groups) > 1:
            rows += [SuccessRow(one.iteration, *counts, name) for name, counts in groups.items()]
    return rows


def breakdown(evaluation: EvaluationSummary, name: str) -> dict[str, tuple[int, int]]:
    """Successes and episodes by value of a breakdown (`kind`, `difficulty`); in a mixed run the values name
    their environment.
    """
    if not evaluation.environments:
        return evaluation.by.get(name, {})
    return {
        f"{environment}: {value}": counts
        for environment, own in evaluation.environments.items()
        for value, counts in own.by.get(name, {}).items()
    }


def rate_text(successes: int, n: int) -> str:
    """`45.0 %`, or a dash where nothing was scored."""
    return f"{successes / n:.1%}".replace("%", " %") if n else "–"


def interval_text(successes: int, n: int) -> str:
    """The 95 % Wilson interval as `38.3 – 51.9 %`."""
    low, high = wilson(successes, n)
    return f"{100 * low:.1f} – {100 * high:.1f} %"


def mean_text(mean: float | None, pattern: str) -> str:
    """A mean in a format such as `.3f`, or a dash where there is none."""
    return "–" if mean is None else format(mean, pattern)


def share_text(share: float | None) -> str:
    """`1.5 %`, or a dash where there is none."""
    return "–" if share is None else f"{100 * share:.1f} %"


def score_text(score: MeanScore) -> str:
    """`5.30`, or a dash where nothing was scored."""
    return "–" if score.mean is None else f"{score.mean:.2f}"


def score_interval_text(score: MeanScore) -> str:
    """The 95 % interval as `4.81 to 5.79`, or a dash where there is none."""
    return "–" if score.low is None or score.high is None else f"{score.low:.2f} to {score.high:.2f}"


def headline(summary: RunSummary) -> str:
    """One sentence: success, or mean return (`evaluate.measure`), at the start and of the best checkpoint,
    and the interval of the difference.
    """
    evaluated = [(one, one.evaluation) for one in summary.iterations if one.evaluation and one.evaluation.n]
    if not evaluated:
        return "Nothing has been evaluated yet."
    start, first = evaluated[0]
    peak = best(summary)
    top = peak.evaluation if peak is not None else None
    graded = by_reward(summary)
    what, level = ("The mean return", _return_text) if graded else ("Success", _success_text)
    before = f"{level(first)} (iteration {start.iteration})"
    if peak is None or peak is start or top is None or not top.n:
        later = "no later iteration is better" if len(evaluated) > 1 else "no later iteration has ended yet"
        return f"{what} on the held-out split “{first.split}” is {before}; {later}."
    after = f"{level(top)} (iteration {peak.iteration}{_chosen_on(peak)})"
    gain = return_gain_text(first, top) if graded else gain_text(first, top)
    return f"{what} on the held-out split “{top.split}” went from {before} to {after}: {gain}."


def _success_text(evaluation: EvaluationSummary) -> str:
    return rate_text(evaluation.successes, evaluation.n)


def _return_text(evaluation: EvaluationSummary) -> str:
    return mean_text(evaluation.mean_reward, ".3f")


def _chosen_on(iteration: IterationSummary) -> str:
    return f", the best on “{iteration.validation.split}”" if iteration.validation else ""


def gain_text(before: EvaluationSummary, after: EvaluationSummary) -> str:
    """`+20.0 points (95 % interval +10.2 to +29.1)`, by Newcombe's method.

    It treats the two samples as independent; on equal tasks the true interval is rather narrower.
    """
    gain = after.successes / after.n - before.successes / before.n
    low, high = newcombe(after.successes, after.n, before.successes, before.n)
    return f"{100 * gain:+.1f} points (95 % interval {100 * low:+.1f} to {100 * high:+.1f})"


def thinking_text(thinking: ThinkingSummary) -> str:
    """`modes 1 to 4: 10.0 %, 30.0 %, 20.0 %, 40.0 %; malformed 0.0 %; 35.0 tokens a turn, ...`."""
    shares = ", ".join(f"{100 * thinking.share(mode):.1f} %" for mode in NAMES)
    counts = {
        "tokens a turn": thinking.all.tokens,
        "of the thought": thinking.all.thinking_tokens,
        "of the answer": thinking.all.answer_tokens,
    }
    counted = ", ".join(f"{count:.1f} {what}" for what, count in counts.items() if count is not None)
    told = f"modes 1 to {len(NAMES)}: {shares}; malformed {100 * thinking.malformed:.1f} %"
    return f"{told}; {counted}" if counted else told


def return_gain_text(before: EvaluationSummary, after: EvaluationSummary) -> str:
    """`+0.201 (95 % interval +0.150 to +0.252)`, by Welch's method, without an interval where the spread of
    the returns was not recorded.

    It treats the two samples as independent; on equal tasks the true interval is rather narrower.
    """
    first, second = before.mean_reward or 0.0, after.mean_reward or 0.0
    gain = second - first
    if before.reward_deviation is None or after.reward_deviation is None:
        return f"{gain:+.3f}"
    low, high = welch((second, after.reward_deviation, after.n), (first, before.reward_deviation, before.n))
    return f"{gain:+.3f} (95 % interval {low:+.3f} to {high:+.3f})"
