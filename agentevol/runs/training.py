"""Training on a data set: one update from episodes or chats that are there already."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from rich.console import Console

from agentevol.config.run import TrainConfig
from agentevol.core.algorithms.registry import objective
from agentevol.core.errors import ConfigError
from agentevol.core.protocols import Anchor, LearnerJob, LearnReport
from agentevol.data.replay import replayed, retained_episodes, retained_sequences
from agentevol.learn.continual.consolidation import check_kept
from agentevol.learn.learner import GradientLearner
from agentevol.loop.state.progress import progress_on
from agentevol.models.rendering import ChatRenderer, load_tokenizer
from agentevol.models.resolution import resolve
from agentevol.runs.training_data import heads_of, training_data
from agentgym_store.store import Where
from agentgym_store.urls import named

EXPLORED = Where(purpose="explore")

NEW = "new"
"""Environment name of all new data: old data of the same environment gets its floor as well."""


def train(
    data: Path | str,
    config: TrainConfig,
    *,
    out: Path | str,
    where: Where = EXPLORED,
    console: Console | None = None,
) -> LearnReport:
    """Learn once from `data` and write the new checkpoint `out`; return the figures of the update.

    `data` is a run's folder or table (of which `where` chooses episodes), which may be a URL, an export of it
    as lossless JSON Lines, or a data set of chats (`agentevol.data.chat_datasets`). Progress is written to
    `console`, standard error by default. Raises `ConfigError` (`NothingToLearn` where no sequence is left)
    and `StoreError`.
    """
    with progress_on(console).learning() as step:
        return learn(named(str(data)), config, Path(out), where, step)


def learn(
    data: Path | str,
    config: TrainConfig,
    out: Path,
    where: Where,
    progress: Callable[[int, int, float], None],
) -> LearnReport:
    """`train` with a callback that gets step, steps and loss. A string is the URL of a table."""
    if out.exists():
        raise ConfigError(f"{out} exists already: a checkpoint is never overwritten")
    base = resolve(config.base)
    check_kept(config.learn, base.path)
    chosen = objective(config.learn.algorithm, config.learn.options)
    renderer = ChatRenderer(load_tokenizer(base.path), config.chat_template_kwargs)
    sequences, figures = training_data(data, config, chosen, renderer, where)
    old = retained_sequences(retained_episodes(config), chosen, config, base)
    if config.select.merge == "replay":
        sequences += replayed(sequences, old, NEW, config.replay, config.seed)
    anchor = Anchor(base, [one.sequence for one in old]) if config.learn.ewc is not None else None
    learner = GradientLearner(config.learn, progress)
    objectives = config.objectives
    if chosen.algorithm.data == "steps":
        objectives = heads_of(config)
    report = learner.learn(
        LearnerJob(base, sequences, out, config.seed, anchor=anchor, objectives=objectives)
    )
    return replace(report, metrics={**report.metrics, **figures})
