"""Populations: how a budget is spent, and settings without effect."""

import pytest

from agentevol.config.fitting import TaskCounts, fitted
from agentevol.config.run import load
from agentevol.config.self_evolution.population import PopulationConfig, Span, spans
from agentevol.core.errors import ConfigError


def planned(
    size: int, rule: str = "halving", iterations: int = 6, each: int = 10, **given: object
) -> list[Span]:
    told = {"size": size, "rule": rule, **given}
    return spans(PopulationConfig.model_validate(told), iterations, each)


def spent(found: list[Span], each: int = 10) -> int:
    before, total = 0, 0
    for span in found:
        total, before = total + span.members * (span.until - before) * each, span.until
    return total


def test_the_better_half_goes_on_with_twice_the_episodes():
    # budget 4 * 6 * 10 = 240; two rungs: 240 / (4 * 2) = 30 episodes each, then 60 more
    assert planned(4) == [Span(4, 3), Span(2, 9)]
    assert spent(planned(4)) == 240
    assert planned(8, iterations=3) == [Span(8, 1), Span(4, 3), Span(2, 7)]
    assert planned(2) == [Span(2, 6)]


@pytest.mark.parametrize("size", range(2, 17))
@pytest.mark.parametrize("rule", ["halving", "pbt"])
def test_no_population_spends_more_than_its_budget_and_each_span_trains(size: int, rule: str):
    for iterations in range(4, 30, 5):
        found = planned(size, rule, iterations)
        assert spent(found) <= size * iterations * 10
        assert [span.until for span in found] == sorted({span.until for span in found})


def test_a_population_based_training_exchanges_after_every_so_many_iterations():
    assert planned(4, "pbt", 3) == [Span(4, 1), Span(4, 2), Span(4, 3)]
    assert planned(4, "pbt", 5, every=2) == [Span(4, 2), Span(4, 4), Span(4, 5)]
    assert planned(4, "pbt", budget=160) == [Span(4, n) for n in (1, 2, 3, 4)]


def test_fewer_episodes_than_the_rungs_take_are_refused():
    assert planned(4, budget=80) == [Span(4, 1), Span(2, 3)]
    with pytest.raises(ConfigError, match=r"79 episodes are too few for 4 members by 'halving'.*at least 80"):
        planned(4, budget=79)
    with pytest.raises(ConfigError, match=r"by 'pbt'.*at least 80"):
        planned(4, "pbt", budget=79)


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        (["population.size=1"], "population.size: Input should be greater than or equal to 2"),
        (["population.size=4", "population.budget=100"], "100 episodes are too few"),
        (["population.size=2", "population.every=2"], "no effect with population.rule = 'halving'"),
        (["population.size=2", "population.rates=[1,2,3]"], "population.rates: 3 for 2 members"),
        (["population.size=2", "population.rates=[0]"], "population.rates"),
        (["population.selections=[all,nothing]"], "no selection named 'nothing'"),
        (["population.size=2", "table=s3://a/b"], "leave out s3://a/b"),
        (["population.size=2", "demonstrations.tasks=3", "demonstrations.clone=true"], "one start"),
        (["population.rule=best"], "population.rule"),
        (["population.merge=some"], "population.merge"),
        (
            [
                "population.merge=uniform",
                "learn.lora.rank=4",
                "learn.lora.keep=true",
                "learn.keep_moments=false",
            ],
            "population.merge averages whole weights",
        ),
    ],
)
def test_members_that_cannot_be_are_errors_in_a_line(settings: list[str], told: str):
    with pytest.raises(ConfigError) as caught:
        load(None, ["algorithm=grpo", *settings])
    assert told in str(caught.value)
    assert "\n" not in str(caught.value)


def test_half_of_the_validation_tasks_are_left_to_judge_the_result():
    counts = TaskCounts(
        "guess", ("train", "valid", "test"), (), lambda split, _: 40 if split == "valid" else 9
    )
    many = ["environment.name=guess", "explore.difficulty=null", "evaluate.difficulty=null"]
    own = load(None, [*many, "population.size=2"])
    assert fitted(own, counts).evaluate.validation_episodes == 20
    few = load(None, [*many, "population.size=2", "evaluate.validation_episodes=7"])
    assert fitted(few, counts).evaluate.validation_episodes == 7
    assert fitted(load(None, many), counts).evaluate.validation_episodes == 40
    one = TaskCounts("guess", ("train", "valid", "test"), (), lambda split, _: 1 if split == "valid" else 9)
    with pytest.raises(ConfigError, match="'valid' has 1 task"):
        fitted(own, one)
