"""Learning from simulated people: comparisons with noise, several raters, corrections.

Each arm of a seed learns once, from opinions about the same episodes of the starter, and is measured on the
same held-out tasks. `corrections` imitate the expert's action at the first turn of a lost episode that leaves
the expert's way, of 200 episodes at most; `demonstrations` imitate 200 whole episodes of the expert.
"""

import shutil
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from random import Random
from typing import Final

from agentevol.cli.benchmarks.evolution.experiment import Column, Experiment, Row, Scale
from agentevol.cli.benchmarks.evolution.play import played, success
from agentevol.cli.benchmarks.evolution.raters import Rater, corrections, pairs
from agentevol.cli.benchmarks.progress import console
from agentevol.config.run import TrainConfig, load
from agentevol.models.resolution import resolve
from agentevol.runs import training
from agentgym_envs.registry import make
from agentgym_store.feedback.records import Feedback
from agentgym_store.feedback.table import FeedbackTable
from agentgym_store.records import Trajectory
from agentgym_store.store import Store, Where

ENV: Final = "alfworld"
LEVEL: Final = "small"
STARTER: Final = "starter:alfworld"
COMPARISONS, CORRECTIONS = 500, 200
SAMPLES: Final = 4
EXPLORED: Final = 2
"""Tasks that the starter plays, by held-out task of a measurement."""
STEADY: Final = ("learn.learning_rate=3e-5", "learn.options.nll_coef=0.2")
"""Settings of DPO: with larger steps, and without the likelihood of the better episode, a small policy
unlearns to act.
"""
START: Final = "start"
DEMONSTRATIONS: Final = "demonstrations"
CORRECTED: Final = "corrections"
NOISE: Final = Rater("Noise", 0.5)
PANEL: Final = (Rater("Ada", 0.1), Rater("Bo", 0.1), NOISE)


@dataclass(frozen=True)
class Asked:
    """Raters of the comparisons, and the rule by which their opinions become one."""

    raters: Sequence[Rater]
    aggregate: str = "mean"


ARMS: Final = {
    "one rater, 0 % wrong": Asked((Rater("Ada", 0.0),)),
    "one rater, 10 % wrong": Asked((Rater("Ada", 0.1),)),
    "one rater, 30 % wrong": Asked((Rater("Ada", 0.3),)),
    "two raters, 10 % wrong": Asked(PANEL[:2]),
    "and one of noise, mean": Asked(PANEL),
    "and one of noise, reliability": Asked(PANEL, "reliability"),
}
"""Arms that learn from comparisons, by DPO."""


def _rows(part: str, seed: int, common: Path, folder: Path, scale: Scale) -> list[Row]:
    """The row of an arm."""
    if part == START:
        return [_measured(part, seed, resolve(STARTER).path, scale, {})]
    table, out = folder / "table", folder / "trained"
    if part == DEMONSTRATIONS:
        figures = _demonstrated(table, out, seed, scale)
    else:
        shutil.copytree(explored(common, seed, scale), table)
        taught = _corrected if part == CORRECTED else partial(_compared, ARMS[part])
        figures = taught(table, out, seed, scale)
    return [_measured(part, seed, out, scale, figures)]


def explored(common: Path, seed: int, scale: Scale) -> Path:
    """Table of the starter's episodes on training tasks, one for all arms of a seed. Arms that begin together
    both play, and the first table to be complete is that of all.
    """
    table = common / f"{seed}"
    if table.is_dir():
        return table
    tasks = EXPLORED * scale.tasks
    found = played(
        STARTER, ENV, "train", tasks, difficulty=LEVEL, temperature=1.0, seed=seed, repeats=SAMPLES
    )
    with tempfile.TemporaryDirectory(dir=common) as draft:
        own = Path(draft) / "table"
        _write(own, [t.model_copy(update={"purpose": "explore", "iteration": 1}) for t in found])
        try:
            own.rename(table)
        except OSError:
            if not table.is_dir():  # else another arm was first
                raise
    return table


def _write(table: Path, episodes: Sequence[Trajectory]) -> None:
    Store.open(table).append(episodes, commit={"explored": str(len(episodes))})


def _compared(asked: Asked, table: Path, out: Path, seed: int, scale: Scale) -> dict[str, float]:
    """Train on comparisons by DPO."""
    generator = Random(seed)
    chosen = pairs(list(Store.open(table).trajectories()), COMPARISONS, generator)
    records = [rater.compare(pair, generator) for pair in chosen for rater in asked.raters]
    given = ["algorithm=dpo", *STEADY, f"feedback.aggregate={asked.aggregate}"]
    return _trained(table, out, records, given, seed, scale)


def _corrected(table: Path, out: Path, seed: int, scale: Scale) -> dict[str, float]:
    """Imitate corrections."""
    episodes = list(Store.open(table).trajectories())
    Random(seed).shuffle(episodes)
    with closing(make(ENV)) as environment:
        found = list(islice(corrections(episodes, environment), CORRECTIONS))
    return _trained(table, out, found, ["algorithm=sft"], seed, scale)


def _demonstrated(table: Path, out: Path, seed: int, scale: Scale) -> dict[str, float]:
    """Imitate whole episodes of the expert."""
    found = played("expert", ENV, "train", CORRECTIONS, difficulty=LEVEL, seed=seed)
    _write(table, [t.model_copy(update={"purpose": "demonstrate"}) for t in found])
    where = Where(purpose="demonstrate")
    return _learnt(table, out, ["algorithm=sft"], where, seed, scale)


def _trained(
    table: Path, out: Path, opinions: Sequence[Feedback], given: Sequence[str], seed: int, scale: Scale
) -> dict[str, float]:
    """Append opinions to the feedback beside a table, and learn from them alone."""
    FeedbackTable.beside(table).append(opinions)
    told = _learnt(table, out, [*given, "feedback=human"], training.EXPLORED, seed, scale)
    return {"opinions": float(len(opinions)), **told}


def _learnt(
    table: Path, out: Path, given: Sequence[str], where: Where, seed: int, scale: Scale
) -> dict[str, float]:
    settings = [*given, f"base={STARTER}", f"seed={seed}", "learn.threads=1", *scale.settings]
    config = load(None, settings, TrainConfig)
    report = training.train(table, config, out=out, where=where, console=console())
    return {"tokens": report.metrics["tokens_trained"]}


def _measured(arm: str, seed: int, weights: Path, scale: Scale, figures: Mapping[str, float]) -> Row:
    episodes = played(str(weights), ENV, "test", scale.tasks, seed=seed, difficulty=LEVEL)
    return Row(arm=arm, seed=seed, figures={"success": success(episodes), **figures})


FEEDBACK = Experiment(
    title=f"{ENV}, {LEVEL}: success on held-out tasks after learning from simulated people",
    arms=(START, *ARMS, CORRECTED, DEMONSTRATIONS),
    control=START,
    beside={"and one of noise, reliability": "and one of noise, mean", CORRECTED: DEMONSTRATIONS},
    columns=(
        Column("success", "success %", 1),
        Column("opinions", "opinions", 0),
        Column("tokens", "tokens learnt", 0),
    ),
    parts=(START, *ARMS, CORRECTED, DEMONSTRATIONS),
    rows=_rows,
)
"""Experiment with opinions of simulated raters, beside the expert's whole episodes."""
