"""Table of AML's benchmark: figures of episodes, means and differences, and the file that it goes on from."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from support.trajectories import trajectory

from agentevol.cli.benchmarks.aml.arms import ARMS, Trial
from agentevol.cli.benchmarks.aml.figures import PlayFigures, counted
from agentevol.cli.benchmarks.aml.main import Comparison, named, seating_of
from agentevol.cli.benchmarks.aml.outcomes import Outcome
from agentevol.cli.benchmarks.aml.play import check_partner, figures_of
from agentevol.cli.benchmarks.aml.table import table
from agentevol.cli.benchmarks.kept_outcomes import keep_records, kept_records
from agentevol.config.presets.methods import METHODS
from agentevol.config.sections.environment import EnvironmentConfig
from agentevol.core.errors import ConfigError
from agentevol.core.protocols import Checkpoint
from agentevol.core.summaries import MeanScore, ModeFigures, ThinkingSummary
from agentevol.runs.seating import Seating
from agentgym_store.records import Failed, Sample, Trajectory, Turn


def turn(mode: int, tokens: int, reward: float = 0.0, **info: Any) -> Turn:
    sample = Sample(
        text="t", prompt_ids=(1,), token_ids=(1,) * tokens, logprobs=(-1.0,) * tokens, policy_version=0
    )
    return Turn(action="a", observation="o", reward=reward, sample=sample, info={"mode": mode, **info})


def talk(name: str, kind: str, goal: float, modes: list[int], **last: Any) -> Trajectory:
    turns = [turn(mode, 10 * mode) for mode in modes[:-1]]
    end = {"dimensions": {"goal": goal, "knowledge": None}, "overall_score": None, **last}
    turns.append(turn(modes[-1], 10 * modes[-1], goal / 10, **end))
    return trajectory(id=name, kind=kind, turns=tuple(turns))


def test_figures_are_means_over_scored_episodes() -> None:
    broken = talk("c", "price", 9.0, [1]).model_copy(update={"ending": Failed(failure="judge")})
    found = counted([talk("a", "price", 8.0, [1, 3]), talk("b", "split", 4.0, [2]), broken])
    assert (found.n, found.goal, found.overall, found.reward) == (2, 6.0, None, pytest.approx(0.6))
    assert found.kinds == {"price": 8.0, "split": 4.0}
    assert found.turns == 1.5
    assert found.thinking is not None
    assert found.thinking.all.tokens == 20.0
    assert found.endings == {"failed(judge)": 1, "terminated": 2}


def test_an_overall_score_is_that_of_episodes_in_which_all_dimensions_were_scored() -> None:
    scored = [talk(name, "x", 5.0, [1], overall_score=score) for name, score in (("a", 3.0), ("b", 4.0))]
    assert counted(scored).overall == 3.5
    found = counted([*scored, talk("c", "x", 5.0, [1])])
    assert (found.overall, found.dimensions["overall"].n, found.dimensions["goal"].n) == (3.5, 2, 3)
    assert counted([talk("c", "x", 5.0, [1])]).overall is None


def test_an_episode_that_a_limit_cut_before_it_was_scored_has_a_reward_and_no_goal() -> None:
    cut = trajectory(id="c", kind="cut", turns=(turn(1, 5),))
    found = counted([talk("a", "price", 8.0, [1]), cut])
    assert (found.n, found.goal, found.reward, found.kinds) == (2, 8.0, pytest.approx(0.4), {"price": 8.0})


def test_without_goals_the_reward_is_compared() -> None:
    plain = trajectory(id="a", kind="easy", turns=(turn(1, 5, reward=1.0),))
    found = counted([plain])
    assert (found.goal, found.reward, found.kinds) == (None, 1.0, {"easy": 1.0})


def figures(goal: float, tokens: float, modes: dict[int, int]) -> PlayFigures:
    total = sum(modes.values())
    by_mode = {mode: ModeFigures(turns=count, tokens=tokens) for mode, count in modes.items() if mode > 0}
    thinking = ThinkingSummary(
        all=ModeFigures(turns=total, tokens=tokens, answer_tokens=9.0),
        malformed=modes.get(-1, 0) / total,
        by_mode=by_mode,
        by_turn={1: modes},
    )
    return PlayFigures(
        n=total,
        reward=goal / 10,
        dimensions={"goal": MeanScore(mean=goal, n=total, clusters=total)},
        kinds={"price": goal},
        turns=1.0,
        thinking=thinking,
        endings={"terminated": total},
    )


def outcome(arm: str, seed: int, goal: float, tokens: float, modes: dict[int, int]) -> Outcome:
    return Outcome(arm=arm, seed=seed, minutes=1.0, plays={"partner": figures(goal, tokens, modes)})


def cells(line: str, width: int = 15) -> list[str]:
    return [line[12 + width * place : 12 + width * (place + 1)].strip() for place in range(6)]


def test_the_table_has_means_with_intervals_and_differences_seed_by_seed() -> None:
    outcomes = [
        *(outcome("grpo", 0, 6.0, 50.0, {1: 2, 4: 2}), outcome("grpo", 1, 7.0, 60.0, {4: 4})),
        *(outcome("ampo", 0, 6.5, 30.0, {1: 3, -1: 1}), outcome("ampo", 1, 7.5, 40.0, {1: 4})),
    ]
    lines = list(table(outcomes))
    (grpo,) = [line for line in lines if line.startswith("grpo  ")][:1]
    # Student's quantile of one degree of freedom is 12.71; the error of 6 and 7 is 1/2
    assert cells(grpo)[:2] == ["6.50 ± 6.35", "–"]
    assert cells(grpo)[3] == "55.0 ± 63.5"
    (difference,) = [line for line in lines if line.startswith("ampo - grpo")]
    assert cells(difference)[0] == "+0.50 ± 0.00"
    assert cells(difference)[3] == "-20.0 ± 0.0"
    turns = lines[lines.index(next(one for one in lines if one.startswith("\nreplies by turn"))) + 2 :]
    assert [line.split()[0] for line in turns] == ["grpo", "ampo"]
    assert turns[0].split()[1] == "25/0/0/75"
    assert turns[1].split()[1] == "88/0/0/0"  # the rest was malformed


def test_one_seed_has_no_interval() -> None:
    lines = list(table([outcome("bc", 0, 5.0, 20.0, {2: 4})]))
    (row,) = [line for line in lines if line.startswith("bc  ")][:1]
    assert cells(row)[:1] == ["5.00"]


def test_arms_are_presets_and_are_named_with_hyphens() -> None:
    assert {arm.preset for arm in ARMS.values()} == {name for name in METHODS if name.startswith("aml")}
    assert named("all") == list(ARMS)
    assert named("ampo, bc-mode-2,mode-4") == ["bc, mode 2", "ampo", "mode 4"]
    with pytest.raises(ConfigError, match="no arm 'x'; there are: all, bc, bc-mode-1"):
        named("bc,x")
    config = Trial("mode 3", 2).config("social", 4, ("explore.tasks=5",))
    assert (config.environment.format, config.seed, config.iterations) == ("modes-3", 2, 4)
    assert (config.explore.tasks, config.evaluate.episodes) == (5, 1)


def test_a_partner_model_is_a_further_play_and_a_setting_of_the_table() -> None:
    played = outcome("bc", 0, 5.0, 20.0, {2: 4}).plays["partner"]
    both = Outcome(arm="bc", seed=0, minutes=1.0, plays={"partner": played, "model": played})
    titles = [line for line in table([both]) if "scored episodes" in line]
    assert [title.split(":")[0].strip() for title in titles] == [
        "beside the partner",
        "beside the partner model, in each seat",
    ]
    alone = Comparison("social", 2, 36).settings
    assert alone == {"env": "social", "rounds": 2, "tasks": 36, "settings": []}
    seating = seating_of("openai:NAME", None)
    assert (seating.model, seating.partner_format) == ("openai:NAME", "plain")
    beside = Comparison("social", 2, 36, (), seating).settings
    assert beside == {**alone, "partner": "openai:NAME", "partner_format": "plain"}


@pytest.mark.parametrize(
    ("partner", "form", "complaint"),
    [
        (None, "modes", "--partner-format is that of a model"),
        ("self", None, "--partner self is no model"),
        ("rule", None, "--partner rule is no model"),
        ("openai:NAME", "xml", "named 'xml'"),
    ],
)
def test_what_is_no_partner_model_is_refused(partner: str | None, form: str | None, complaint: str) -> None:
    with pytest.raises(ConfigError, match=complaint):
        seating_of(partner, form)


def test_a_partner_that_is_not_there_is_refused_before_any_training() -> None:
    config = Trial("ampo", 0).config("social", 1, ())
    check_partner(Seating("idle", "plain"), config)
    check_partner(Seating(), config)
    with pytest.raises(ConfigError, match="no model '/nowhere'"):
        check_partner(Seating("/nowhere", "plain"), config)


@pytest.mark.parametrize(
    ("play", "seating", "families", "seats"),
    [
        ("partner", None, None, 1),
        ("self", None, "price,split,friends,schedule", None),
        ("model", Seating("idle", "plain"), "price,split,friends,schedule", None),
    ],
)
def test_each_play_has_its_seats_and_families(
    monkeypatch: pytest.MonkeyPatch,
    play: str,
    seating: Seating | None,
    families: str | None,
    seats: int | None,
) -> None:
    asked: dict[str, Any] = {}

    def trial(policy: str, environment: EnvironmentConfig, split: str, **options: Any) -> SimpleNamespace:
        asked.update(options, policy=policy, environment=environment, split=split)
        told = [talk("a", "price", 8.0, [1])]
        return SimpleNamespace(trajectories=told, episodes=told)

    engine = SimpleNamespace(serve=lambda sampling: "served", close=lambda: None)
    monkeypatch.setattr("agentevol.cli.benchmarks.aml.play.start_engine", lambda *_, **__: engine)
    monkeypatch.setattr("agentevol.cli.benchmarks.play.trial", trial)
    config = Trial("bc", 0).config("social", 1, ("environment.seats=1",))
    checkpoint = Checkpoint(path=Path("there"), version=0)
    found = figures_of(checkpoint, config, play, 4, 0, Seating("idle", "plain"))
    assert (found.goal, asked["policy"], asked["seating"]) == (8.0, "served", seating)
    assert asked["environment"].options.get("families") == families
    assert asked["environment"].seats == seats


def test_outcomes_are_kept_and_only_go_on_with_equal_settings(tmp_path: Path) -> None:
    file, settings = tmp_path / "aml.json", {"env": "social", "rounds": 2}
    assert kept_records(file, settings, Outcome) == kept_records(None, settings, Outcome) == []
    outcomes = [outcome("bc", 0, 5.0, 20.0, {2: 4})]
    keep_records(file, settings, outcomes)
    assert kept_records(file, settings, Outcome) == outcomes
    with pytest.raises(ConfigError, match=r"aml\.json has outcomes of other settings"):
        kept_records(file, {**settings, "rounds": 3}, Outcome)
