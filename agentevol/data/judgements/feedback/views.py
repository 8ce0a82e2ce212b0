"""Episodes as a judge reads them: texts, without rewards, ending and token ids.

The transcript is JSON, which no text in it can end.
"""

from dataclasses import replace

from agentevol.core.judges import JudgedEpisode
from agentevol.data.judgements.items import Item, Recording, Transcript, conversation_of
from agentevol.data.judges.judging import as_text
from agentgym_store.records import Trajectory

HIDDEN = "(not shown)"


def view(episode: Trajectory, *, hide_outcome: bool = False, turns: int | None = None) -> JudgedEpisode:
    """The episode as text, or its first `turns`.

    With `hide_outcome`, the observation after the last action of the episode is not shown: it tells the
    result.
    """
    told = as_text(episode)
    if hide_outcome and told.turns:
        last = replace(told.turns[-1], observation=HIDDEN)
        told = replace(told, turns=(*told.turns[:-1], last))
    return told if turns is None else replace(told, turns=told.turns[:turns])


def item(episode: Trajectory, *, hide_outcome: bool = False) -> Item:
    """The item of an episode: the conversation of one of `sotopia`, for both seats, else a transcript."""
    found = conversation_of(episode)
    if found is not None:
        return Recording.model_validate({"id": episode.episode[:MOST_ID], "record": found})
    return Transcript.of(view(episode, hide_outcome=hide_outcome), episode.id[:MOST_ID])


MOST_ID = 256
"""Characters of the id of an item."""
