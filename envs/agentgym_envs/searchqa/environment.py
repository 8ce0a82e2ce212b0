"""SearchQA as an `Environment`."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib import import_module
from pathlib import Path
from random import Random
from typing import Annotated, Any, Literal, cast, get_args

import numpy as np
from pydantic import Field

from agentgym_envs.core import Environment, Observation, StepResult, Task, TaskNotFound
from agentgym_envs.home import data_home
from agentgym_envs.lazy_sequence import LazySequence
from agentgym_envs.searchqa.corpus import BM25, Corpus, Dense, Retriever
from agentgym_envs.searchqa.generator import COUNTS, HOPS, VERSION, chains, world
from agentgym_envs.searchqa.player import played
from agentgym_envs.searchqa.records import Passage, SearchQAError, SearchQuestion
from agentgym_envs.searchqa.replies import (
    INVALID,
    LOST,
    RIGHT,
    WRONG,
    answering,
    asked,
    parsed,
    searching,
    shown,
)
from agentgym_envs.searchqa.scoring import exact_match, f1
from agentgym_envs.searchqa.stored import SearchQAManifest, found, opened

Source = Literal["generated", "imported"]
Score = Literal["exact_match", "f1"]

CORPUS = (
    "`generated`: invented facts; `imported`: passages and questions of `agentevol data import searchqa`."
)
STRICT = "The first answer ends the episode; otherwise a wrong one may be followed by others."
SCORE = "Reward of an answer: `exact_match`, or `f1`, for which the first answer ends the episode."
PASSAGES = "Passages that a search returns."
VECTORS = "NumPy file with a vector of each imported passage, in place of BM25; needs `embed`."
EMBED = "`module:function` that gives the vector of a query."
_ID = re.compile(r"(train|valid|test)/([1-4])/(0|[1-9]\d{0,4})")


class SearchQATask(Task):
    """Question; all but the fields of `Task` stays on the server."""

    question: str
    answers: tuple[str, ...]
    evidence: tuple[str, ...]


@dataclass(frozen=True)
class _Snapshot:
    """State of an episode."""

    task: SearchQATask
    seen: frozenset[str]
    is_over: bool


class SearchQA(Environment[SearchQATask]):
    """Reward 1 for the right answer. A search shows the best passages."""

    name = "searchqa"
    max_turns = 10
    forkable = True
    reward_columns = ("answers", "evidence")

    def __init__(
        self,
        corpus: Annotated[Source, Field(description=CORPUS)] = "generated",
        strict: Annotated[bool, Field(description=STRICT)] = False,
        score: Annotated[Score, Field(description=SCORE)] = "exact_match",
        passages: Annotated[int, Field(description=PASSAGES, ge=1, le=20)] = 3,
        vectors: Annotated[str | None, Field(description=VECTORS)] = None,
        embed: Annotated[str | None, Field(description=EMBED)] = None,
    ) -> None:
        for name, value, known in (("corpus", corpus, Source), ("score", score, Score)):
            if value not in get_args(known):
                raise ValueError(f"no {name} {value!r}; there are: {', '.join(get_args(known))}")
        if (vectors is None) != (embed is None) or (vectors is not None and corpus == "generated"):
            raise ValueError("vectors and embed go together, with corpus=imported")
        self._strict, self._score, self._most = strict or score == "f1", score, passages
        self._library = _library(vectors, embed) if corpus == "imported" else None
        self.difficulties = self._library.difficulties if self._library else tuple(map(str, HOPS))
        self._task: SearchQATask | None = None
        self._seen: set[str] = set()
        self._is_over = False

    @property
    def splits(self) -> tuple[str, ...]:
        return tuple(self._library.by_split) if self._library else tuple(COUNTS)

    @property
    def data_version(self) -> str:
        return f"imported:{self._library.digest[:12]}" if self._library else f"generated:{VERSION}"

    def tasks(self, split: str, difficulty: str | None = None) -> Sequence[SearchQATask]:
        if split not in self.splits:
            raise TaskNotFound(f"searchqa has no split {split[:80]!r}; there are: {', '.join(self.splits)}")
        if difficulty is not None and difficulty not in self.difficulties:
            raise ValueError(f"no difficulty {difficulty[:80]!r}; there are: {', '.join(self.difficulties)}")
        if self._library is not None:
            own = self._library.by_split[split]
            chosen = own if difficulty is None else [one for one in own if one.difficulty == difficulty]
            return LazySequence(len(chosen), lambda index: _stored(chosen[index]))
        levels = [int(difficulty)] if difficulty else list(HOPS)
        return LazySequence(
            len(levels) * COUNTS[split],
            lambda index: _generated(split, levels[index % len(levels)], index // len(levels)),
        )

    def task(self, task_id: str) -> SearchQATask:
        if self._library is not None:
            if task_id in self._library.by_id:
                return _stored(self._library.by_id[task_id])
        elif (parts := _ID.fullmatch(task_id)) and int(parts[3]) < COUNTS[parts[1]]:
            return _generated(parts[1], int(parts[2]), int(parts[3]))
        raise TaskNotFound(f"searchqa has no task {task_id[:80]!r}")

    def reset(self, task: SearchQATask, seed: int) -> Observation:
        self._task, self._is_over = task, False
        self._seen = set()
        return Observation(text=asked(task.question))

    def step(self, action: str) -> StepResult:
        task = self._task
        if task is None:
            raise RuntimeError("step before reset")
        if self._is_over:
            return StepResult(observation=Observation(text="It is over."), terminated=True)
        reply = parsed(action)
        if reply is None:
            return StepResult(observation=Observation(text=INVALID), info={"invalid_action": True})
        if reply.kind == "search":
            passages = self._corpus(task).search(reply.text, self._most)
            self._seen.update(one.title for one in passages)
            return StepResult(observation=Observation(text=shown(passages)))
        return self._answered(task, reply.text)

    def expert(self, task: SearchQATask) -> list[str]:
        """Searches for the passages that the answer follows from, then the answer."""
        searches = [searching("I look it up.", title) for title in task.evidence[: self.max_turns - 1]]
        return [*searches, answering("I know it now.", task.answers[0])]

    def demonstrate(self, task: SearchQATask, seed: int, care: float = 1.0) -> list[str]:
        """Replies of a player that follows a generated question fact by fact."""
        if self._library is not None:
            raise NotImplementedError("searchqa has no player for imported questions")
        split, hops, number = task.id.split("/")
        chain, draw = chains(split, int(hops))[int(number)], Random(f"{task.id}/{seed}")
        return played(chain, world(split), draw, care, self.max_turns)

    def snapshot(self) -> object:
        if self._task is None:
            raise RuntimeError("snapshot before reset")
        return _Snapshot(self._task, frozenset(self._seen), self._is_over)

    def restore(self, snapshot: object) -> None:
        if not isinstance(snapshot, _Snapshot):
            raise TypeError(f"not a snapshot of searchqa: {type(snapshot).__name__}")
        self._task, self._seen, self._is_over = snapshot.task, set(snapshot.seen), snapshot.is_over

    def close(self) -> None:
        self._task = None

    def _corpus(self, task: SearchQATask) -> Corpus:
        return self._library.corpus if self._library else _generated_corpus(task.split)

    def _answered(self, task: SearchQATask, answer: str) -> StepResult:
        is_right = exact_match(answer, task.answers)
        self._is_over = is_right or self._strict
        if not self._is_over:
            return StepResult(observation=Observation(text=WRONG), info={"exact_match": 0})
        part = f1(answer, task.answers)
        info: dict[str, Any] = {"exact_match": int(is_right), "f1": part, "evidence": list(task.evidence)}
        if task.evidence:
            info["evidence_found"] = len(self._seen & set(task.evidence)) / len(set(task.evidence))
        return StepResult(
            observation=Observation(text=RIGHT if is_right else LOST),
            reward=part if self._score == "f1" else float(is_right),
            terminated=True,
            info=info,
        )


def _library(vectors: str | None, embed: str | None) -> "_Library":
    """The imported library, which instances share. Raises `SearchQAError`."""
    told, folder = found(data_home())
    return _opened(folder, told.model_dump_json(), vectors, embed)


class _Library:
    """Imported passages and questions."""

    def __init__(self, folder: Path, told: str, vectors: str | None, embed: str | None) -> None:
        """`told`: the manifest's JSON."""
        manifest = SearchQAManifest.model_validate_json(told)
        self.corpus, questions = opened(folder, told)
        self.digest = manifest.questions
        if vectors is not None and embed is not None:
            self.corpus = Corpus(self.corpus.passages, _dense(Path(vectors), embed, manifest.passages))
        self.by_id = {one.id: one for one in questions}
        splits = sorted(manifest.counts, key=lambda split: (*(split != one for one in COUNTS), split))
        self.by_split = {split: [one for one in questions if one.split == split] for split in splits}
        self.difficulties = tuple(sorted({one.difficulty for one in questions if one.difficulty}))


_opened = lru_cache(maxsize=2)(_Library)


def _dense(path: Path, embed: str, passages: int) -> Retriever:
    try:
        vectors = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError) as cause:
        raise SearchQAError(f"{path} is no file of vectors: {cause}") from None
    if len(vectors) != passages:
        raise SearchQAError(f"{path} has {len(vectors):,} vectors for {passages:,} passages")
    module, _, attribute = embed.partition(":")
    try:
        function: object = getattr(import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as cause:
        raise SearchQAError(f"embed {embed!r}: {cause}") from None
    return Dense(vectors, cast("Callable[[str], Any]", function))


@cache
def _generated_corpus(split: str) -> Corpus:
    passages: tuple[Passage, ...] = world(split).passages
    return Corpus(passages, BM25(passages))


def _generated(split: str, hops: int, number: int) -> SearchQATask:
    chain = chains(split, hops)[number]
    return SearchQATask(
        env=SearchQA.name,
        id=f"{split}/{hops}/{number}",
        split=split,
        instruction=chain.question,
        kind=chain.relations[-1],
        difficulty=str(hops),
        question=chain.question,
        answers=(chain.answer,),
        evidence=chain.entities,
    )


def _stored(one: SearchQuestion) -> SearchQATask:
    return SearchQATask(
        env=SearchQA.name,
        id=one.id,
        split=one.split,
        instruction=one.question,
        kind=one.kind,
        difficulty=one.difficulty,
        question=one.question,
        answers=one.answers,
        evidence=one.evidence,
    )
