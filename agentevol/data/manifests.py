"""Hashes of the inputs and outputs of each stage of an iteration: `manifests/0001.json` in a run's folder.

    {"explore": {"inputs": {"policy": "sha256:9f.."}, "output": "sha256:3c..", "seed": 7,
                 "policy_version": 0},
     "score": .., "filter": .., "merge": .., "reward": .., "train": .., "evaluate": ..}

The output of a stage is an input of later ones. `judge` is present only where `select.score` is another one
than the return: its output is of the scores, or of nothing where they are not used. `feedback` is present
only where `feedback.sources` names some, with the hash of the opinions in `opinions/0001.json` and `counts`
of what they became. `league` is present only with `selfplay.partner = "league"`: its output is of the partner
and seat of each task, with `counts` of win rates, probabilities and tasks. `reward` is present only where
`process.*`, `reward.*` or `shaping.*` changes the filter's result. Times and log-probabilities are left out
(the last bits of log-probabilities depend on the batch), so that a run with equal settings and seeds has
equal manifests, killed and resumed or not.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Literal

from pydantic import Field

from agentevol.data.hashes import digest_text, of_sequences
from agentevol.models.checkpoints import content_hash
from agentgym_envs.core import Record
from agentgym_envs.files import file_sha256
from agentgym_store.records import Trajectory

Stage = Literal[
    "league", "explore", "score", "judge", "filter", "feedback", "merge", "reward", "train", "evaluate"
]


class Manifest(Record):
    """Inputs and output of one stage."""

    inputs: Mapping[str, str]
    """Name -> hash."""
    output: str
    seed: int
    """Seed of the stage; for evaluations and exploration the seed of the run, from which the seeds of the
    episodes are derived.
    """
    policy_version: int
    """Version of the weights that played, or that training began with."""
    counts: Mapping[str, float] = Field(default_factory=dict[str, float])
    """Of feedback: opinions by kind, what they became, and those left out by reason. Of a league: `NAME win
    rate`, `NAME probability` and `NAME tasks` of each partner.
    """


def of_episodes(episodes: Iterable[Trajectory]) -> str:
    """Hash of the played episodes, in any order."""
    return _hashed(
        [
            (t.id, t.task_id, t.seed, t.initial_observation, t.ending.kind, _turns(t))
            for t in sorted(episodes, key=lambda t: t.id)
        ]
    )


def of_scores(episodes: Iterable[Trajectory]) -> str:
    """Hash of the returns, None for an episode without one; in any order."""
    return _hashed(sorted((t.id, t.total_reward) for t in episodes))


def of_numbers(numbers: Mapping[str, float] | None) -> str:
    """Hash of numbers by name, in any order, or of None."""
    return _hashed(None if numbers is None else sorted(numbers.items()))


def of_names(names: Mapping[str, str]) -> str:
    """Hash of names by name, in any order."""
    return _hashed(sorted(names.items()))


def of_parts(digests: Iterable[str]) -> str:
    """Hash of training sequences that were hashed in parts, in this order; empty parts are ignored."""
    parts = [digest for digest in digests if digest != of_sequences([])]
    if len(parts) < 2:
        return parts[0] if parts else of_sequences([])
    return _hashed(parts)


def of_weights(folder: Path) -> str:
    """Hash of the weights in a checkpoint; the other files are left out, as they name times and places."""
    return f"sha256:{content_hash(folder)}"


def of_file(file: Path) -> str:
    """Hash of a file's content."""
    return f"sha256:{file_sha256(file)}"


def _turns(trajectory: Trajectory) -> list[object]:
    return [
        (
            turn.action,
            turn.observation,
            turn.reward,
            None if turn.sample is None else (turn.sample.token_ids, turn.sample.policy_version),
        )
        for turn in trajectory.turns
    ]


def _hashed(value: object) -> str:
    return digest_text(hashlib.sha256(json.dumps(value).encode()))
