"""Judge behind an endpoint: `JudgeModel`, `judged`.

One request is one judgement of both seats. With several samples a dimension's score is their mean or median,
and its spread is reported: judges differ from sample to sample.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from statistics import fmean, median
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from agentgym_envs.core import Record
from agentgym_envs.endpoints.budget import Budget
from agentgym_envs.endpoints.cache import AnswerCache
from agentgym_envs.endpoints.client import ChatClient, Message
from agentgym_envs.endpoints.records import Endpoint, EndpointFault, Said
from agentgym_envs.formats import after_thinking
from agentgym_envs.sotopia.models.partner import response_format
from agentgym_envs.sotopia.protocol.dimensions import (
    SOTOPIA,
    Dimension,
    judgement_format,
    judgement_schema,
    overall,
)
from agentgym_envs.sotopia.protocol.judgement import Judgement, JudgementError, read_judgement

if TYPE_CHECKING:
    import httpx

REPAIR = "That is no judgement: {reason}. Reply with one JSON object of this form and nothing else:\n{form}"


class JudgeFault(EndpointFault):
    """The judge gave no complete judgement: the episode fails, and is no reward."""

    kind = "judge"


class JudgeModel(Endpoint):
    """Endpoint, sampling and aggregation of a judge."""

    max_tokens: int = Field(default=2048, ge=1)
    samples: int = Field(default=1, ge=1, le=32)
    """Judgements of each conversation."""
    aggregate: Literal["mean", "median"] = "mean"
    structured: bool = False
    """Whether the endpoint is asked for JSON of the judgement's schema (`response_format`)."""


class Scores(Record):
    """Aggregated scores of both seats."""

    scores: tuple[dict[str, float], dict[str, float]]
    """By seat and dimension."""
    spread: tuple[dict[str, float], dict[str, float]]
    """The largest minus the smallest sample."""
    samples: tuple[Judgement, ...]
    figures: dict[str, Any]

    @property
    def overall(self) -> tuple[float, float]:
        """The mean of the raw scores by seat."""
        return overall(self.scores[0]), overall(self.scores[1])


async def judged(
    prompt: str,
    names: tuple[str, str],
    model: JudgeModel,
    *,
    dimensions: Sequence[Dimension] = SOTOPIA,
    cache: AnswerCache | None = None,
    budget: Budget | None = None,
    transport: "httpx.AsyncBaseTransport | None" = None,
) -> Scores:
    """The judgement of a conversation whose `prompt` is that of `protocol.prompts.judge_prompt`.

    Raises `JudgeFault` if one of the samples is no judgement, since fewer samples would be another judge, or
    if they take longer than the endpoint's limits allow.
    """
    client = ChatClient(
        model, role="judge", fault=JudgeFault, cache=cache, budget=budget, transport=transport
    )
    asked = [
        asyncio.ensure_future(
            judgement(prompt, names, client, dimensions, structured=model.structured, sample=number)
        )
        for number in range(model.samples)
    ]
    limit_s = model.longest_s * model.samples
    try:
        async with asyncio.timeout(limit_s):
            samples = await asyncio.gather(*asked)
    except TimeoutError:
        raise JudgeFault(f"the judge gave no judgement within {limit_s:g} s{client.failing}") from None
    finally:
        for one in asked:  # the rest of a judgement that has failed is not paid for
            one.cancel()
    return aggregated(samples, model.aggregate, client.figures())


async def judgement(
    prompt: str,
    names: tuple[str, str],
    client: ChatClient,
    dimensions: Sequence[Dimension],
    *,
    structured: bool,
    sample: int,
) -> Judgement:
    """One sample of the judgement of a conversation. Raises the client's fault, which is a `JudgeFault`."""
    request: dict[str, Any] = {"messages": [{"role": "user", "content": prompt}]}
    if structured:
        request["response_format"] = response_format("judgement", judgement_schema(dimensions))

    def read(said: Said) -> Judgement:
        try:
            return read_judgement(after_thinking(said.content or ""), names, dimensions)
        except JudgementError as fault:
            raise JudgeFault(f"the judge's answer is no judgement: {fault}") from None

    def repair(answer: str, reason: str) -> Sequence[Message]:
        wanted = REPAIR.format(reason=reason, form=judgement_format(dimensions))
        return [{"role": "assistant", "content": answer}, {"role": "user", "content": wanted}]

    return await client.complete(request, read, repair=repair, sample=sample)


def aggregated(
    samples: Sequence[Judgement], aggregate: Literal["mean", "median"], figures: dict[str, Any]
) -> Scores:
    """Scores of several judgements of one conversation."""
    middle = fmean if aggregate == "mean" else median

    def by_dimension(seat: int) -> dict[str, list[int]]:
        names = samples[0].scores[seat]
        return {name: [sample.scores[seat][name] for sample in samples] for name in names}

    first, second = by_dimension(0), by_dimension(1)
    return Scores(
        scores=(_each(first, middle), _each(second, middle)),
        spread=(_each(first, _range), _each(second, _range)),
        samples=tuple(samples),
        figures=figures,
    )


def _each(found: Mapping[str, list[int]], of: Callable[[list[int]], float]) -> dict[str, float]:
    return {name: float(of(values)) for name, values in found.items()}


def _range(values: Sequence[int]) -> int:
    return max(values) - min(values)
