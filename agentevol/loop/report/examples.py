"""Example episodes of reports: three that show the effect of a run, and their view."""

from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

import polars as pl

from agentevol.core.summaries import RunSummary
from agentevol.data.stored_episodes import table_of
from agentgym_store.records import Trajectory, Turn
from agentgym_store.store import Store, Where

TURN_LIMIT = 200
"""Maximum turns shown of one episode."""


@dataclass(frozen=True)
class Example:
    """An episode and the reason for its choice."""

    reason: str
    episode: Trajectory


def run_examples(run_folder: Path, summary: RunSummary) -> list[Example]:
    """Examples from a run's table, on the held-out split; none without a table. Raises `StoreError`."""
    table = table_of(run_folder)
    if table is None:
        return []
    store = Store.open(table, create=False)
    split = next((one.evaluation.splits for one in summary.iterations if one.evaluation), None)
    reasons = choose(store.scan(Where(run=summary.run, purpose="evaluate", split=split)).collect())
    found = {episode.id: episode for episode in store.trajectories(Where(run=summary.run, ids=list(reasons)))}
    return [Example(reason, found[name]) for name, reason in reasons.items()]


def choose(evaluated: pl.DataFrame) -> dict[str, str]:
    """Id -> reason, of at most three episodes in the episode-level rows of a run's evaluations.

    One that the newest policy won, if possible on a task that the first one lost; the first one's attempt at
    the same task; one that the newest policy lost.
    """
    rows = evaluated.filter(pl.col("total_reward").is_not_null()).sort("iteration", "id")
    rows = rows.with_columns(pl.format("{}/{}", "env", "task_id").alias("task"))
    if rows.is_empty():
        return {}
    first, last = rows["iteration"].min(), rows["iteration"].max()
    start, newest = rows.filter(pl.col("iteration") == first), rows.filter(pl.col("iteration") == last)
    lost_at_start = start.filter(~pl.col("succeeded"))["task"].implode()
    won = newest.filter("succeeded").sort(
        ~pl.col("task").is_in(lost_at_start), "turn_count", "id", descending=[False, True, False]
    )
    lost = newest.filter(~pl.col("succeeded"))
    chosen: dict[str, str] = {}
    if not won.is_empty():
        chosen[won["id"][0]] = f"won at iteration {last}"
    if first != last and not won.is_empty():
        before = start.filter(pl.col("task") == won["task"][0])
        chosen |= dict.fromkeys(before["id"].head(1), f"the same task at iteration {first}")
    chosen |= dict.fromkeys(lost["id"].head(3 - len(chosen)), f"lost at iteration {last}")
    return chosen


def shown(example: Example) -> dict[str, Any]:
    """An episode as the page of a report shows it."""
    episode = example.episode
    return {
        "reason": example.reason,
        "title": f"{episode.kind or 'task'}: {episode.instruction}",
        "facts": _facts(episode),
        "initial": episode.initial_observation,
        "turns": [_turn(turn) for turn in episode.turns[:TURN_LIMIT]],
        "hidden": max(0, len(episode.turns) - TURN_LIMIT),
        "ending": _ending_text(episode),
    }


def _facts(episode: Trajectory) -> str:
    return f"episode {episode.id}, task {episode.task_id}, seed {episode.seed}, policy {episode.policy}"


def _turn(turn: Turn) -> dict[str, Any]:
    """A turn for the page; `said` is empty where it equals the action."""
    sample = turn.sample
    facts = f"reward {turn.reward:g}" if turn.reward else ""
    if sample is not None and sample.token_ids:
        tokens = f"{len(sample.token_ids)} tokens, mean log-probability {fmean(sample.logprobs):.2f}"
        facts = f"{tokens}, {facts}" if facts else tokens
    said = sample.text if sample is not None and sample.text.strip() != turn.action.strip() else ""
    return {"said": said, "action": turn.action, "facts": facts, "observation": turn.observation}


def _ending_text(episode: Trajectory) -> str:
    details = episode.ending.model_dump(exclude={"kind"})
    reason = "".join(f", {value}" for value in details.values() if value)
    total = episode.total_reward
    return f"{episode.ending.kind}{reason}; return {'none' if total is None else f'{total:g}'}"
