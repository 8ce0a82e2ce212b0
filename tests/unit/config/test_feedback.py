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
