"""Metrics of an iteration as numbers with names, for sinks that draw curves."""

from collections.abc import Iterator

from agentevol.core.summaries import EvaluationSummary, IterationSummary, ThinkingSummary


def scalars(summary: IterationSummary) -> Iterator[tuple[str, float]]:
    """Names and values: success, turns and thinking of both evaluations, metrics of the selection, of the
    data and of the learner, seconds of every phase, faults, use of the system.
    """
    for evaluation in (summary.evaluation, summary.validation):
        if evaluation is not None and evaluation.n:
            yield f"success/{evaluation.split}", evaluation.successes / evaluation.n
            yield from _means(evaluation)
            if evaluation.gained is not None and evaluation.lost is not None:
                yield f"gained/{evaluation.split}", float(evaluation.gained)
                yield f"lost/{evaluation.split}", float(evaluation.lost)
            if evaluation.thinking is not None:
                yield from _thinking(evaluation.split, evaluation.thinking)
    yield from ((f"selection/{name}", value) for name, value in summary.selection.items())
    for environment, figures in summary.data.items():
        yield from ((f"data/{environment}/{name}", value) for name, value in figures.items())
    yield from ((f"learn/{name}", value) for name, value in summary.learn.items())
    yield from ((f"seconds/{name}", value) for name, value in summary.seconds.items())
    yield from ((f"faults/{name}", value) for name, value in summary.faults.figures().items())
    yield from ((f"system/{name}", value) for name, value in summary.system.items())


def _means(evaluation: EvaluationSummary) -> Iterator[tuple[str, float]]:
    means = {
        "reward": evaluation.mean_reward,
        "turns": evaluation.mean_turns,
        "tokens": evaluation.mean_tokens,
        "invalid_actions": evaluation.invalid_actions,
    }
    yield from ((f"{name}/{evaluation.split}", mean) for name, mean in means.items() if mean is not None)


def _thinking(split: str, thinking: ThinkingSummary) -> Iterator[tuple[str, float]]:
    """Shares of thinking modes, of malformed replies, and tokens of a turn."""
    for mode in thinking.by_mode:
        yield f"thinking/{split}/mode_{mode}", thinking.share(mode)
    yield f"thinking/{split}/malformed", thinking.malformed
    if thinking.all.tokens is not None:
        yield f"thinking/{split}/tokens", thinking.all.tokens
