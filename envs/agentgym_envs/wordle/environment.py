"""Wordle as an `Environment`."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from random import Random
from typing import Annotated, Any, Literal, get_args

from pydantic import Field

from agentgym_envs.core import Environment, Observation, StepResult, Task, TaskNotFound
from agentgym_envs.lazy_sequence import LazySequence
from agentgym_envs.wordle import lexicon
from agentgym_envs.wordle.lexicon import LENGTHS, SPLITS, TINY, VERSION, Lexicon
from agentgym_envs.wordle.player import guesses

Variant = Literal["default", "agentgym"]
Vocabulary = Literal["full", "small"]
Invalid = Literal["try", "free"]

AGENTGYM = "agentgym"
GAMES = 980
"""Games of AgentGym's variant: seeds of the words that are drawn."""
TRIES = 6
SPARE = 6
"""Guesses beyond the tries that are answered where an invalid one is free."""
START = "Let's start Wordle!"

LENGTH = "Letters of the words: 4, 5 or 6."
VOCABULARY = "`small`: 200 words, which the instruction lists; `full`: all words."
INVALID = "What a guess that is no word costs: a `try`, or nothing (`free`, at most six times)."
VARIANT = (
    "`agentgym`: 40 words of five letters, no secret at the start but a word drawn at each guess from those"
    " that are left, and LMRL-Gym's marks."
)

_ID = re.compile(r"([a-z]{1,10})/([0-9])/(0|[1-9][0-9]{0,4})")
_LETTERS = re.compile(r"[a-z]+")


class WordleTask(Task):
    """Wordle task. `answer` stays on the server; it is empty in AgentGym's variant."""

    answer: str


@dataclass(frozen=True)
class _Snapshot:
    """State of an episode."""

    task: WordleTask | None
    draw: Any
    left: int
    tries: int
    spare: int
    is_over: bool


class Wordle(Environment[WordleTask]):
    """Reward 1 for the word within six tries. Words are typed as `s h i r e` or `shire`."""

    name = "wordle"
    blocking = False
    forkable = True

    def __init__(
        self,
        length: Annotated[Literal[4, 5, 6], Field(description=LENGTH)] = 5,
        vocabulary: Annotated[Vocabulary, Field(description=VOCABULARY)] = "full",
        invalid: Annotated[Invalid, Field(description=INVALID)] = "try",
        variant: Annotated[Variant, Field(description=VARIANT)] = "default",
    ) -> None:
        self.length: int = _one_of(length, LENGTHS, "length")
        self.vocabulary = _one_of(vocabulary, get_args(Vocabulary), "vocabulary")
        self.invalid = _one_of(invalid, get_args(Invalid), "invalid")
        self.variant = _one_of(variant, get_args(Variant), "variant")
        if self.variant == AGENTGYM and (self.length, self.vocabulary, self.invalid) != (5, "full", "try"):
            raise ValueError("length, vocabulary and invalid have no effect in the variant 'agentgym'")
        self._words = _listed(self.length, self.vocabulary, self.variant)
        self._lexicon = _lexicon(self._words)
        self.max_turns = TRIES + (SPARE if self.invalid == "free" else 0)
        is_listed = self._words != lexicon.answers(self.length)
        self._instruction = _instruction(self.length, self._words if is_listed else None)
        self._task: WordleTask | None = None
        self._draw = Random(0)
        self._left = self._tries = self._spare = 0
        self._is_over = False

    @property
    def splits(self) -> tuple[str, ...]:
        return (AGENTGYM,) if self.variant == AGENTGYM else SPLITS

    @property
    def data_version(self) -> str:
        return f"scowl:{VERSION}"

    def tasks(self, split: str, difficulty: str | None = None) -> Sequence[WordleTask]:
        if split not in self.splits:
            raise TaskNotFound(f"wordle has no split {split[:80]!r}; there are: {', '.join(self.splits)}")
        if difficulty is not None:
            raise ValueError(f"wordle has no difficulty levels, so not {difficulty[:80]!r} either")
        return LazySequence(self._count(split), lambda index: self._made(split, index))

    def task(self, task_id: str) -> WordleTask:
        found = _ID.fullmatch(task_id)
        is_own = found and found[1] in self.splits and found[2] == str(self.length)
        if found and is_own and int(found[3]) < self._count(found[1]):
            return self._made(found[1], int(found[3]))
        raise TaskNotFound(f"wordle has no task {task_id[:80]!r}")

    def reset(self, task: WordleTask, seed: int) -> Observation:
        self._task, self._draw, self._left = task, Random(f"{task.id}/{seed}"), self._lexicon.whole
        self._tries, self._spare, self._is_over = TRIES, SPARE, False
        return self._observed(START)

    def step(self, action: str) -> StepResult:
        if self._task is None:
            raise RuntimeError("step before reset")
        if self._is_over:
            return StepResult(observation=Observation(text="It is over."), terminated=True)
        guess = "".join(action.split()).lower()
        if not self._is_word(guess):
            return self._refused()
        self._tries -= 1
        is_right, told = self._judged(self._task, guess)
        if self.variant == AGENTGYM:
            self._is_over = is_right or not self._tries
            return self._result(f"{told}\n", is_right=is_right)
        lines = [told]
        if is_right:
            lines.append(f"You solved it in {TRIES - self._tries} tries.")
        elif not self._tries:
            lines.append(f"Out of tries. The word was {self._task.answer}.")
        self._is_over = len(lines) > 1
        return self._result("\n".join(lines), is_right=is_right)

    def expert(self, task: WordleTask) -> list[str] | None:
        """Guesses of the careful player, with the word itself as the last try; None without a secret."""
        if self.variant == AGENTGYM:
            return None
        said = guesses(self._lexicon, task.answer, TRIES - 1, Random(0))
        return said if said[-1] == task.answer else [*said, task.answer]

    def demonstrate(self, task: WordleTask, seed: int, care: float = 1.0) -> list[str]:
        """Guesses of a player that leaves the fewest words on average."""
        if self.variant == AGENTGYM:
            raise NotImplementedError("the variant 'agentgym' has no player")
        return guesses(self._lexicon, task.answer, TRIES, Random(f"{task.id}/{seed}"), care)

    def snapshot(self) -> object:
        state = self._draw.getstate()
        return _Snapshot(self._task, state, self._left, self._tries, self._spare, self._is_over)

    def restore(self, snapshot: object) -> None:
        if not isinstance(snapshot, _Snapshot):
            raise TypeError(f"not a snapshot of wordle: {type(snapshot).__name__}")
        self._task, self._left, self._is_over = snapshot.task, snapshot.left, snapshot.is_over
        self._tries, self._spare, self._draw = snapshot.tries, snapshot.spare, Random()
        self._draw.setstate(snapshot.draw)

    def _count(self, split: str) -> int:
        return GAMES if self.variant == AGENTGYM else len(lexicon.of_split(self._words, split))

    def _is_word(self, guess: str) -> bool:
        if len(guess) != self.length or not _LETTERS.fullmatch(guess):
            return False
        if self.variant == AGENTGYM or self.vocabulary == "small":
            return bool(self._lexicon.bit(guess))
        return guess in lexicon.allowed(self.length)

    def _refused(self) -> StepResult:
        """The result of a guess that is no word."""
        if self.invalid == "free" and self._spare:
            self._spare -= 1
        else:
            self._tries -= 1
        self._is_over = not self._tries
        text = "invalid word"
        if self._is_over and self.variant == "default" and self._task is not None:
            text += f"\nOut of tries. The word was {self._task.answer}."
        return self._result(text, is_right=False, info={"invalid_action": True})

    def _judged(self, task: WordleTask, guess: str) -> tuple[bool, str]:
        """Whether the guess is right, and its marks; the variant of AgentGym draws the word now."""
        if self.variant == "default":
            return guess == task.answer, " ".join(lexicon.marks(guess, task.answer))
        answer = self._draw.choice(self._lexicon.among(self._left))
        told = lexicon.simple_marks(guess, answer)
        self._left = self._lexicon.consistent(self._left, guess, told, simple=True)
        return self._left == self._lexicon.bit(guess), " ".join(told)

    def _result(self, text: str, *, is_right: bool, info: dict[str, Any] | None = None) -> StepResult:
        return StepResult(
            observation=self._observed(text),
            reward=float(is_right),
            terminated=self._is_over,
            info={"variant": self.variant, **(info or {})},
        )

    def _observed(self, text: str) -> Observation:
        """The observation; AgentGym tells the words that are left."""
        left = tuple(sorted(self._lexicon.among(self._left))) if self.variant == AGENTGYM else None
        return Observation(text=text, actions=left)

    def _made(self, split: str, index: int) -> WordleTask:
        answer = "" if self.variant == AGENTGYM else lexicon.of_split(self._words, split)[index]
        return WordleTask(
            env=self.name,
            id=f"{split}/{self.length}/{index}",
            split=split,
            instruction=self._instruction,
            kind=f"{self.length} letters",
            answer=answer,
        )


def _listed(length: int, vocabulary: Vocabulary, variant: Variant) -> tuple[str, ...]:
    """Words that can be hidden."""
    if variant == AGENTGYM:
        return lexicon.small(length, TINY)
    return lexicon.small(length) if vocabulary == "small" else lexicon.answers(length)


@cache
def _lexicon(words: tuple[str, ...]) -> Lexicon:
    return Lexicon(words)


@cache
def _instruction(length: int, listed: tuple[str, ...] | None) -> str:
    example = " ".join("shires"[:length])
    text = (
        f"Guess a hidden English word of {length} letters in {TRIES} tries. Type the letters with spaces, as"
        f" {example}. Each letter gets a mark: g, it is right; y, the word has it in another place; b, the"
        " word has it not, or not once more."
    )
    return text if listed is None else f"{text} The word is one of: {', '.join(listed)}."


def _one_of(value: Any, choices: Sequence[Any], name: str) -> Any:
    if value not in choices:
        raise ValueError(f"no {name} {value!r}; there are: {', '.join(map(str, choices))}")
    return value
