"""Preference pairs, in the form of TRL: JSON Lines of a prompt, a chosen and a rejected answer.

    {"prompt": [{"role": "user", "content": "You are in ..."}],
     "chosen": [{"role": "assistant", "content": "look"}],
     "rejected": [{"role": "assistant", "content": "sleep"}],
     "meta": {"chosen": "run/1/train-7/0", "rejected": "run/1/train-7/3", ...}}

The pairs are those that `agentevol train algorithm=dpo` would learn from
(`agentevol.data.preference_pairs.pair_up`). What both episodes begin with is the prompt. TRL's trainers learn
every token of an answer, and so also what an environment says within it: with rows=turn an answer is the one
message in which the episodes part.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from agentevol.data.exports.opinion_rows import CorrectedMessage, Opinions, corrected_messages, preferred
from agentevol.data.groups import own_part
from agentevol.data.preference_pairs import Pairing, Strategy, bands_of, pair_up
from agentgym_store.exports.agenttraj import TEXTS_LOSE
from agentgym_store.exports.contract import Exported, ExportFormat, Feature, RowKind, Tally
from agentgym_store.exports.features import messages, struct, value
from agentgym_store.exports.messages import acted, as_messages, texts
from agentgym_store.exports.provenance import TASK_FEATURES, task_of
from agentgym_store.records import Trajectory, message_of

ONE_SIDED = "tasks in which no episode is better than another"
CUT_OFF = "pairs lost to a limit only (truncated_is_loss keeps them)"
ALIKE = "pairs with the same actions"
BEGINNING = "pairs of which one is the beginning of the other"
GIVEN_DIFFER = "pairs with different given turns"
WORLD_DIFFERS = "pairs that part in an observation, not in a message"

_META = struct(
    "meta",
    [
        *TASK_FEATURES,
        *(value("chosen"), value("rejected")),
        *(value("reward_chosen", "float64"), value("reward_rejected", "float64"), value("margin", "float64")),
        value("shared_turns", "int64"),
    ],
)


class Preference(ExportFormat):
    """Pairs of a better and a worse episode of one task, by the strategies of `pairs.strategy`."""

    name = "preference"
    suffix, layout = ".jsonl", "lines"
    summary = "A better and a worse continuation of the same conversation, of two episodes of a task."
    loses = (*TEXTS_LOSE, "episodes in no pair", "with rows=turn what follows the turn in which they part")
    by_task = True
    trainer = "DPOTrainer"

    def __init__(
        self,
        *,
        rows: RowKind = "turn",
        strategy: Strategy = "best_worst",
        per_task: int = 8,
        outcome_gap: float = 0.1,
        tie_breaks: bool = False,
        truncated_is_loss: bool = False,
        seed: int = 0,
        meta: bool = True,
        feedback: Opinions | None = None,
    ) -> None:
        self._rows, self._meta, self._feedback = rows, meta, feedback
        self._pairing: dict[str, Any] = {
            "strategy": strategy,
            "per_task": per_task,
            "truncated_is_loss": truncated_is_loss,
            "seed": seed,
        }
        self._gaps = {"outcome_gap": outcome_gap, "tie_breaks": tie_breaks}

    @property
    def options(self) -> Mapping[str, Any]:
        """See `ExportFormat`."""
        opinions = None if self._feedback is None else self._feedback.options
        whole = {"rows": self._rows, "meta": self._meta, **self._pairing, **self._gaps}
        return {**whole, "feedback": opinions}

    @property
    def features(self) -> list[Feature]:
        """See `ExportFormat`."""
        columns = [messages(name) for name in ("prompt", "chosen", "rejected")]
        return [*columns, *([_META] if self._meta else [])]

    def rows(self, episodes: Iterable[Trajectory], tally: Tally) -> Iterator[Exported]:
        """One for each pair that parts in a message."""
        whole = {episode.id: episode for episode in acted(episodes, tally)}
        if self._feedback is not None:
            yield from self._opinions(self._feedback, whole, tally)
            return
        bands = bands_of(**self._gaps)
        pairing = pair_up([own_part(t) for t in whole.values()], bands=bands, **self._pairing)
        _count(pairing, tally)
        for pair in pairing.pairs:
            yield from self._pair(whole[pair.chosen.id], whole[pair.rejected.id], pair.margin, tally)

    def _opinions(
        self, opinions: Opinions, whole: Mapping[str, Trajectory], tally: Tally
    ) -> Iterator[Exported]:
        """Corrected messages over the original ones, then preferred episodes."""
        found = opinions.on(whole, tally)
        for one in corrected_messages(opinions, found, whole, tally):
            yield Exported(self._corrected(one), (one.episode,))
        for chosen, rejected in preferred(found, whole):
            margin = max((chosen.total_reward or 0.0) - (rejected.total_reward or 0.0), 0.0)
            yield from self._pair(chosen, rejected, margin, tally)

    def _corrected(self, one: CorrectedMessage) -> dict[str, Any]:
        prompt, chosen, rejected = one.sides
        row: dict[str, Any] = {"prompt": prompt, "chosen": chosen, "rejected": rejected}
        if self._meta:
            row["meta"] = self._meta_of(one.episode, one.episode, 0.0, one.turn)
        return row

    def _pair(
        self, chosen: Trajectory, rejected: Trajectory, margin: float, tally: Tally
    ) -> Iterator[Exported]:
        shared = _shared_turns(chosen, rejected)
        if reason := self._problem(chosen, rejected, shared):
            tally.left_out[reason] += 1
        else:
            yield Exported(self._row(chosen, rejected, margin, shared), (chosen, rejected))

    def _problem(self, chosen: Trajectory, rejected: Trajectory, shared: int) -> str | None:
        if shared < max(chosen.given_turns, rejected.given_turns):
            return GIVEN_DIFFER
        if shared == min(len(chosen.turns), len(rejected.turns)):
            return BEGINNING
        same = message_of(chosen.turns[shared]) == message_of(rejected.turns[shared])
        return WORLD_DIFFERS if same and self._rows == "turn" else None

    def _row(self, chosen: Trajectory, rejected: Trajectory, margin: float, shared: int) -> dict[str, Any]:
        place = 2 * shared + 1
        sides = [as_messages(texts(one)) for one in (chosen, rejected)]
        end = place + 1 if self._rows == "turn" else None
        row: dict[str, Any] = {
            "prompt": sides[0][:place],
            "chosen": sides[0][place:end],
            "rejected": sides[1][place:end],
        }
        if self._meta:
            row["meta"] = self._meta_of(chosen, rejected, margin, shared)
        return row

    def _meta_of(
        self, chosen: Trajectory, rejected: Trajectory, margin: float, shared: int
    ) -> dict[str, Any]:
        return {
            **task_of(chosen),
            "chosen": chosen.id,
            "rejected": rejected.id,
            "reward_chosen": chosen.total_reward,
            "reward_rejected": rejected.total_reward,
            "margin": margin,
            "shared_turns": shared,
        }


def _shared_turns(first: Trajectory, second: Trajectory) -> int:
    """Number of first turns with equal texts, messages and observations."""
    count = 0
    for one, other in zip(first.turns, second.turns, strict=False):
        if (message_of(one), one.observation) != (message_of(other), other.observation):
            break
        count += 1
    return count


def _count(pairing: Pairing, tally: Tally) -> None:
    tally.left_out[ONE_SIDED] += pairing.one_sided
    tally.left_out[CUT_OFF] += pairing.only_cut_off
    tally.left_out[ALIKE] += pairing.identical
