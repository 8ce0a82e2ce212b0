"""ShareGPT: JSON Lines of conversations, as LLaMA-Factory and others read them.

{"id": "run/1/train-7/0", "conversations": [
    {"from": "human", "value": "You are in ..."}, {"from": "gpt", "value": "look"}],
 "reward": 1.0, "meta": {...}}
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from agentgym_store.exports.agenttraj import TEXTS_LOSE
from agentgym_store.exports.contract import Exported, ExportFormat, Feature, Tally
from agentgym_store.exports.features import objects, value
from agentgym_store.exports.messages import acted, texts
from agentgym_store.exports.provenance import features_with_meta, with_meta
from agentgym_store.records import Trajectory

NO_MASK = "which turns are learnt: the format has no mask (`meta` has the number of given turns)"


class ShareGPT(ExportFormat):
    """Conversations whose messages have `from` and `value`."""

    name = "sharegpt"
    suffix, layout = ".jsonl", "lines"
    summary = "An episode as a conversation of `human` and `gpt`."
    loses = (*TEXTS_LOSE, NO_MASK)

    def __init__(self, *, meta: bool = True) -> None:
        self._meta = meta

    @property
    def options(self) -> Mapping[str, Any]:
        """See `ExportFormat`."""
        return {"meta": self._meta}

    @property
    def features(self) -> list[Feature]:
        """See `ExportFormat`."""
        said = objects("conversations", [value("from"), value("value")])
        return features_with_meta([value("id"), said, value("reward", "float64")], self._meta)

    def rows(self, episodes: Iterable[Trajectory], tally: Tally) -> Iterator[Exported]:
        """One for each episode with a return and a turn."""
        speakers = ("human", "gpt")
        for episode in acted(episodes, tally):
            said = [{"from": speakers[place % 2], "value": text} for place, text in enumerate(texts(episode))]
            row = {"id": episode.id, "conversations": said, "reward": episode.total_reward}
            yield Exported(with_meta(row, episode, self._meta), (episode,))
