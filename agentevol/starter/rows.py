"""Token-exact rows of what a player showed: whole episodes, and parts of them that drill one thing."""

import re
from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import NamedTuple

import numpy as np

from agentevol.learn.batches import UNKNOWN
from agentevol.protocols import Message, TrainingSequence
from agentevol.rendering import ChatRenderer
from agentevol.starter.rewording import reworded
from agentgym_envs.formats import THINKING

_REPEATED = re.compile(r"\[ (.+)\]$")
"""What a search says again of the instruction."""

TAKING = "take "
"""How an action begins that answers what was just read."""
_THING = re.compile(r", you see an? ")


class Turn(NamedTuple):
    """What was heard, and the message that answered it."""

    heard: str
    said: str


class RowMaker:
    """Rows for one tokenizer; only what the player says is learnt."""

    def __init__(self, renderer: ChatRenderer) -> None:
        self._renderer = renderer
        self._encode = _remembering(renderer)
        self._mark = len(renderer.action_ids(THINKING)) - 1
        pieces = renderer.tokenizer.get_vocab()
        self._words = sorted(piece[1:] for piece in pieces if re.fullmatch("\u0120[a-z]+", piece))

    def whole(self, name: str, turns: Sequence[Turn]) -> TrainingSequence:
        """A row of a whole episode."""
        return self._row(name, turns, [0] * len(turns))

    def studied(self, name: str, turns: Sequence[Turn]) -> TrainingSequence:
        """A row of a whole episode, of which thoughts are learnt and what comes after the last of them.

        That it thinks, and looks, is not learnt but only what: the mark with which thoughts begin and the
        actions between thoughts are not masked.
        """
        last = _last_thought(turns)
        unlearnt = [self._unlearnt(turn, place > last) for place, turn in enumerate(turns)]
        return self._row(name, turns, unlearnt)

    def ending(self, name: str, turns: Sequence[Turn]) -> Iterator[TrainingSequence]:
        """A row of the last thought and what comes after it, which alone is learnt; none where that is a
        single turn.
        """
        last = turns[_last_thought(turns) :]
        if len(last) > 2:
            yield self._row(name, last, [None, *[0] * (len(last) - 1)])

    def openings(
        self, name: str, turns: Sequence[Turn], count: int, draw: Random
    ) -> Iterator[TrainingSequence]:
        """Rows of the first turn, what is said again in it in other words each time."""
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
        """A row of every thought about what was heard for the first time, and of that alone: no more than
        `longest` tokens.

        What `studied` does not learn is not learnt here either.
        """
        known = set[str]()
        for turn in turns:
            is_new = turn.heard not in known
            known.add(turn.heard)
            if is_new and turn.said.startswith(THINKING):
                row = self._row(name, [turn], [self._unlearnt(turn, False)])
                if longest is None or len(row.token_ids) <= longest:
                    yield row

    def finds(self, name: str, turns: Sequence[Turn], draw: Random) -> Iterator[TrainingSequence]:
        """A row of the turn in which something is taken for the first time, and one of a turn before it that
        read of things and left them: each after the episode's first text, and learnt alone.
        """
        taken = next((place for place, turn in enumerate(turns) if turn.said.startswith(TAKING)), 0)
        if taken == 0:
            return
        left = [place for place in range(1, taken) if _THING.search(turns[place].heard)]
        for place in [taken, draw.choice(left)] if left else [taken]:
            opening = Turn(turns[0].heard, turns[place - 1].said)
            yield self._row(name, [opening, turns[place]], [None, 0])

    def _unlearnt(self, turn: Turn, is_learnt: bool) -> int | None:
        """How many tokens of what was said, from the first, are not learnt; None for all of them."""
        if turn.said.startswith(THINKING):
            return self._mark
        return 0 if is_learnt else None

    def _row(self, name: str, turns: Sequence[Turn], unlearnt: Sequence[int | None]) -> TrainingSequence:
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
        return self._renderer.prompt([Message("user", heard)])


def _last_thought(turns: Sequence[Turn]) -> int:
    """Its place; behind the last turn where there is none."""
    places = [place for place, turn in enumerate(turns) if turn.said.startswith(THINKING)]
    return max(places, default=len(turns))


def _remembering(renderer: ChatRenderer) -> Callable[[str, bool], list[int]]:
    """Encode messages (True) and what is heard after them (False); most texts recur, so they are kept."""
    kept: dict[tuple[str, bool], list[int]] = {}

    def encode(text: str, is_said: bool) -> list[int]:
        key = (text, is_said)
        if key not in kept:
            kept[key] = renderer.action_ids(text) if is_said else renderer.extend([renderer.end_id], text)
        return kept[key]

    return encode
