"""Content hashes: of training sequences, and their text form."""

import hashlib
import json
from collections.abc import Iterable

from agentevol.core.protocols import TrainingSequence


def of_sequences(sequences: Iterable[TrainingSequence]) -> str:
    """Hash of the training sequences: tokens, masks, weights, rewards and baselines; in this order."""
    digest = hashlib.sha256()
    for sequence in sequences:
        rewards = None if sequence.episode is None else sequence.episode.rewards
        baseline = None if sequence.episode is None else sequence.episode.baseline
        named = [
            sequence.trajectory_id,
            sequence.policy_version,
            sequence.weight,
            sequence.unit,
            sequence.side,
            sequence.margin,
            rewards,
            *([] if sequence.preference == 1 else ["preference", sequence.preference]),
            *([] if sequence.temperature is None else [sequence.temperature]),
            *([] if baseline is None else ["baseline", baseline]),
        ]
        digest.update(json.dumps(named).encode())
        digest.update(sequence.token_ids.tobytes())
        digest.update(sequence.mask.tobytes())
    return digest_text(digest)


def digest_text(digest: "hashlib._Hash") -> str:
    """The digest as text, with its algorithm."""
    return f"sha256:{digest.hexdigest()}"
