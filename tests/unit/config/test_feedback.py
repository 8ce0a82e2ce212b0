"""Settings of learning from feedback: what has no effect is refused."""

import pytest

from agentevol.config.run import TrainConfig, load
from agentevol.core.errors import ConfigError

DPO = ("algorithm=dpo", "feedback=[human,judge:m]")


@pytest.mark.parametrize(
    "settings",
    [
        DPO,
        (*DPO, "feedback.aggregate=reliability"),
        (*DPO, "feedback.aggregate=pessimistic", "feedback.kappa=2"),
        (*DPO, "feedback.aggregate=weighted", "feedback.weights.human=0"),
        (*DPO, "feedback.aggregate=weighted", "feedback.weights={'human:Anna'=2,judge=0.5}"),
        ("algorithm=kto", "feedback=human", "feedback.aggregate=reliability", "feedback.high=0.8"),
    ],
)
def test_these_settings_go_together(settings: tuple[str, ...]) -> None:
    assert load(None, settings, TrainConfig)


@pytest.mark.parametrize(
    ("settings", "line"),
    [
        (
            ("algorithm=dpo", "feedback.aggregate=reliability"),
            "aggregate has no effect without feedback.sources",
        ),
        ((*DPO, "feedback.aggregate=median"), "feedback.aggregate: Input should be 'mean', 'weighted'"),
        ((*DPO, "feedback.weights.human=2"), "weights has no effect without feedback.aggregate = 'weighted'"),
        ((*DPO, "feedback.aggregate=weighted"), "needs feedback.weights"),
        ((*DPO, "feedback.kappa=2"), "kappa has no effect without feedback.aggregate = 'pessimistic'"),
        ((*DPO, "feedback.aggregate=pessimistic", "feedback.kappa=-1"), "greater than or equal to 0"),
        ((*DPO, "feedback.aggregate=weighted", "feedback.weights.bot=1"), "'bot' is no source of feedback"),
        ((*DPO, "feedback.aggregate=weighted", "feedback.weights.self=1"), "nothing is learnt from 'self'"),
        ((*DPO, "feedback.aggregate=weighted", "feedback.weights.human=-1"), "is at least 0, not -1"),
        ((*DPO, "feedback.aggregate=weighted", "feedback.weights={human=0,judge=0}"), "weights are all 0"),
        (
            ("algorithm=sft", "feedback=human", "feedback.aggregate=reliability"),
            "feedback.aggregate has no effect",
        ),
    ],
)
def test_what_has_no_effect_is_refused_with_one_line(settings: tuple[str, ...], line: str) -> None:
    with pytest.raises(ConfigError, match=line) as raised:
        load(None, settings, TrainConfig)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    "settings",
    [
        ("algorithm=grpo", "feedback=human", "select.score=feedback"),
        ("algorithm=sft", "feedback=human", "select.score=feedback", "feedback.aggregate=reliability"),
        ("algorithm=lagrangian", "feedback=human", "constraints.flag.limit=0.1"),
        ("algorithm=weighted_bc", "feedback=human", "feedback.aggregate=reliability"),
        ("algorithm=ppo", "feedback=judge", "process.opinions.relevance=1", "feedback.aggregate=pessimistic"),
        ("algorithm=ppo", "feedback=human", "process.pooled=true", "process.opinions.score=0.2"),
        ("algorithm=ppo", "process.model=x", "process.heads.outcome=0", "process.opinions.relevance=1"),
    ],
)
def test_these_settings_of_a_run_go_together(settings: tuple[str, ...]) -> None:
    assert load(None, settings)


@pytest.mark.parametrize(
    ("settings", "line"),
    [
        (("algorithm=grpo", "select.score=feedback"), "needs feedback.sources"),
        (("algorithm=grpo", "feedback=human"), "feedback.. has no effect"),
        (("algorithm=sft", "feedback=human", "feedback.conflict=drop"), "feedback.conflict has no effect"),
        (("algorithm=lagrangian", "constraints.flag.limit=0.1"), "has no effect without feedback.sources"),
        (
            (
                "algorithm=lagrangian",
                "feedback=human",
                "constraints.flag.limit=0",
                "feedback.aggregate=reliability",
            ),
            "feedback.aggregate has no effect",
        ),
        (
            ("algorithm=grpo", "feedback=human", "select.score=feedback", "reward.function=success"),
            "both score episodes",
        ),
        (("algorithm=kto", "feedback=human", "select.score=feedback", "select.rule=all"), "labels episodes"),
        (("algorithm=ppo", "process.opinions.relevance=1"), "process.opinions needs feedback.sources"),
        (("algorithm=sft", "feedback=human", "process.opinions.relevance=1"), "process.. has no effect"),
        (("algorithm=ppo", "feedback=human", "process.model=x", "process.opinions.score=1"), "has no effect"),
        (("algorithm=ppo", "feedback=human", "process.opinions.outcome=1"), "'outcome' is a value of states"),
        (("algorithm=ppo", "feedback=human", "process.opinions.score=0"), "greater than 0"),
        (
            (
                "algorithm=ppo",
                "feedback=human",
                "process.pooled=true",
                "process.heads.outcome=0",
                "process.opinions.score=1",
            ),
            "opinions alone need no values of states",
        ),
        (("algorithm=ppo", "process.model=x", "process.heads.outcome=0"), "or set opinions"),
        (
            (
                "algorithm=ppo",
                "feedback=human",
                "process.opinions.score=1",
                "feedback.conflict=drop",
            ),
            "feedback.conflict has no effect",
        ),
    ],
)
def test_settings_of_a_run_without_effect_are_refused(settings: tuple[str, ...], line: str) -> None:
    with pytest.raises(ConfigError, match=line) as raised:
        load(None, settings)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("settings", "line"),
    [
        (
            ("algorithm=kto", "feedback=human", "feedback.only=false", "select.score=feedback"),
            "opinions as they are",
        ),
        (("algorithm=grpo", "feedback=human", "feedback.only=false"), "has no effect"),
        (("algorithm=process_reward", "feedback=human", "pooled=true"), "needs feedback.only = false"),
        (
            ("algorithm=bradley_terry", "feedback=human", 'objectives=["outcome"]'),
            "objectives have no effect",
        ),
    ],
)
def test_settings_of_a_training_without_effect_are_refused(settings: tuple[str, ...], line: str) -> None:
    with pytest.raises(ConfigError, match=line):
        load(None, settings, TrainConfig)
