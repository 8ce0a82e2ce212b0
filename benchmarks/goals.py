"""Recorded judgements of Sotopia beside the rules, for the episodes whose goals a program can check.

    python -m benchmarks goals EPISODES [--profiles DIR] [--json]

EPISODES is a file of recorded episodes, and DIR the folder of the profiles (by default that of EPISODES).
Every episode is replayed too, and the messages that the replay words otherwise are counted. What the words of
an episode do not clearly say is undecided, and not compared.
"""

import argparse
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from agentevol.data.judgements.agreement import agreement
from agentgym_envs.sotopia.data.episodes import RecordedEpisode, read_episodes
from agentgym_envs.sotopia.data.profile_set import ProfileSet
from agentgym_envs.sotopia.data.replay import replay
from agentgym_envs.sotopia.data.sources import read_profiles
from agentgym_envs.sotopia.verification.verifier import verifiable, verify


@dataclass(frozen=True)
class Row:
    """The goal of one seat, by the recorded judge and by the rules."""

    episode: str
    kind: str
    seat: int
    judge: float | None
    rule: float | None
    """None if undecided."""
    outcome: str


def compare(episode: RecordedEpisode, profiles: ProfileSet) -> list[Row]:
    """A row for each seat; none if no program can check the goals of the scene."""
    scene = profiles.scene_of(episode.environment, episode.agents)
    if verifiable(scene) is None:
        return []
    verdict = verify(scene, episode.log)
    judged = [one.by_dimension["goal"] for one in episode.scores] if episode.scores else [None, None]
    ruled = [one.goal for one in verdict.scores] if verdict.scores else [None, None]
    return [Row(episode.pk, verdict.kind, seat, judged[seat], ruled[seat], verdict.reason) for seat in (0, 1)]


def summary(rows: Sequence[Row]) -> dict[str, float]:
    """Number of seats, of undecided and compared ones, and the agreement of the latter."""
    both = [(row.judge, row.rule) for row in rows if row.judge is not None and row.rule is not None]
    apart = [abs(judge - rule) for judge, rule in both]
    raters = ("judge", "rule")
    compared = agreement([dict(zip(raters, one, strict=True)) for one in both], "goal", raters, "judges")
    counted: dict[str, float] = {
        "seats": len(rows),
        "undecided": sum(row.rule is None for row in rows),
        "compared": len(both),
        "equal": sum(one < 0.5 for one in apart),
        "within_1": sum(one <= 1 for one in apart),
    }
    if compared.mean_absolute_difference is None:
        return counted
    means = {
        "judge": fmean(judge for judge, _ in both),
        "rule": fmean(rule for _, rule in both),
        "difference": compared.mean_absolute_difference,
    }
    return {**counted, **means}


def replayed(episodes: Sequence[RecordedEpisode], profiles: ProfileSet) -> dict[str, int]:
    """Recorded messages, and those that the replay words otherwise, by cause."""
    found = Counter[str]()
    for episode in episodes:
        scene = profiles.scene_of(episode.environment, episode.agents)
        done = replay(episode, scene)
        found["messages"] += done.messages
        found["ended where recorded"] += done.conversation.end_reasons == episode.end_reasons
        for one in done.differences:
            found[f"{'background' if one.in_background else 'later'}: {one.cause}"] += 1
    return dict(found)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the rows, their summary by kind, and what the replay changes."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks goals", description=__doc__)
    parser.add_argument("episodes", type=Path, help="file of recorded episodes")
    parser.add_argument(
        "--profiles", type=Path, help="folder of the profiles; that of the episodes if left out"
    )
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    given = parser.parse_args(arguments)
    profiles = read_profiles(given.profiles or given.episodes.parent)
    episodes = read_episodes(given.episodes)
    rows = [row for episode in episodes for row in compare(episode, profiles)]
    found = {
        "episodes": len(episodes),
        "replay": replayed(episodes, profiles),
        "rows": [asdict(row) for row in rows],
        "summary": {kind: summary(chosen) for kind, chosen in _by_kind(rows).items()},
    }
    if given.json:
        print(json.dumps(found, indent=2))
    else:
        _print(found)


def _by_kind(rows: Sequence[Row]) -> dict[str, list[Row]]:
    kinds = {row.kind: [one for one in rows if one.kind == row.kind] for row in rows}
    return {**kinds, "all": list(rows)}


def _print(found: dict[str, Any]) -> None:
    print(f"{found['episodes']} episodes; replay: {found['replay']}")
    print(f"\n{'episode':26}  {'kind':7}  seat  judge    rule  outcome")
    for row in found["rows"]:
        judge, rule = _number(row["judge"]), _number(row["rule"])
        print(
            f"{row['episode']:26}  {row['kind']:7}  {row['seat']:4}  {judge:>5}  {rule:>6}  {row['outcome']}"
        )
    print(f"\n{'kind':7}  seats  undecided  compared  equal  within 1  judge   rule  difference")
    for kind, one in found["summary"].items():
        means = (_number(one.get(name)) for name in ("judge", "rule", "difference"))
        judge, rule, apart = means
        print(
            f"{kind:7}  {one['seats']:5}  {one['undecided']:9}  {one['compared']:8}  {one['equal']:5}"
            f"  {one['within_1']:8}  {judge:>5}  {rule:>5}  {apart:>10}"
        )


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"
