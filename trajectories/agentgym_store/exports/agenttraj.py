"""AgentTraj, the format of AgentGym: one JSON array.

{"item_id": "alfworld_0", "conversations": [
    {"from": "human", "loss": null, "value": "You are in ..."},
    {"from": "gpt", "loss": true, "value": "look"}],
 "reward": 1.0, "success": true, "meta": {...}}
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from agentgym_store.exports.contract import Exported, ExportFormat, Feature, Tally
from agentgym_store.exports.features import objects, value
from agentgym_store.exports.messages import Opening, acted, learnt_turns, texts
from agentgym_store.exports.provenance import features_with_meta, with_meta
from agentgym_store.records import Trajectory

TEXTS_LOSE = (
    "token ids, log-probabilities, and the policy version of each turn (`meta` has the last one)",
    "the reward of each turn (only their sum stays), costs, and the environment's info",
    "the observation after the last action",
    "which limit ended a truncated episode",
    "seats, parents, temperatures, times, run and iteration of an episode",
    "episodes that failed, were cancelled, or have no turn",
)
"""Contents that every format of texts loses."""


class AgentTraj(ExportFormat):
    """Conversations in AgentGym's form. `opening` is its first exchange, which is not learnt."""

    name = "agenttraj"
    suffix, layout = ".json", "array"
    summary = "An episode as AgentGym's conversation, with the messages of the agent that are learnt."
    loses = (*TEXTS_LOSE, "masks of single tokens: a message is learnt or not")

    def __init__(self, *, meta: bool = True, opening: Opening | None = None) -> None:
        self._meta, self._opening = meta, opening

    @property
    def options(self) -> Mapping[str, Any]:
        """See `ExportFormat`."""
        return {"meta": self._meta, "opening": self._opening}

    @property
    def features(self) -> list[Feature]:
        """See `ExportFormat`."""
        said = objects("conversations", [value("from"), value("loss", "bool"), value("value")])
        columns = [value("item_id"), said, value("reward", "float64"), value("success", "bool")]
        return features_with_meta(columns, self._meta)

    def rows(self, episodes: Iterable[Trajectory], tally: Tally) -> Iterator[Exported]:
        """One for each episode with a return and a turn."""
        for episode in acted(episodes, tally):
            row = {
                "conversations": self._conversation(episode),
                "reward": episode.total_reward,
                "success": episode.succeeded(),
            }
            yield Exported(with_meta(row, episode, self._meta), (episode,))

    def numbered(self, exported: Exported, tally: Tally) -> Any:
        """`item_id` counts the rows of an environment from 0; the task's own id is in `meta`."""
        name = exported.episodes[0].env
        number = tally.numbers[name]
        tally.numbers[name] += 1
        return {"item_id": f"{name}_{number}", **exported.row}

    def _conversation(self, episode: Trajectory) -> list[dict[str, Any]]:
        learnt = [*([False] if self._opening else []), *learnt_turns(episode)]
        return [
            {"from": "gpt", "loss": learnt[place // 2], "value": text}
            if place % 2
            else {"from": "human", "loss": None, "value": text}
            for place, text in enumerate(texts(episode, self._opening))
        ]
