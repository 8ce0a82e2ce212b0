"""Self-judgement: how well a policy tells its won episodes from its lost ones, and a judge that can be gamed.

All arms begin with one policy that acts and judges, and train it by GRPO. The biased judge prefers long
replies, which any policy can write; the guard compares its scores with outcomes.
"""

from pathlib import Path
from typing import Final

from agentevol.cli.benchmarks.built_bases import built
from agentevol.cli.benchmarks.evolution.experiment import Column, Experiment, Row, Scale
from agentevol.cli.benchmarks.evolution.judging_policies import (
    ENV,
    by_length,
    by_outcome,
    own_episodes,
    recipe,
    write_judge,
)
from agentevol.cli.benchmarks.evolution.play import played, success, tokens
from agentevol.cli.benchmarks.progress import run_on_stderr
from agentevol.config.run import load
from agentevol.core.summaries import IterationSummary
from agentevol.loop.state.checkpoints import RunCheckpoints

LEVEL: Final = "1"
"""Difficulty of all questions."""
SHOWN: Final = 10
"""Episodes from which the judges learn, by held-out task of a measurement."""
SETTINGS: Final = (
    f"env={ENV}",
    "algorithm=grpo",
    f"explore.difficulty={LEVEL}",
    "explore.tasks=96",
    "explore.samples=8",
    "explore.max_new_tokens=48",
    f"evaluate.difficulty={LEVEL}",
    "evaluate.episodes=1",
    "evaluate.validation_episodes=200",
    "learn.learning_rate=1e-4",
    "learn.batch_tokens=4096",
    "learn.threads=1",
)
START, RETURN = "start", "return"
BASE, LATEST = "self, base", "self, latest"
GAMED, GUARDED = "biased judge, no guard", "biased judge, guard"


def _prepare(folder: Path, scale: Scale) -> None:
    """Build the policy that acts and judges, and the biased judge."""
    starter = built("judging", recipe())
    shown = own_episodes(starter, LEVEL, SHOWN * scale.tasks)
    write_judge(starter, shown, by_outcome, folder / "policy")
    write_judge(starter, shown, by_length(shown), folder / "biased")


def _rows(part: str, seed: int, common: Path, folder: Path, scale: Scale) -> list[Row]:
    """Rows of the last policy of a training with one score, and beside the first one of the start."""
    given = [*SETTINGS, *score_settings(part, common), f"base={common / 'policy'}"]
    given += [f"seed={seed}", f"iterations={scale.rounds}", *scale.settings]
    config, run = load(None, given), folder / "run"
    trained = run_on_stderr(config, run).iterations[1:]
    last = RunCheckpoints(run, config).accepted(scale.rounds).path
    found = [_measured(part, seed, last, scale, trained)]
    if part == RETURN:
        found.append(_measured(START, seed, common / "policy", scale, ()))
    return found


def score_settings(part: str, common: Path) -> list[str]:
    """Settings of the score of an arm."""
    if part == RETURN:
        return []
    judge = {BASE: "base", LATEST: "latest"}.get(part, str(common / "biased"))
    unguarded = ["self.min_auc=0"] if part == GAMED else []
    return ["select.score=self", f"self.judge={judge}", *unguarded]


def _measured(arm: str, seed: int, weights: Path, scale: Scale, trained: tuple[IterationSummary, ...]) -> Row:
    episodes = played(str(weights), ENV, "test", scale.tasks, seed=seed, difficulty=LEVEL)
    figures = {"success": success(episodes), "tokens": tokens(episodes)}
    auc = [one.selection["self_auc"] for one in trained if "self_auc" in one.selection]
    if auc:
        used = [one.selection["self_used"] for one in trained]
        figures |= {"auc_first": auc[0], "auc_last": auc[-1], "used": 100 * sum(used) / len(used)}
    validated = [one.validation.successes / one.validation.n for one in trained if one.validation]
    lengths = [one.selection["episode_tokens"] for one in trained if "episode_tokens" in one.selection]
    return Row(
        arm=arm,
        seed=seed,
        figures=figures,
        curves={"auc": auc, "validation": validated, "tokens": lengths},
    )


SELF_JUDGEMENT = Experiment(
    title=f"{ENV}, level {LEVEL}: success on held-out tasks after GRPO, by the score of explored episodes",
    arms=(START, RETURN, BASE, LATEST, GAMED, GUARDED),
    control=RETURN,
    beside={GUARDED: GAMED},
    columns=(
        Column("success", "success %", 1),
        Column("tokens", "tokens a reply", 1),
        Column("auc_first", "AUC, first", 3),
        Column("auc_last", "AUC, last", 3),
        Column("used", "scores used %", 0),
    ),
    curves={
        "auc": "AUC of the scores for success",
        "validation": "success on validation tasks",
        "tokens": "tokens of an explored reply",
    },
    parts=(RETURN, BASE, LATEST, GAMED, GUARDED),
    prepare=_prepare,
    rows=_rows,
)
"""Experiment with scores of the policy itself and of a biased judge, beside returns."""
