"""Supervised fine-tuning, in the form of TRL: JSON Lines of conversations, or of prompts and completions.

{"messages": [{"role": "user", "content": "You are in ..."}, {"role": "assistant", "content": "look"}],
 "meta": {...}}

{"prompt": [{"role": "user", "content": "You are in ..."}],
 "completion": [{"role": "assistant", "content": "look"}], "meta": {...}}
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from agentgym_store.exports.agenttraj import TEXTS_LOSE
from agentgym_store.exports.contract import Exported, ExportFormat, Feature, RowKind, Tally
from agentgym_store.exports.features import messages
from agentgym_store.exports.messages import UNLEARNABLE, Opening, acted, as_messages, texts, turn_rows
from agentgym_store.exports.provenance import features_with_meta, with_meta
from agentgym_store.exports.sharegpt import NO_MASK
from agentgym_store.records import Trajectory


class SFT(ExportFormat):
    """A conversation for each episode, or a prompt and completion for each turn that may be learnt."""

    name = "sft"
    suffix, layout = ".jsonl", "lines"
    summary = "An episode as `messages`, or a turn as `prompt` and `completion`."
    loses = (
        *TEXTS_LOSE,
        f"with rows=episode {NO_MASK}",
        "with rows=turn the turns that are not learnt, but as context",
    )
    trainer = "SFTTrainer"

    def __init__(
        self, *, rows: RowKind = "episode", meta: bool = True, opening: Opening | None = None
    ) -> None:
        self._rows, self._meta, self._opening = rows, meta, opening

    @property
    def options(self) -> Mapping[str, Any]:
        """See `ExportFormat`."""
        return {"rows": self._rows, "meta": self._meta, "opening": self._opening}

    @property
    def features(self) -> list[Feature]:
        """See `ExportFormat`."""
        names = ("messages",) if self._rows == "episode" else ("prompt", "completion")
        return features_with_meta([messages(name) for name in names], self._meta)

    def rows(self, episodes: Iterable[Trajectory], tally: Tally) -> Iterator[Exported]:
        """One for each episode with a return and a turn, or for each turn of these that may be learnt."""
        for episode in acted(episodes, tally):
            found = [with_meta(row, episode, self._meta) for row in self._of(episode)]
            tally.left_out[UNLEARNABLE] += not found
            for row in found:
                yield Exported(row, (episode,))

    def _of(self, episode: Trajectory) -> Iterator[dict[str, Any]]:
        if self._rows == "episode":
            yield {"messages": as_messages(texts(episode, self._opening))}
            return
        for prompt, completion in turn_rows(episode, self._opening):
            yield {"prompt": prompt, "completion": [completion]}
