"""Panels: several judges and samples, failures that are never scores, time limits, summaries."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from support.judging import (
    GOAL_SET,
    Fixed,
    Model,
    Stuck,
    conversation,
    model_judge,
    sotopia_reply,
    transcript,
)

from agentevol.data.judgements.items import Item
from agentevol.data.judgements.outcomes import Failed, Ok, Rating, Scores, Usage
from agentevol.data.judgements.panel import Asked, Panel
from agentevol.data.judgements.summary import summary
from agentgym_envs.endpoints.cache import AnswerCache
from agentgym_envs.sotopia.protocol.dimensions import Dimension

HIGH: Scores = ({"goal": 9.0}, {"goal": 8.0})
LOW: Scores = ({"goal": 3.0}, {"goal": 8.0})
ASKED = Asked(dimensions=GOAL_SET)


class Broken(Fixed):
    """Judge with a bug."""

    async def rate(
        self, item: Item, dimensions: Sequence[Dimension], samples: int
    ) -> tuple[Sequence[Rating], Usage]:
        raise KeyError("\ud800 lost")


async def judged(*judges: Any, asked: Asked | None = None, **settings: float) -> Ok | Failed:
    return await Panel(judges, **settings).judge(conversation("Hello."), asked or ASKED)


async def test_judges_count_alike_however_many_samples_they_have() -> None:
    # a: the mean of 9, 3, 3 is 5, its median 3; b: 9. Means 7; medians 3 and 9, whose median is 6.
    judges = Fixed("a", HIGH, LOW, LOW), Fixed("b", HIGH)
    found = await judged(*judges)
    assert isinstance(found, Ok)
    assert found.scores == ({"goal": 7.0}, {"goal": 8.0})
    assert found.spread == ({"goal": 6.0}, {"goal": 0.0})
    assert found.overall == (7.0, 8.0)
    assert found.normalised[0]["goal"] == 0.7
    assert found.usage == Usage(requests=2)
    middle = await judged(*judges, asked=Asked(dimensions=GOAL_SET, aggregate="median"))
    assert isinstance(middle, Ok)
    assert middle.scores == ({"goal": 6.0}, {"goal": 8.0})


async def test_one_judge_that_fails_fails_the_item_and_the_opinions_of_others_are_kept() -> None:
    found = await judged(Fixed("a", HIGH), Fixed("b", fails="undecided"), Fixed("c", fails="budget"))
    assert isinstance(found, Failed)
    assert (found.kind, found.detail) == ("undecided", "b: b fails")
    assert [one.status for one in found.opinions] == ["ok", "failed", "failed"]
    dumped = found.model_dump()
    assert not {"scores", "overall", "normalised"} & dumped.keys()


async def test_a_bug_and_a_time_limit_are_typed_failures() -> None:
    broken = await judged(Broken())
    assert isinstance(broken, Failed)
    assert broken.kind == "internal"
    assert broken.detail.startswith("KeyError: ")
    broken.model_dump_json()  # a lone surrogate cannot be written
    stuck = Stuck()
    late = await judged(stuck, timeout_s=0.01)
    assert isinstance(late, Failed)
    assert (late.kind, late.detail, stuck.cancelled) == ("timeout", "no rating within 0.01 s", 1)


@pytest.mark.parametrize(
    ("scores", "detail"),
    [
        (({"goal": 9.0},), "the judge scored 1 seats, not 2"),
        (({"goal": 9.0}, {}), "the judge scored nothing"),
        (({"goal": 9.0}, {"goal": 8.0, "wit": 1.0}), "the judge scored goal, wit"),
        (({"goal": 9.0}, {"goal": 10.5}), "the score 10.5 of goal is out of range"),
        (({"goal": -1.0}, {"goal": 8.0}), "the score -1 of goal is out of range"),
    ],
)
async def test_scores_that_were_not_asked_for_are_none(scores: Scores, detail: str) -> None:
    found = await judged(Fixed("a", HIGH), Fixed("b", scores))
    assert isinstance(found, Failed)
    assert (found.kind, found.detail) == ("internal", f"b: {detail}")
    undefined = await judged(Fixed("b", ({"goal": None}, {"goal": 8.0})))
    assert isinstance(undefined, Ok)
    assert undefined.scores[0] == {"goal": None}


async def test_a_cancelled_item_cancels_what_its_judges_do() -> None:
    stuck = Stuck()
    task = asyncio.create_task(judged(Fixed(), stuck))
    await stuck.begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert stuck.cancelled == 1


async def test_one_sample_that_fails_stops_the_others() -> None:
    model = Model(sotopia_reply(), "no", "no", "no")
    found = await Panel([model_judge(model, concurrency=1)]).judge(conversation("Hello."), Asked(samples=9))
    assert isinstance(found, Failed)
    assert found.kind == "judge"
    # One sample, three attempts of the next, and what began before that was known; 25 without a stop.
    assert 4 <= len(model.bodies) < 9


async def test_concurrent_equal_items_share_one_call_and_are_told_apart_by_their_ids() -> None:
    model = Model()
    panel = Panel([model_judge(model, cache=AnswerCache())])
    found = await asyncio.gather(
        *(panel.judge(conversation("Hello.", name=name), Asked()) for name in "abc"),
        panel.judge(conversation("Bye.", name="d"), Asked()),
    )
    assert [one.id for one in found] == ["a", "b", "c", "d"]
    assert len(model.bodies) == 2
    assert len({one.key for one in found}) == 2
    assert sum((one.usage for one in found), Usage()).requests == 2


def test_the_key_is_all_that_scores_depend_on() -> None:
    item, asked = conversation("Hello."), Asked()
    key = Panel([Fixed()]).key(item, asked)
    assert Panel([Fixed()], 1.0).key(conversation("Hello.", name="other"), asked) == key
    others = {
        Panel([Fixed(version="2")]).key(item, asked),
        Panel([Fixed("other")]).key(item, asked),
        Panel([Fixed(), Fixed("other")]).key(item, asked),
        Panel([Fixed()]).key(conversation("Hello!"), asked),
        *(
            Panel([Fixed()]).key(item, one)
            for one in (Asked(samples=2), Asked(aggregate="median"), Asked(dimensions="rubric"))
        ),
    }
    assert len(others | {key}) == 8


def test_judges_are_chosen_by_name() -> None:
    panel = Panel([Fixed("a"), Fixed("b")])
    assert [one.name for one in panel.of(["b", "b"]).judges] == ["b"]
    with pytest.raises(ValueError, match="no judge 'c'; there are: a, b"):
        panel.of(["c"])


async def test_dimensions_are_those_of_the_item_then_of_the_request_then_of_its_type() -> None:
    asked: list[list[str]] = []

    class Curious(Fixed):
        async def rate(
            self, item: Item, dimensions: Sequence[Dimension], samples: int
        ) -> tuple[Sequence[Rating], Usage]:
            asked.append([one.name for one in dimensions])
            return await super().rate(item, dimensions, samples)

    panel = Panel([Curious()])
    await panel.judge(conversation("Hello."), Asked())
    await panel.judge(transcript(), Asked())
    await panel.judge(transcript(), Asked(dimensions="sotopia"))
    await panel.judge(transcript().model_copy(update={"dimensions": "rubric"}), Asked(dimensions="sotopia"))
    assert [names[0] for names in asked] == [
        "believability",
        "task understanding",
        "believability",
        "task understanding",
    ]


async def test_a_summary_adds_up_and_compares_judges_samples_and_records() -> None:
    both = Panel([Fixed("a", HIGH, LOW), Fixed("b", HIGH)])
    broken = Panel([Fixed("a", LOW), Fixed("b", fails="undecided")])
    items = [conversation("Hello.", name=name) for name in "xyz"]
    found = [
        await both.judge(items[0], ASKED),
        await broken.judge(items[1], ASKED),
        await Panel([Fixed("a", fails="timeout")]).judge(items[2], ASKED),
    ]
    figures = summary(found, {0: HIGH, 1: HIGH})
    assert figures.items == 3
    assert figures.outcomes == {"ok": 1, "failed(timeout)": 1, "failed(undecided)": 1}
    assert sum(figures.outcomes.values()) == figures.items
    # Seats of the item that is ok: (6 + 9) / 2 and 8.
    assert [(one.dimension, one.mean, one.n) for one in figures.scores] == [("goal", 7.75, 2)]
    told = {(one.raters, one.between): one for one in figures.agreement}
    assert told[("a", "b"), "judges"].n == 2
    pair = told[("recorded", "a"), "judges"]
    # Item x: 9 and 6, 8 and 8; item y, which failed by b: 9 and 3, 8 and 8.
    assert (pair.n, pair.mean_absolute_difference, pair.exact) == (4, (3 + 0 + 6 + 0) / 4, 0.5)
    samples = told[("a#1", "a#2"), "samples"]
    assert (samples.n, samples.mean_absolute_difference) == (2, 3.0)
    assert summary([]).outcomes == {"ok": 0}
