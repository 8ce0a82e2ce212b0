"""Evolution across five environments beside behavioural cloning alone, as in AgentEvol (arXiv:2406.04151,
section 4).

`starter:many` is cloned on demonstrations of all five. One arm explores them and learns from its successful
episodes; `cloned further` learns from the same demonstrations again, as many of their tokens as the first one
learns from. All arms are measured on the same held-out tasks.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from statistics import fmean

from agentevol.cli.benchmarks.evolution.experiment import Column, Experiment, Row, Scale
from agentevol.cli.benchmarks.evolution.play import played, success
from agentevol.cli.benchmarks.progress import console, run_on_stderr
from agentevol.config.run import RunConfig, load
from agentevol.core.protocols import Checkpoint, LearnerJob, TrainingSequence
from agentevol.learn.learner import GradientLearner
from agentevol.models.rendering import load_tokenizer
from agentevol.models.resolution import resolve
from agentevol.runs.starter.build import sequences
from agentevol.runs.starter.many_recipe import MANY_RECIPE

ENVS = ("alfworld", "webshop", "textcraft", "wordle", "searchqa")
BASE = "starter:many"
START, FURTHER, EVOLVED = "start: cloned on all", "cloned further", "evolved"


def run_settings(seed: int, scale: Scale) -> list[str]:
    """Settings of the run, those of `agentevol run env=... base=starter:many` but for seed and threads."""
    own = [f"env={','.join(ENVS)}", f"base={BASE}", f"iterations={scale.rounds}", f"seed={seed}"]
    return [*own, "learn.threads=1", *scale.settings]


def up_to(found: Sequence[TrainingSequence], tokens: int, seed: int) -> Iterator[TrainingSequence]:
    """Shuffled training sequences until `tokens` are trained on, and again from the first one where there are
    too few.
    """
    order = Random(seed).sample(range(len(found)), len(found))
    while tokens > 0:
        for number in order:
            if tokens <= 0:
                return
            tokens -= int(found[number].mask.sum())
            yield found[number]


def _cloned(config: RunConfig, out: Path, tokens: int) -> Path:
    """Weights after further cloning on `tokens` tokens of the start's demonstrations."""
    start = resolve(config.base)
    found = sequences(MANY_RECIPE, load_tokenizer(start.path))
    again = list(up_to(found, tokens, config.seed))
    GradientLearner(config.learn).learn(LearnerJob(Checkpoint(start.path, 0), again, out, config.seed))
    return out


def _row(arm: str, seed: int, weights: Path, tokens: int, scale: Scale) -> Row:
    rates = {env: success(played(str(weights), env, "test", scale.tasks, seed=seed)) for env in ENVS}
    return Row(arm=arm, seed=seed, figures={**rates, "mean": fmean(rates.values()), "tokens": float(tokens)})


def _rows(_part: str, seed: int, _common: Path, folder: Path, scale: Scale) -> list[Row]:
    """Rows of the start, of a run, and of cloning with as many tokens."""
    config = load(None, run_settings(seed, scale))
    summary = run_on_stderr(config, folder / "run")
    tokens = sum(one.trained_tokens for one in summary.iterations)
    console().print(f"cloning on {tokens:,} tokens of the start's demonstrations")
    further = _cloned(config, folder / "cloned", tokens) if tokens else resolve(config.base).path
    return [
        _row(START, seed, resolve(config.base).path, 0, scale),
        _row(FURTHER, seed, further, tokens, scale),
        _row(EVOLVED, seed, resolve(str(folder / "run")).path, tokens, scale),
    ]


MIXED = Experiment(
    title="success on held-out tasks of five environments, in percent",
    arms=(START, FURTHER, EVOLVED),
    control=FURTHER,
    beside={EVOLVED: START},
    columns=(
        *(Column(env, env, 1) for env in ENVS),
        Column("mean", "mean", 1),
        Column("tokens", "tokens learnt", 0),
    ),
    parts=(EVOLVED,),
    rows=_rows,
)
"""Experiment with one policy in five environments."""
