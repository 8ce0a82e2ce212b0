"""Self-evaluation in the loop: the policy's scores of its explored episodes, and whether they are trusted.

Scores are kept in `self/0001.json` and become opinions `self:CHECKPOINT` in the table of feedback.
"""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from agentevol.config.self_evolution.self_evaluation import BASE, LATEST, SAMPLES
from agentevol.core.errors import RunStopped
from agentevol.core.protocols import Checkpoint
from agentevol.data.judges.judging import as_text, judged
from agentevol.data.selection.filters import scored
from agentevol.data.self_evaluation.digits import digit_tokens, expected_score
from agentevol.data.self_evaluation.quality import FEWEST, Quality, quality
from agentevol.data.self_evaluation.records import SelfScores, read_scores, scores_file, write_scores
from agentevol.data.self_evaluation.rubric import VERSION, messages
from agentevol.data.self_evaluation.sampled import SAMPLING, SampledDigits, sampled_version
from agentevol.engines.openai import openai_policy
from agentevol.loop.state.context import RunContext
from agentevol.models.rendering import ChatRenderer, load_tokenizer
from agentgym_store.feedback.records import MOST_NAME, Feedback, Score
from agentgym_store.feedback.table import FeedbackTable
from agentgym_store.records import Trajectory

DECIMALS = 6
"""Decimals of a score that are kept: the last bits of probabilities depend on the batch."""
CONCURRENCY, TIMEOUT_S = 8, 600.0
"""Episodes that an endpoint scores at a time, and seconds for all samples of one."""


@dataclass(frozen=True)
class OwnScores:
    """Scores of an iteration's explored episodes by the policy itself."""

    scores: Mapping[str, float]
    trusted: bool
    model: Checkpoint | None
    """Judging weights; None behind an endpoint."""
    file: Path
    figures: Mapping[str, float]
    told: Sequence[str]


class SelfEvaluation:
    """Self-evaluation of one run (`self.*`). Safe to repeat: episodes with a score are not judged again."""

    def __init__(self, context: RunContext) -> None:
        self._context, self._config = context, context.config.self

    def of(self, iteration: int, explored: Sequence[Trajectory]) -> OwnScores:
        """Scores of all explored episodes of an iteration.

        Raises `RunStopped` where no episode has one, and with `self.distrust = "stop"` where they are
        distrusted.
        """
        found = self._found(iteration, explored)
        if not found.scores and scored(explored):
            reason = next(iter(found.failed.values()), "no reason is known")
            raise RunStopped(f"no episode of iteration {iteration} has a score of self.judge: {reason}")
        self._tell_opinions(found)
        measured = quality(explored, found.scores, self._context.seed(iteration))
        distrusted = measured.is_distrusted(self._config.min_auc)
        if distrusted and self._config.distrust == "stop":
            reason = f"{self._reason(measured)} ({measured.sentence()})"
            raise RunStopped(f"self-evaluation by {found.name} is distrusted: {reason}")
        return OwnScores(
            scores=found.scores,
            trusted=not distrusted,
            model=None if self._config.endpoint else self._judge(iteration),
            file=scores_file(self._context.folder.path, iteration),
            figures=_figures(found, measured, distrusted),
            told=self._lines(found, measured, distrusted),
        )

    def _found(self, iteration: int, explored: Sequence[Trajectory]) -> SelfScores:
        """Scores from the file of this iteration, or given now and written there."""
        folder, version = self._context.folder.path, self._version()
        known = read_scores(folder, iteration, self._config.judge, version)
        if known is not None:
            return known
        asked = sorted(scored(explored), key=lambda t: t.id)
        with self._context.drafts.timed(iteration, "judge"):
            found = self._sampled(iteration, asked) if self._config.endpoint else self._read(iteration, asked)
        if found.scores:
            write_scores(folder, iteration, found)
        return found

    def _read(self, iteration: int, asked: Sequence[Trajectory]) -> SelfScores:
        """Scores by the exact probabilities of the judging weights."""
        judge = self._judge(iteration)
        renderer = ChatRenderer(load_tokenizer(judge.path), self._context.config.chat_template_kwargs)
        digits, shown = digit_tokens(renderer), self._config.shows_end
        prompts = [
            (t.id, [*renderer.prompt(messages(as_text(t), shows_end=shown)), *digits.prefix]) for t in asked
        ]
        logp = self._context.cluster.next_tokens(judge, prompts, digits.ids) if prompts else {}
        found = {name: expected_score(logp_D) for name, logp_D in logp.items()}
        masses = [mass for _, mass in found.values()]
        most = self._context.config.learn.micro_batch_tokens
        return self._record(
            iteration,
            {name: score for name, (score, _) in found.items()},
            {
                name: f"{len(ids)} tokens, more than a forward pass of {most}, or than the window"
                for name, ids in prompts
                if name not in found
            },
            round(sum(masses) / len(masses), DECIMALS) if masses else None,
        )

    def _sampled(self, iteration: int, asked: Sequence[Trajectory]) -> SelfScores:
        """Scores by samples of a model behind an endpoint."""
        policy = openai_policy(self._config.endpoint or "", SAMPLING, CONCURRENCY)
        judge = SampledDigits(
            policy,
            self._config.samples or SAMPLES,
            shows_end=self._config.shows_end,
            seed=self._context.seed(iteration),
        )
        found = asyncio.run(judged(judge, asked, concurrency=CONCURRENCY, timeout_s=TIMEOUT_S))
        scores = {name: one.score for name, one in found.verdicts.items() if one.score is not None}
        return self._record(iteration, scores, dict(found.failures), None)

    def _record(
        self, iteration: int, scores: Mapping[str, float], failed: dict[str, str], mass: float | None
    ) -> SelfScores:
        return SelfScores(
            judge=self._config.judge,
            name=self._name(iteration),
            version=self._version(),
            scores={name: round(score, DECIMALS) for name, score in sorted(scores.items())},
            failed=failed,
            digit_mass=mass,
        )

    def _judge(self, iteration: int) -> Checkpoint:
        """Judging weights of an iteration."""
        checkpoints = self._context.folder.checkpoints
        if self._config.judge == BASE:
            return checkpoints.base()
        return (
            checkpoints.accepted(iteration - 1) if self._config.judge == LATEST else checkpoints.self_judge()
        )

    def _name(self, iteration: int) -> str:
        """Name of the judging weights in opinions."""
        latest = self._config.judge == LATEST
        return (f"{iteration - 1:04d}" if latest else self._config.judge)[-MOST_NAME:].strip()

    def _version(self) -> str:
        asked = VERSION if self._config.endpoint is None else sampled_version(self._config.samples or SAMPLES)
        return f"{asked}-shows-end" if self._config.shows_end else asked

    def _tell_opinions(self, found: SelfScores) -> None:
        """Append the scores to the table of feedback, once each."""
        table = FeedbackTable.beside(self._context.folder.store.place.name)
        there = {record.id for record in table.records()}
        table.append([one for one in opinions(found) if one.id not in there])

    def _reason(self, measured: Quality) -> str:
        return (
            f"the lower bound of its AUC, {measured.low:.3f}, is not above self.min_auc ="
            f" {self._config.min_auc:g}"
        )

    def _lines(self, found: SelfScores, measured: Quality, distrusted: bool) -> list[str]:
        told = [f"self-evaluation by {found.name}: {measured.sentence()}"]
        if found.failed:
            first = next(iter(found.failed.values()))
            told.append(f"{len(found.failed)} episodes have no score of self.judge; first: {first}")
        if distrusted:
            told.append(f"its scores are not used, the returns are: {self._reason(measured)}")
        elif min(measured.won, measured.lost) < FEWEST:
            told.append(f"its scores are used unchecked: fewer than {FEWEST} episodes were won, or lost")
        return told


def opinions(found: SelfScores) -> Iterable[Feedback]:
    """Scores as opinions; equal scores have equal ids."""
    source = f"self:{found.name}"
    for name, score in found.scores.items():
        yield Feedback(
            id=sha256(f"{source}/{found.version}/{name}".encode()).hexdigest()[:32],
            trajectory_id=name,
            source=source,
            opinion=Score(value=score, low=0.0, high=1.0),
            rubric_version=found.version,
        )


def _figures(found: SelfScores, measured: Quality, distrusted: bool) -> dict[str, float]:
    mass = {} if found.digit_mass is None else {"self_digit_mass": found.digit_mass}
    counts = {"self_scored": float(len(found.scores)), "self_unscored": float(len(found.failed))}
    return {**counts, **measured.figures(), **mass, "self_used": float(not distrusted)}
