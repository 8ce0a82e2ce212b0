"""Unpaired preferences, in the form of TRL: JSON Lines of a prompt, an answer, and whether it is desirable.

{"prompt": [{"role": "user", "content": "You are in ..."}],
 "completion": [{"role": "assistant", "content": "look"}], "label": true, "meta": {...}}

Labels are those of `agentevol train algorithm=kto` (`agentevol.data.preference_pairs.labels`). TRL's trainer
learns every token of an answer: with rows=turn it is one message, and each turn has the label of its episode.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from agentevol.data.preference_pairs import labels
from agentgym_store.exports.agenttraj import TEXTS_LOSE
from agentgym_store.exports.contract import Exported, ExportFormat, Feature, RowKind, Tally
from agentgym_store.exports.features import messages, value
from agentgym_store.exports.messages import UNLEARNABLE, acted, as_messages, texts, turn_rows
from agentgym_store.exports.provenance import features_with_meta, with_meta
from agentgym_store.exports.sharegpt import NO_MASK
from agentgym_store.records import Trajectory

UNLABELLED = "truncated without success: no label (truncated_is_loss gives one)"


class Unpaired(ExportFormat):
    """Turns or episodes with the label of their episode: success is desirable."""

    name = "unpaired"
    suffix, layout = ".jsonl", "lines"
    summary = "A turn, or all that a policy and its environment said, with the label of the episode."
    loses = (*TEXTS_LOSE, "the weights that balance the labels", f"with rows=episode {NO_MASK}")
    trainer = "KTOTrainer"

    def __init__(self, *, rows: RowKind = "turn", truncated_is_loss: bool = False, meta: bool = True) -> None:
        self._rows, self._truncated_is_loss, self._meta = rows, truncated_is_loss, meta

    @property
    def options(self) -> Mapping[str, Any]:
        """See `ExportFormat`."""
        return {"rows": self._rows, "truncated_is_loss": self._truncated_is_loss, "meta": self._meta}

    @property
    def features(self) -> list[Feature]:
        """See `ExportFormat`."""
        columns = [messages("prompt"), messages("completion"), value("label", "bool")]
        return features_with_meta(columns, self._meta)

    def rows(self, episodes: Iterable[Trajectory], tally: Tally) -> Iterator[Exported]:
        """Those of each episode with a label."""
        for episode in acted(episodes, tally):
            found = labels([episode], truncated_is_loss=self._truncated_is_loss)
            tally.left_out[UNLABELLED] += not found
            for label in found:
                rows = list(self._of(episode))
                tally.left_out[UNLEARNABLE] += not rows
                for row in rows:
                    labelled = {**row, "label": label.desirable}
                    yield Exported(with_meta(labelled, episode, self._meta), (episode,))

    def _of(self, episode: Trajectory) -> Iterator[dict[str, Any]]:
        if self._rows == "turn":
            for prompt, completion in turn_rows(episode):
                yield {"prompt": prompt, "completion": [completion]}
        elif episode.given_turns < len(episode.turns):
            said, place = as_messages(texts(episode)), 2 * episode.given_turns + 1
            yield {"prompt": said[:place], "completion": said[place:]}
