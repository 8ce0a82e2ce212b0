"""Judge that repeats recorded judgements: those of an earlier file, or of recorded episodes."""

import json
from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, cast

from pydantic import TypeAdapter, ValidationError

from agentevol.core.errors import ConfigError
from agentevol.data.judgements.items import EPISODE_LOG, Item
from agentevol.data.judgements.outcomes import Judgement, NoRating, Rating, Scores, Usage
from agentgym_envs.sotopia.data.episodes import RecordedEpisode, read_episodes
from agentgym_envs.sotopia.protocol.dimensions import SOTOPIA, Dimension

_JUDGEMENT: TypeAdapter[Judgement] = TypeAdapter(Judgement)


class ReplayJudge:
    """Recorded scores by the id of an item."""

    def __init__(self, file: Path) -> None:
        """Read the file. Raises `ConfigError`, `SotopiaDataError`, and `OSError` if it cannot be read."""
        content = file.read_bytes()
        self._recorded = _episodes(file) if _is_log(content) else _judgements(content, file)
        self.name = f"replay:{file.name}"
        self.version = sha256(content).hexdigest()[:16]

    async def rate(
        self,
        item: Item,
        dimensions: Sequence[Dimension],
        samples: int,
    ) -> tuple[Sequence[Rating], Usage]:
        """The recorded scores. Raises `NoRating` unless all dimensions were recorded, in their ranges."""
        found = self._recorded.get(item.id)
        if found is None:
            raise NoRating("not-recorded", f"there is no judgement of {item.id[:80]!r}")
        for one in dimensions:
            for seat in found:
                score = seat.get(one.name)
                if one.name not in seat or (score is not None and not one.low <= score <= one.high):
                    raise NoRating(
                        "not-recorded", f"{one.name} was not recorded from {one.low} to {one.high}"
                    )
        scores = tuple({one.name: seat[one.name] for one in dimensions} for seat in found)
        return [Rating(scores=scores)], Usage()

    def facts(self) -> dict[str, Any]:
        """Number of recorded judgements."""
        return {"kind": "replay", "recorded": len(self._recorded)}


def recorded_scores(episode: RecordedEpisode) -> Scores | None:
    """The scores that an episode was recorded with; None if nobody judged it."""
    if episode.scores is None:
        return None
    return tuple({one.name: seat.by_dimension[one.name] for one in SOTOPIA} for seat in episode.scores)


def _is_log(content: bytes) -> bool:
    first = content.lstrip().partition(b"\n")[0]
    return content.lstrip()[:1] == b"[" or any(f'"{name}"'.encode() in first for name in EPISODE_LOG)


def _episodes(file: Path) -> Mapping[str, Scores]:
    found = {episode.pk: recorded_scores(episode) for episode in read_episodes(file)}
    return {pk: scores for pk, scores in found.items() if scores is not None}


def _judgements(content: bytes, file: Path) -> Mapping[str, Scores]:
    found: dict[str, Scores] = {}
    for number, line in enumerate(content.splitlines(), start=1):
        if not line.strip():
            continue
        try:
            one = _JUDGEMENT.validate_python(cast("Any", json.loads(line)))
        except ValidationError as cause:
            raise ConfigError(f"{file}, line {number}: no judgement: {cause.errors()[0]['msg']}") from None
        except ValueError:
            raise ConfigError(f"{file}, line {number}: no JSON") from None
        if one.status == "ok":
            found[one.id] = one.scores
    return found
