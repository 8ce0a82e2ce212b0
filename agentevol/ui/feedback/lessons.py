"""Commands that learn from what people said, and measure what it changed."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from agentevol.config.commands import command, evaluation_commands, records_files
from agentevol.core.errors import AgentEvolError
from agentevol.core.summaries import RunSummary, best
from agentevol.data.feedback.opinions import action_format_of
from agentevol.ui.library import Source
from agentevol.ui.runs.summaries import summary_of
from agentgym_store.feedback.records import Comparison, Feedback

ALGORITHMS = (
    ("dpo", ("correction", "comparison"), "makes the better action or episode more probable than the other"),
    ("sft", ("correction",), "imitates the better actions"),
    ("kto", ("score",), "makes episodes rated 4 or 5 more probable, and those rated 1 or 2 less"),
)
"""Algorithms, the kinds of opinions that they learn from, and their effect."""
MODEL = "MODEL"
"""Stands for a model that is not known here."""


@dataclass(frozen=True)
class Lesson:
    """An algorithm that learns from some of the opinions."""

    algorithm: str
    counts: str
    """Opinions that it learns from: `1 correction and 2 comparisons`."""
    effect: str
    command: str


@dataclass(frozen=True)
class Lessons:
    """Commands for the opinions of people."""

    taught: tuple[Lesson, ...]
    base: str
    """The model to improve; `MODEL` where it is not known."""
    measured: tuple[str, ...]
    """Commands that play the held-out tasks before and after, and compare; empty without a lesson or run."""


def lessons(source: Source, opinions: Sequence[Feedback]) -> Lessons:
    """Commands for the opinions that stand on the episodes of a run or table."""
    summary = _summary(source)
    base = MODEL if summary is None else _base(source, summary)
    counts = Counter(one.kind for one in opinions if _teaches(one))
    form = action_format_of(source.place)
    taught = tuple(
        Lesson(name, told, effect, _training(source, name, base, form))
        for name, kinds, effect in ALGORITHMS
        if (told := _told(counts, kinds))
    )
    measured = _measured(summary, base, _out(taught[0].algorithm)) if summary and taught else ()
    return Lessons(taught, base, measured)


def _summary(source: Source) -> RunSummary | None:
    if not isinstance(source.place, Path) or not source.is_run:
        return None
    try:
        return summary_of(source.place)
    except (AgentEvolError, OSError, ValueError):  # the page of the run says so
        return None


def _base(source: Source, summary: RunSummary) -> str:
    """The best checkpoint so far, where it is in the run's folder, or else the base of the run."""
    leader = best(summary)
    folder = Path(source.place) / "checkpoints" / leader.checkpoint if leader is not None else None
    if folder is not None and (folder / "config.json").is_file():
        return str(folder)
    return str(summary.config.get("base", MODEL))


def _teaches(one: Feedback) -> bool:
    """Whether a training reads it: of a person; no tie, and no rating of a single turn."""
    if one.source_kind != "human" or (one.kind == "score" and one.turn is not None):
        return False
    return not (isinstance(one.opinion, Comparison) and one.opinion.verdict == "tie")


def _told(counts: Counter[str], kinds: Sequence[str]) -> str:
    names = {"score": "rating"}
    found = [(names.get(kind, kind), counts[kind]) for kind in kinds if counts[kind]]
    return " and ".join(f"{count:,} {name}{'s' * (count != 1)}" for name, count in found)


def _training(source: Source, algorithm: str, base: str, form: str) -> str:
    settings = [f"algorithm={algorithm}", "feedback=human", f"base={base}"]
    settings += [f"action_format={form}"] if form != "plain" else []
    return command("train", source.place, *settings, "--out", _out(algorithm))


def _measured(summary: RunSummary, base: str, out: str) -> tuple[str, ...]:
    splits = [one.evaluation.split for one in summary.iterations if one.evaluation is not None]
    split = splits[0] if splits else "test"
    before, after = (records_files(summary.config, records) for records in ("before.jsonl", "after.jsonl"))
    return (
        *evaluation_commands(summary.config, base, "before.jsonl", split),
        *evaluation_commands(summary.config, out, "after.jsonl", split),
        *(command("compare", *pair) for pair in zip(before, after, strict=True)),
    )


def _out(algorithm: str) -> str:
    return f"better-{algorithm}"
