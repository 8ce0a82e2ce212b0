"""Settings of scores, self-evaluation, consistency and guards: what has no effect is refused."""

import pytest

from agentevol.config.run import TrainConfig, load
from agentevol.core.errors import ConfigError

SELF = ("algorithm=sft", "select.score=self", "select.rule=top_k_ratio")


@pytest.mark.parametrize(
    "settings",
    [
        SELF,
        (*SELF, "self.judge=latest", "self.min_auc=0.6", "self.distrust=stop"),
        (*SELF, "self.judge=openai:big", "self.samples=5"),
        ("algorithm=dpo", "select.score=self"),
        ("algorithm=grpo", "select.score=self"),
        ("algorithm=sft", "select.score=reward", "reward.function=success"),
        ("algorithm=sft", "select.score=judge", "reward.judge=rubric"),
        ("algorithm=grpo", "reward.consistency=true"),
        ("algorithm=sft", "select.score=reward", "reward.consistency=true", "reward.least=0.5"),
        ("select.min_turns=3", "select.max_turns=3"),
        ("guards.collapse=stop",),
    ],
)
def test_these_settings_go_together(settings: tuple[str, ...]):
    assert load(None, settings)


@pytest.mark.parametrize(
    ("settings", "line"),
    [
        (("self.judge=latest",), r"self.\* has no effect without select.score = 'self'"),
        (("algorithm=sft", "select.score=self"), "select.rule = 'succeeded' keeps returns of 1"),
        ((*SELF, "self.samples=5"), "samples has no effect without judge = 'openai:NAME'"),
        ((*SELF, "self.judge=openai:"), "judge is base, latest, a model or openai:NAME"),
        ((*SELF, "self.min_auc=1"), "self.min_auc: Input should be less than 1"),
        ((*SELF, "self.distrust=ignore"), "self.distrust: Input should be 'environment' or 'stop'"),
        ((*SELF, "reward.function=success"), "both score episodes"),
        (("algorithm=sft", "select.score=reward"), "needs a source"),
        (("algorithm=sft", "select.score=reward", "reward.judge=rubric"), "needs a source"),
        (("algorithm=sft", "select.score=judge", "reward.function=success"), "needs reward.judge"),
        (("algorithm=sft", "reward.function=success"), "select.score = 'reward' selects by it"),
        (("algorithm=sft", "reward.judge=rubric"), "select.score = 'judge' selects by it"),
        (("algorithm=grpo", "select.score=reward", "reward.refresh=true"), "set reward.model alone"),
        (("algorithm=reinforce_pp", "select.score=self", "process.pooled=true"), r"process.\* counts the"),
        (("algorithm=dapo", "select.score=self"), "explore.resample compares the environment's returns"),
        (("algorithm=kto", "select.score=self", "select.rule=all"), "labels episodes by success"),
        (
            ("algorithm=filtered_bc", "select.score=self", "select.rule=all"),
            "gives a score below 0.999 no weight: take sft",
        ),
        (
            ("select.score=nothing",),
            "select.score: Input should be 'return', 'reward', 'judge', 'self' or 'feedback'",
        ),
        (("select.min_turns=4", "select.max_turns=3"), "min_turns 4 is above max_turns 3"),
        (("algorithm=grpo", "reward.consistency=true", "explore.samples=2"), "set 3 or more"),
        (("algorithm=grpo", "reward.consistency=true", "reward.least=0.95"), "no share is both"),
        (("algorithm=grpo", "reward.consistency=true", "reward.patience=2"), "is no setting of reward"),
        (("algorithm=grpo", "reward.function=success", "reward.least=0.2"), "it belongs to: consistency"),
        (("guards.collapse=maybe",), "guards.collapse: Input should be 'warn', 'stop' or 'off'"),
    ],
)
def test_these_do_not_and_the_line_says_why(settings: tuple[str, ...], line: str):
    with pytest.raises(ConfigError, match=line):
        load(None, settings)


def test_a_table_has_returns_alone():
    with pytest.raises(ConfigError, match=r"select\.score = 'self' has no effect: scores are given"):
        load(None, ["algorithm=sft", "select.score=self", "select.rule=all"], TrainConfig)
