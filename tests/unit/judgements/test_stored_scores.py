"""Judges' scores of stored episodes: records, what is asked again, failures, and what a judge reads."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from support.judging import Fixed, Model, Stuck, model_judge
from support.ui import episode, turn

from agentevol.core.errors import ConfigError
from agentevol.data.feedback.opinions import opinions_of
from agentevol.data.feedback.usable import usable
from agentevol.data.judgements.dimension_sets import DimensionRecord
from agentevol.data.judgements.feedback.asking import Asking, Outcome, ask_all
from agentevol.data.judgements.feedback.episodes import EpisodeScores
from agentevol.data.judgements.feedback.figures import figures_of
from agentevol.data.judgements.feedback.plans import Plan, carry_out, plan
from agentevol.data.judgements.feedback.subjects import Subject, check_ids, episodes, turns
from agentevol.data.judgements.feedback.turns import TurnScores
from agentevol.data.judgements.panel import Asked
from agentgym_store.errors import StoreError
from agentgym_store.feedback.latest import standing
from agentgym_store.feedback.records import Dimensions, Feedback, Score, now
from agentgym_store.feedback.table import FeedbackTable
from agentgym_store.records import Failed
from agentgym_store.store import Store, Where

COURTESY_SET = (DimensionRecord(name="courtesy", low=0, high=4, description="Is it polite?"),)
ASKED = Asked(dimensions=COURTESY_SET)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    table = Store.open(tmp_path / "trajectories")
    held_out = episode("test", (0.0, 1.0), split="test", purpose="evaluate")
    broken = episode("broken", ending=Failed(failure="worker-lost"))
    given = episode("given", (0.0, 0.0, 0.0), given_turns=1)
    table.append([episode("a"), held_out, broken, given], commit={"n": "1"})
    return table


def beside(store: Store) -> FeedbackTable:
    return FeedbackTable.beside(str(store.place))


def asked(
    asking: Asking, store: Store, subjects: Sequence[Subject] = (), **options: int
) -> tuple[Plan, Outcome]:
    """What was planned, and what came of it."""
    table = beside(store)
    found = plan(asking, subjects or episodes(store, Where()), table.records(), options.get("limit"))
    return found, carry_out(found, store, table, concurrency=2, timeout_s=5.0)


def test_scores_are_written_once_beside_the_episodes_that_have_a_return(store: Store) -> None:
    model = Model('{"scores": {"courtesy": {"reason": "polite", "score": 3}}}')
    judge = model_judge(model, prompt_price=2.0, completion_price=10.0)
    first, outcome = asked(EpisodeScores(judge, ASKED), store)
    assert (first.chosen, len(first.left), outcome.judged, outcome.records) == (3, 3, 3, 6)
    records = beside(store).records()
    assert {one.trajectory_id for one in records} == {"a", "test", "given"}
    assert {one.source for one in records} == {"judge:m"}
    assert {one.rubric_version for one in records} == {first.asking.origin.version}
    mine = [one for one in records if one.trajectory_id == "a"]
    assert [one.opinion for one in mine] == [
        Dimensions(values={"courtesy": 3.0}, low=0, high=4),
        Score(value=3.0, low=0.0, high=4.0),
    ]
    assert [one.note for one in mine] == ["courtesy: polite"] * 2
    assert sum(one.cost or 0 for one in mine) == pytest.approx((100 * 2 + 20 * 10) / 1e6)
    again, outcome = asked(EpisodeScores(model_judge(model), ASKED), store)
    assert (again.calls, outcome.judged, len(model.bodies)) == (0, 0, 3)
    assert beside(store).records() == records


def test_another_rubric_asks_again_and_an_earlier_one_is_restored_without_a_call(store: Store) -> None:
    model = Model()
    judge = model_judge(model)
    asked(EpisodeScores(judge, ASKED), store)
    asked(EpisodeScores(judge, Asked()), store)
    assert len(model.bodies) == 6
    found, outcome = asked(EpisodeScores(judge, ASKED), store)
    assert (len(found.left), outcome.judged, len(model.bodies)) == (0, 0, 6)
    stands = standing(beside(store).records())
    assert {tuple(one.opinion.values) for one in stands if isinstance(one.opinion, Dimensions)} == {
        ("courtesy",)
    }


def test_a_table_that_cannot_be_written_ends_in_one_error(store: Store) -> None:
    def full(records: Sequence[Feedback]) -> None:
        raise StoreError(f"the disk is full: {len(records)}")

    with pytest.raises(StoreError, match="the disk is full: 6"):
        ask_all(EpisodeScores(Fixed(), ASKED), episodes(store, Where()), store, full, concurrency=2)


def test_a_judge_that_takes_too_long_or_has_a_bug_loses_one_opinion(store: Store) -> None:
    late = ask_all(
        EpisodeScores(Stuck(), ASKED), [Subject(("a",))], store, beside(store).append, timeout_s=0.05
    )
    assert (late.judged, dict(late.failures)) == (0, {"timeout": 1})
    buggy = EpisodeScores(Fixed("fixed", ({"courtesy": 9.0},)), ASKED)
    found = ask_all(buggy, [Subject(("a",))], store, beside(store).append)
    assert dict(found.failures) == {"internal": 1}
    assert beside(store).records() == []


def test_an_episode_of_sotopia_has_the_scores_of_its_seat(store: Store) -> None:
    record: dict[str, object] = {
        "format": "sotopia-conversation/1",
        "task_id": "test/price/1/0",
        "seed": 7,
        "scenario": "price",
        "agents": ["ana", "bo"],
        "names": ["Ana Reed", "Bo Lind"],
        "order": "round-robin",
        "log": [],
        "end_reasons": [],
        "status": "unjudged",
    }
    seats = [
        episode(f"talk{seat}", (0.5,), episode_id="talk", seat=seat).model_copy(
            update={"turns": (turn("hi", info={"conversation": record}),)}
        )
        for seat in (0, 1)
    ]
    store.append(seats, commit={"n": "talk"})
    judge = Fixed("fixed", ({"courtesy": 1.0}, {"courtesy": 4.0}))
    asked(EpisodeScores(judge, ASKED), store, [Subject(("talk0",)), Subject(("talk1",))])
    found = [one.opinion for one in beside(store).records() if one.kind == "dimensions"]
    assert found == [Dimensions(values={"courtesy": value}, low=0, high=4) for value in (1.0, 4.0)]


def test_a_withdrawn_opinion_is_not_asked_for_again(store: Store) -> None:
    model = Model()
    asking = EpisodeScores(model_judge(model), ASKED)
    asked(asking, store)
    (first, *_) = beside(store).records()
    beside(store).append([first.model_copy(update={"id": "w", "withdrawn": True, "created_at": now()})])
    found, _ = asked(asking, store)
    assert found.left == ()


@pytest.mark.parametrize(
    ("other", "is_other"),
    [
        (EpisodeScores(model_judge(Model(), timeout_s=9.0, retries=0), ASKED), False),
        (EpisodeScores(model_judge(Model(), temperature=1.0), ASKED), True),
        (EpisodeScores(model_judge(Model()), ASKED, hide_outcome=True), True),
        (EpisodeScores(model_judge(Model()), Asked(dimensions=COURTESY_SET, samples=2)), True),
        (TurnScores(model_judge(Model()), ASKED), True),
    ],
)
def test_the_rubric_version_is_all_that_is_asked(other: Asking, is_other: bool) -> None:
    plain = EpisodeScores(model_judge(Model()), ASKED)
    assert (other.origin.version != plain.origin.version) == is_other


def test_failures_are_counted_by_reason_and_asked_for_again(store: Store) -> None:
    nonsense = EpisodeScores(model_judge(Model("Ten out of ten!")), ASKED)
    _, outcome = asked(nonsense, store)
    assert (outcome.judged, outcome.records, dict(outcome.failures)) == (0, 0, {"judge": 3})
    assert outcome.usage.requests == 9
    assert "a: failed(judge): the judge's endpoint failed 3 times" in "\n".join(outcome.told)
    assert beside(store).records() == []
    found, outcome = asked(EpisodeScores(model_judge(Model()), ASKED), store, limit=2)
    assert (len(found.left), outcome.judged) == (2, 2)


def test_the_most_calls_of_a_plan_are_those_of_all_samples_and_attempts(store: Store) -> None:
    asking = EpisodeScores(model_judge(Model(), retries=2), Asked(samples=2))
    assert plan(asking, episodes(store, Where()), []).calls == 3 * 2 * 3
    assert plan(EpisodeScores(Fixed(), ASKED), episodes(store, Where()), []).calls == 0


def test_dimensions_without_a_common_scale_are_scored_by_shares_and_an_undefined_one_by_none(
    store: Store,
) -> None:
    two = (*COURTESY_SET, DimensionRecord(name="pace", low=1, high=11))
    judge = Fixed("rule", ({"courtesy": 4.0, "pace": 6.0},))
    asked(EpisodeScores(judge, Asked(dimensions=two)), store, [Subject(("a",))])
    score = next(one.opinion for one in beside(store).records() if isinstance(one.opinion, Score))
    assert score == Score(value=0.75, low=0.0, high=1.0)
    asked(EpisodeScores(Fixed("half", ({"courtesy": 4.0, "pace": None},)), Asked(dimensions=two)), store)
    half = [one.opinion for one in beside(store).records() if one.source == "judge:half"]
    assert half == [Dimensions(values={"courtesy": 4.0})] * 3


def test_a_judge_reads_no_reward_and_no_ending_and_by_option_no_result(store: Store) -> None:
    for hide, last in ((False, "Door 1."), (True, "(not shown)")):
        model = Model()
        asked(EpisodeScores(model_judge(model), ASKED, hide_outcome=hide), store, [Subject(("a",))])
        sent = model.bodies[0]["messages"][1]["content"]
        told = json.loads(sent.removeprefix("Transcript:\n"))
        assert [one["environment"] for one in told["turns"]] == ["Door 0.", last]
        for word in ("reward", "terminated", "truncated", "ending", "return"):
            assert word not in sent


def test_turns_are_scored_without_what_came_later(store: Store) -> None:
    answer = {"relevance": 7, "correctness": 4, "progress": 10}
    model = Model(json.dumps({"scores": answer}))
    chosen = turns(store, Where(ids=["a", "given"]))
    assert chosen == [Subject(("a",), 0), Subject(("a",), 1), Subject(("given",), 1), Subject(("given",), 2)]
    found, outcome = asked(TurnScores(model_judge(model), Asked(), hide_outcome=True), store, chosen)
    assert (found.calls, outcome.judged) == (4 * 3, 4)
    sent = [json.loads(one["messages"][1]["content"].removeprefix("Transcript:\n")) for one in model.bodies]
    seen = sorted([one["environment"] for one in told["turns"]] for told in sent)
    assert seen == sorted(
        [
            ["Door 0."],
            ["Door 0.", "(not shown)"],
            ["Door 0.", "Door 1."],
            ["Door 0.", "Door 1.", "(not shown)"],
        ]
    )
    records = [one for one in beside(store).records() if one.trajectory_id == "given"]
    assert [(one.turn, one.kind) for one in records] == [
        (turn, kind) for turn in (1, 2) for kind in ("dimensions", "score")
    ]
    assert records[1].opinion == Score(value=7.0, low=1.0, high=10.0)
    again, _ = asked(TurnScores(model_judge(model), Asked(), hide_outcome=True), store, chosen)
    assert again.left == ()


def test_opinions_on_held_out_tasks_are_written_and_teach_nothing(store: Store) -> None:
    asked(EpisodeScores(Fixed(), ASKED), store)
    opinions = opinions_of(beside(store).records(), ["judge"])
    assert len([one for one in opinions if one.trajectory_id == "test"]) == 2
    found = usable(opinions, {one.id: one for one in store.trajectories()}, "train")
    assert found.left_out["held out"] == 2
    assert {one.trajectory_id for one in found.scores} == {"a", "given"}


def test_turns_need_a_model_and_episodes_are_in_the_table(store: Store) -> None:
    with pytest.raises(ConfigError, match="turns are judged by models, as openai:NAME, and not by 'fixed'"):
        TurnScores(Fixed(), Asked())
    with pytest.raises(ConfigError, match="there is no episode 'nobody'"):
        check_ids(store, ["a", "nobody"])


def test_samples_of_a_turn_are_aggregated_and_a_failed_one_fails_the_turn(store: Store) -> None:
    answers = [f'{{"scores": {{"courtesy": {score}}}}}' for score in (1, 2)]
    two = Asked(dimensions=COURTESY_SET, samples=2)
    asked(TurnScores(model_judge(Model(*answers)), two), store, [Subject(("a",), 0)])
    assert beside(store).records()[0].opinion == Dimensions(values={"courtesy": 1.5}, low=0, high=4)
    _, outcome = asked(TurnScores(model_judge(Model(answers[0], "no")), two), store, [Subject(("a",), 1)])
    assert (outcome.judged, dict(outcome.failures), outcome.usage.requests) == (0, {"judge": 1}, 4)


def test_scores_stand_beside_lengths_and_outcomes(store: Store) -> None:
    names = ("won", "short", "long")
    store.append(
        [
            episode("won", (0.0, 0.0, 1.0)),
            episode("short", (0.0,)),
            episode("long", (0.0, 0.0)),
        ],
        commit={"n": "2"},
    )
    asking = EpisodeScores(Fixed(), ASKED)
    values = {"won": 4.0, "short": 0.0, "long": 2.0}
    records: list[Feedback] = [
        asking.origin.record(name, None, {"kind": "score", "value": values[name], "low": 0.0, "high": 4.0})
        for name in names
    ]
    found = figures_of(records, asking.origin, store, Where())
    # 3, 1 and 2 turns of 3 tokens: scores rise with them; the won episode has the highest score of all.
    assert (found.n, found.mean, found.won) == (3, 0.5, 1)
    assert found.correlation_with_tokens == pytest.approx(1.0)
    assert found.auc == 1.0
    lost = figures_of(records, asking.origin, store, Where(ids=["short"]))
    assert (lost.n, lost.auc, lost.correlation_with_tokens) == (1, None, None)
