"""Settings of leagues and of the mean of returns by seat: what has no effect is refused."""

import pytest

from agentevol.config.fitting import TaskCounts, fitted
from agentevol.config.run import load
from agentevol.core.errors import ConfigError

LEAGUE = ("env=chess", "environment.seats=2", "selfplay.partner=league")
SEAT = ("algorithm=dr_grpo", "learn.options.baseline=seat")


@pytest.mark.parametrize(
    "settings",
    [
        LEAGUE,
        (*LEAGUE, "selfplay.latest=0", "selfplay.kept=1", "selfplay.scripted.idle=2"),
        (*LEAGUE, "environment.partner=random"),
        (*LEAGUE, "selfplay.scripted.random=0.25", "iterations=1"),
        (*LEAGUE, "rollout.mode=one_step_off", "iterations=3"),
        (*LEAGUE, *SEAT),
        SEAT,
        ("algorithm=rloo", "learn.options.baseline=seat"),
        ("algorithm=reinforce_pp_baseline", "learn.options.baseline=seat"),
        ("algorithm=grpo", "learn.options.baseline=seat", "learn.options.scale_rewards=batch"),
    ],
)
def test_these_settings_go_together(settings: tuple[str, ...]):
    assert load(None, settings)


@pytest.mark.parametrize(
    ("settings", "line"),
    [
        ((*LEAGUE, "selfplay.latest=1.5"), "selfplay.latest: Input should be less than or equal to 1"),
        ((*LEAGUE, "selfplay.latest=-0.1"), "selfplay.latest: Input should be greater than or equal to 0"),
        ((*LEAGUE, "selfplay.latest=nan"), "selfplay.latest: Input should be"),
        ((*LEAGUE, "selfplay.latest=1"), "selfplay.latest = 1 leaves no task for another partner"),
        ((*LEAGUE, "selfplay.kept=0"), "selfplay.kept: Input should be greater than or equal to 1"),
        (
            (*LEAGUE, "selfplay.scripted.expert=1"),
            "selfplay.scripted: no scripted partner named 'expert'; there are: random, idle, spray",
        ),
        ((*LEAGUE, "selfplay.scripted.idle=0"), "selfplay.scripted.idle: Input should be greater than 0"),
        (("selfplay.partner=ladder",), "selfplay.partner: Input should be 'environment' or 'league'"),
        (("selfplay.latest=0.4",), "selfplay.latest has no effect without selfplay.partner = 'league'"),
        (("selfplay.kept=3",), "selfplay.kept has no effect without selfplay.partner = 'league'"),
        (("selfplay.scripted.idle=1",), "selfplay.scripted has no effect without"),
        (("env=social", "selfplay.partner=league"), "has no effect with environment.seats = 1"),
        ((*LEAGUE, "engine=vllm"), "weights of their own, which needs engine = 'embedded'"),
        ((*LEAGUE, "iterations=1"), "no iteration explores beside an earlier checkpoint"),
        ((*LEAGUE, "iterations=2", "rollout.mode=one_step_off"), "no iteration explores beside an earlier"),
        (
            (*LEAGUE, "ray.address=auto", "checkpoints=s3://bucket/a"),
            "selfplay.partner = 'league' reads earlier checkpoints from the run's folder",
        ),
        (
            ("algorithm=grpo", "learn.options.baseline=seat"),
            "'scale_rewards' is 'group', not 'batch' or 'none'",
        ),
        ((*SEAT, "learn.options.baseline=both"), "option 'baseline' of dr_grpo cannot be 'both'"),
        (("algorithm=gigpo", "learn.options.baseline=seat"), "gigpo has no option 'baseline'"),
        ((*SEAT, "reward.function=success"), r"averages|environment's returns, which reward.\* replaces"),
        ((*SEAT, "learn.options.singleton=raw"), "'baseline' is 'seat', not 'group'"),
    ],
)
def test_what_has_no_effect_is_refused_in_one_line(settings: tuple[str, ...], line: str):
    with pytest.raises(ConfigError, match=line) as refused:
        load(None, settings)
    assert len(str(refused.value).splitlines()) == 1


def test_a_world_with_one_seat_has_no_league():
    alone = TaskCounts("chess", ("train", "valid", "test"), (), lambda split, level: 9)
    config = load(None, ["env=chess", "selfplay.partner=league"])
    with pytest.raises(ConfigError, match="league' has no effect: one seat of chess is played by an agent"):
        fitted(config, alone)
