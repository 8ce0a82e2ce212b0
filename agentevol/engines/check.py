"""Conformance check of rollout engines: their samples, concurrency, weight updates and limits.

> report = check_engine("embedded", lambda checkpoint: start_engine(settings, checkpoint), resolve("starter"))
> report.passed, report.lines()[0]
(True, 'ok    samples     4 checked')

Each check is an asynchronous function that yields a sentence for every violation, and None for a case that
holds; an exception of the engine is a violation, too. `agentevol check engine NAME` prints the report.
"""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import count
from math import isfinite
from pathlib import Path
from random import Random
from shutil import copytree
from tempfile import TemporaryDirectory

import torch
from safetensors.torch import load_file, save_file

from agentevol.core.errors import ConfigError, PolicyFault, one_line
from agentevol.core.protocols import (
    Checkpoint,
    ContextFull,
    Conversation,
    Message,
    Policy,
    RolloutEngine,
    Sampling,
)
from agentevol.models.causal_lm import load_model
from agentevol.models.rendering import load_tokenizer
from agentgym_envs.core import Observation
from agentgym_envs.testing import CheckResult, Report
from agentgym_store.records import Sample

SLOTS, CONTEXT = 4, 128
"""Settings of a checked engine: `engine.slots` and `engine.context`."""
SAMPLING = Sampling(temperature=1.0, max_new_tokens=6)
LOGP_GAP = 0.05
"""Largest mean difference from the model's log-probabilities; the default of `learn.max_logp_gap`."""
LIMIT_S = 300.0
"""Seconds after which a check that waits for the engine has failed."""


@dataclass
class Subject:
    """An engine under check with two checkpoints of one architecture."""

    engine: RolloutEngine
    checkpoint: Checkpoint
    other: Checkpoint
    """Other weights, one version newer."""
    empty: Path
    """Folder without weights."""
    numbers: "count[int]" = field(default_factory=count)

    @cached_property
    def vocabulary(self) -> list[str]:
        """Texts of ordinary tokens."""
        tokenizer = load_tokenizer(self.checkpoint.path)
        special = set(tokenizer.all_special_ids)
        texts = [str(tokenizer.decode([number])) for number in range(min(len(tokenizer), 500))]
        return [text for number, text in enumerate(texts) if number not in special and text.strip()]

    def begin(self, seed: int, words: int = 8) -> Conversation:
        """A new conversation with words drawn by `seed`."""
        text = " ".join(Random(seed).choices(self.vocabulary, k=words))
        return Conversation(f"check/{next(self.numbers)}", [Message("user", text)])

    async def sample(self, policy: Policy, begun: int, seed: int) -> Sample:
        """First action of a conversation that begins by `begun`."""
        conversation = self.begin(begun)
        try:
            return await policy.act(conversation, seed)
        finally:
            policy.release(conversation.id)


Start = Callable[[Checkpoint], RolloutEngine]
"""Start an engine with a checkpoint's weights, `SLOTS` and `CONTEXT`."""
Check = Callable[[Subject], AsyncIterator[str | None]]
"""Yields None for a case that holds and a sentence for one that does not."""


def check_engine(name: str, start: Start, checkpoint: Checkpoint, limit_s: float = LIMIT_S) -> Report:
    """Hold an engine against the contract of `agentevol.core.protocols.RolloutEngine`.

    It is started once and closed at the end. A check that takes longer than `limit_s` seconds has failed.
    Raises `ConfigError` where the engine cannot be started.
    """
    before = set(threading.enumerate())
    with TemporaryDirectory() as folder:
        other = Checkpoint(_with_other_weights(checkpoint.path, Path(folder)), checkpoint.version + 1)
        empty = Path(folder, "empty")
        empty.mkdir()
        subject = Subject(start(checkpoint), checkpoint, other, empty)
        results = asyncio.run(_all(subject, limit_s))
        results.append(_closing(subject.engine, before))
    return Report(env=name, results=tuple(results))


async def _all(subject: Subject, limit_s: float) -> list[CheckResult]:
    return [await _result(name, check(subject), limit_s) for name, check in CHECKS.items()]


async def _result(name: str, found: AsyncIterator[str | None], limit_s: float) -> CheckResult:
    cases, violations = 0, list[str]()
    try:
        async with asyncio.timeout(limit_s):
            async for violation in found:
                cases += 1
                violations += [] if violation is None else [violation]
    except TimeoutError:
        violations.append(f"no answer within {limit_s:g} s")
    except Exception as cause:  # noqa: BLE001 - whatever an engine raises is a finding
        violations.append(f"raised {type(cause).__name__}: {one_line(cause)}")
    return CheckResult(name=name, cases=max(cases, len(violations)), violations=tuple(violations))


def _closing(engine: RolloutEngine, before: set[threading.Thread]) -> CheckResult:
    """`close` ends the engine's threads; an engine that was closed has not failed."""
    violations: list[str] = []
    try:
        engine.close()
    except Exception as cause:  # noqa: BLE001 - whatever an engine raises is a finding
        violations.append(f"raised {type(cause).__name__}: {one_line(cause)}")
    left = [thread.name for thread in threading.enumerate() if thread not in before and not thread.daemon]
    if left:
        violations.append(f"close leaves the thread {left[0]!r}, which keeps the process alive")
    if engine.lost:
        violations.append("an engine that was closed says that it is lost")
    return CheckResult(name="closing", cases=3, violations=tuple(violations))


def _with_other_weights(folder: Path, place: Path) -> Path:
    """Copy of a checkpoint whose matrices are shifted by a row."""
    copied = copytree(folder, place / "other", ignore=lambda _, names: [n for n in names if n == ".git"])
    for file in copied.glob("*.safetensors"):
        tensors = load_file(file)
        file.unlink()  # it may be a link into a cache
        moved = {key: value.roll(1, 0) if value.ndim == 2 else value for key, value in tensors.items()}
        save_file(moved, file, metadata={"format": "pt"})
    return copied


def _unless(holds: bool, violation: str) -> str | None:
    return None if holds else violation


def _gap(checkpoint: Checkpoint, sample: Sample) -> float:
    """Mean difference between a sample's log-probabilities and those of one pass of the model."""
    model = load_model(checkpoint.path, "eager")
    ids = torch.tensor([[*sample.prompt_ids, *sample.token_ids]])
    with torch.inference_mode():
        logp = model(ids).logits[0].float().log_softmax(-1)
    first = len(sample.prompt_ids)
    places = torch.arange(first - 1, ids.shape[1] - 1)
    own = logp[places, ids[0, first:]]
    return (own - torch.tensor(sample.logprobs)).abs().mean().item()


async def _samples(subject: Subject) -> AsyncIterator[str | None]:
    """A sample has the ids that were read and sampled, their log-probabilities and the version."""
    sample = await subject.sample(subject.engine.serve(SAMPLING), begun=1, seed=1)
    count = len(sample.token_ids)
    yield _unless(len(sample.prompt_ids) > 0, "a sample has no prompt_ids")
    yield _unless(
        1 <= count <= SAMPLING.max_new_tokens,
        f"a sample has {count} tokens, not 1 to {SAMPLING.max_new_tokens}",
    )
    yield _unless(
        len(sample.logprobs) == count and all(isfinite(logp) and logp <= 0 for logp in sample.logprobs),
        "log-probabilities are not one finite number of at most 0 for each token",
    )
    yield _unless(
        sample.policy_version == subject.checkpoint.version,
        f"a sample has policy_version {sample.policy_version}, not {subject.checkpoint.version}",
    )


async def _probabilities(subject: Subject) -> AsyncIterator[str | None]:
    """Log-probabilities are the model's, given the ids of the prompt."""
    for seed in range(2):
        sample = await subject.sample(subject.engine.serve(SAMPLING), begun=2 + seed, seed=seed)
        gap = _gap(subject.checkpoint, sample)
        yield _unless(gap <= LOGP_GAP, f"log-probabilities differ from the model's by {gap:.3g} in the mean")


async def _seeds(subject: Subject) -> AsyncIterator[str | None]:
    """Equal conversation and seed give equal samples, other seeds give others; greedy ones ignore it."""
    policy = subject.engine.serve(SAMPLING)
    drawn = [(await subject.sample(policy, begun=4, seed=seed)).token_ids for seed in (0, 1, 2, 3, 0)]
    yield _unless(drawn[0] == drawn[4], "equal conversation and seed give other samples")
    yield _unless(len(set(drawn)) > 1, "other seeds give no other samples")
    greedy = subject.engine.serve(replace(SAMPLING, temperature=0.0))
    chosen = {(await subject.sample(greedy, begun=4, seed=seed)).token_ids for seed in range(3)}
    yield _unless(len(chosen) == 1, "greedy samples depend on the seed")


async def _concurrency(subject: Subject) -> AsyncIterator[str | None]:
    """Twice as many conversations as slots end, each with the sample that it has alone."""
    policy = subject.engine.serve(SAMPLING)
    alone = [await subject.sample(policy, begun, seed=5) for begun in range(2 * SLOTS)]
    beside = await asyncio.gather(*(subject.sample(policy, begun, seed=5) for begun in range(2 * SLOTS)))
    for one, other in zip(alone, beside, strict=True):
        yield _unless(one.token_ids == other.token_ids, "a sample depends on what is sampled beside it")


async def _turns(subject: Subject) -> AsyncIterator[str | None]:
    """The prompt of a turn extends the ids that were read and sampled before it."""
    policy, conversation = subject.engine.serve(SAMPLING), subject.begin(6)
    for turn in range(3):
        sample = await policy.act(conversation, turn)
        read = [*conversation.samples[-1].prompt_ids, *conversation.samples[-1].token_ids] if turn else []
        yield _unless(
            list(sample.prompt_ids[: len(read)]) == read,
            f"the prompt of turn {turn + 1} does not extend the ids of the turn before",
        )
        conversation.say(sample)
        conversation.hear(Observation(text=subject.begin(turn, words=4).messages[0].content))
    policy.release(conversation.id)


async def _context(subject: Subject) -> AsyncIterator[str | None]:
    """A conversation that leaves no room for a sample is full, and never cut."""
    policy, conversation = subject.engine.serve(SAMPLING), subject.begin(7, words=2 * CONTEXT)
    try:
        await policy.act(conversation, 0)
    except ContextFull:
        yield None
    else:
        yield f"a prompt of more than engine.context = {CONTEXT} tokens is sampled for, not refused as full"
    policy.release(conversation.id)
    sample = await subject.sample(policy, begun=8, seed=0)
    yield _unless(len(sample.token_ids) > 0, "after a conversation that was full, others are not served")


async def _update(subject: Subject) -> AsyncIterator[str | None]:
    """New weights are served with their version; a policy of the old ones never samples by them. A folder
    without weights is refused, and changes nothing.
    """
    engine, old = subject.engine, subject.engine.serve(SAMPLING)
    await asyncio.to_thread(engine.update, subject.other)
    sample = await subject.sample(engine.serve(SAMPLING), begun=9, seed=0)
    version = subject.other.version
    yield _unless(
        sample.policy_version == version,
        f"after an update a sample has policy_version {sample.policy_version}, not {version}",
    )
    gap = _gap(subject.other, sample)
    yield _unless(
        gap <= LOGP_GAP, f"after an update log-probabilities differ from the new model's by {gap:.3g}"
    )
    try:
        late = await subject.sample(old, begun=9, seed=0)
    except PolicyFault:
        yield None
    else:
        own = late.policy_version == subject.checkpoint.version and _gap(subject.checkpoint, late) <= LOGP_GAP
        yield _unless(own, "a policy of the old weights samples by the new ones")
    yield await _refused(subject)


async def _refused(subject: Subject) -> str | None:
    engine = subject.engine
    try:
        await asyncio.to_thread(engine.update, Checkpoint(subject.empty, subject.other.version + 1))
    except ConfigError:
        after = await subject.sample(engine.serve(SAMPLING), begun=9, seed=0)
        kept = after.policy_version == subject.other.version and not engine.lost
        return _unless(kept, "an update that was refused changes what is served")
    return "an update from a folder without weights is not refused with ConfigError"


CHECKS: dict[str, Check] = {
    "samples": _samples,
    "logprobs": _probabilities,
    "seeds": _seeds,
    "concurrency": _concurrency,
    "turns": _turns,
    "context": _context,
    "update": _update,
}
"""Checks by name, in the order in which they run; `closing` is the last."""
