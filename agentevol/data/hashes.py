"""Content hashes: of training sequences, and their text form."""

import hashlib
import json
from collections.abc import Iterable

from agentevol.core.protocols import TrainingSequence


def of_rows(rows: Iterable[TrainingSequence]) -> str:
    """Hash of the training sequences: tokens, masks, weights and rewards; in this order."""
    digest = hashlib.sha256()
    for row in rows:
        rewards = None if row.episode is None else row.episode.rewards
        named = [row.trajectory_id, row.policy_version, row.weight, row.unit, row.side, row.margin, rewards]
        digest.update(json.dumps(named).encode())
        digest.update(row.token_ids.tobytes())
        digest.update(row.mask.tobytes())
    return digest_text(digest)


def digest_text(digest: "hashlib._Hash") -> str:
    """The digest as text, with its algorithm."""
    return f"sha256:{digest.hexdigest()}"
