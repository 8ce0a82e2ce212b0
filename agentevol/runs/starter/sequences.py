"""Token-exact training sequences of demonstrations: whole episodes, and excerpts that drill one thing."""

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from random import Random
from typing import NamedTuple

import numpy as np

from agentevol.core.protocols import Message, TrainingSequence
from agentevol.learn.batches.packing import UNKNOWN
from agentevol.models.rendering import ChatRenderer
from agentevol.runs.starter.rewording import reworded
from agentgym_envs.formats import THINKING

_REPEATED = re.compile(r"\[ (.+)\]$")
"""The instruction as a search repeats it."""

TAKING = "take "
"""Prefix of an action that takes an item that was just read of."""
_THING = re.compile(r", you see an? ")


class Turn(NamedTuple):
    """An observation, and the message that answers it."""

    heard: str
    said: str


class SequenceMaker:
    """Builder of training sequences for one tokenizer; only messages of the player are learnt.

    `instruction` is the system message of every episode, None without one.
    """

    def __init__(self, renderer: ChatRenderer, instruction: str | None = None) -> None:
        self._renderer = renderer
        self._opening = [Message("system", instruction)] if instruction else []
        self._encode = _remembering(renderer)
        self._mark = len(renderer.action_ids(THINKING)) - 1
        pieces = renderer.tokenizer.get_vocab()
        self._words = sorted(piece[1:] for piece in pieces if re.fullmatch("\u0120[a-z]+", piece))

    def whole(
        self, name: str, turns: Sequence[Turn], repeated: Collection[int] = frozenset()
    ) -> TrainingSequence:
        """Training sequence of a whole episode; in observations the tokens of `repeated` are learnt wherever
        they are not the first of their kind.
        """
        sequence = self._sequence(name, turns, [0] * len(turns))
        if not repeated:
            return sequence
        again = np.ones(len(sequence.token_ids), bool)
        again[np.unique(sequence.token_ids, return_index=True)[1]] = False
        return replace(sequence, mask=sequence.mask | again & np.isin(sequence.token_ids, list(repeated)))

    def studied(self, name: str, turns: Sequence[Turn]) -> TrainingSequence:
        """Training sequence of a whole episode, in which thoughts are learnt and everything after the last of
        them.

        The content of thoughts is learnt, not the decision to think or look: the opening mark of thoughts and
        the actions between thoughts are context.
        """
        last = _last_thought(turns)
        unlearnt = [self._unlearnt(turn, place > last) for place, turn in enumerate(turns)]
        return self._sequence(name, turns, unlearnt)

    def ending(self, name: str, turns: Sequence[Turn]) -> Iterator[TrainingSequence]:
        """Training sequence of the last thought and everything after it, which alone is learnt; none where
        that is a single turn.
        """
        last = turns[_last_thought(turns) :]
        if len(last) > 2:
            yield self._sequence(name, last, [None, *[0] * (len(last) - 1)])

    def openings(
        self, name: str, turns: Sequence[Turn], count: int, draw: Random
    ) -> Iterator[TrainingSequence]:
        """Training sequences of the first turn, with the repeated instruction in other words each time."""
        heard, said = turns[0]
        repeated = _REPEATED.search(said)
        if repeated is None or repeated[1] not in heard:
            return
        for _ in range(count):
            other = reworded(repeated[1], self._words, draw)
            yield self.whole(
                name, [Turn(heard.replace(repeated[1], other), said.replace(repeated[1], other))]
            )

    def thoughts(
        self, name: str, turns: Sequence[Turn], longest: int | None = None
    ) -> Iterator[TrainingSequence]:
        """Training sequence of every thought about a text that is read for the first time, and of that alone:
        no more than `longest` tokens.

        Tokens that `studied` does not learn are not learnt here either.
        """
        known = set[str]()
        for turn in turns:
            is_new = turn.heard not in known
            known.add(turn.heard)
            if is_new and turn.said.startswith(THINKING):
                sequence = self._sequence(name, [turn], [self._unlearnt(turn, False)])
                if longest is None or len(sequence.token_ids) <= longest:
                    yield sequence

    def finds(self, name: str, turns: Sequence[Turn], draw: Random) -> Iterator[TrainingSequence]:
        """Training sequences of the first turn that takes an item, and of an earlier turn that read of items
        and left them: each after the episode's first text, and learnt alone.
        """
        taken = next((place for place, turn in enumerate(turns) if turn.said.startswith(TAKING)), 0)
        if taken == 0:
            return
        left = [place for place in range(1, taken) if _THING.search(turns[place].heard)]
        for place in [taken, draw.choice(left)] if left else [taken]:
            opening = Turn(turns[0].heard, turns[place - 1].said)
            yield self._sequence(name, [opening, turns[place]], [None, 0])

    def _unlearnt(self, turn: Turn, is_learnt: bool) -> int | None:
        """Number of first tokens of the message that are not learnt; None for all of them."""
        if turn.said.startswith(THINKING):
            return self._mark
        return 0 if is_learnt else None

    def _sequence(self, name: str, turns: Sequence[Turn], unlearnt: Sequence[int | None]) -> TrainingSequence:
        token_ids, mask = list[int](), list[bool]()
        for turn, first in zip(turns, unlearnt, strict=True):
            heard = self._encode(turn.heard, False) if token_ids else self._prompt(turn.heard)
            said = self._encode(turn.said, True)
            token_ids += [*heard, *said]
            hidden = len(said) if first is None else first
            mask += [False] * (len(heard) + hidden) + [True] * (len(said) - hidden)
        unknown = np.full(len(token_ids), UNKNOWN, np.float32)
        return TrainingSequence(np.asarray(token_ids, np.int32), np.asarray(mask), unknown, 1.0, name)

    def _prompt(self, heard: str) -> list[int]:
        return self._renderer.prompt([*self._opening, Message("user", heard)])


def _last_thought(turns: Sequence[Turn]) -> int:
    """Index of the last turn with a thought; behind the last turn where there is none."""
    places = [place for place, turn in enumerate(turns) if turn.said.startswith(THINKING)]
    return max(places, default=len(turns))


def _remembering(renderer: ChatRenderer) -> Callable[[str, bool], list[int]]:
    """Encode messages (True) and the texts after them (False), with a cache, since most texts recur."""
    kept: dict[tuple[str, bool], list[int]] = {}

    def encode(text: str, is_said: bool) -> list[int]:
        key = (text, is_said)
        if key not in kept:
            kept[key] = renderer.action_ids(text) if is_said else renderer.extend([renderer.end_id], text)
        return kept[key]

    return encode
