"""Sotopia's published profiles and 20 real episodes: counts, goals that a program can check, replay."""

import json
from collections import Counter
from pathlib import Path
from statistics import fmean

import pytest

from agentgym_envs.sotopia.data.episodes import RecordedEpisode, read_episodes
from agentgym_envs.sotopia.data.importing import import_official
from agentgym_envs.sotopia.data.library import Catalogue
from agentgym_envs.sotopia.data.replay import replay
from agentgym_envs.sotopia.protocol.profiles import Scene
from agentgym_envs.sotopia.verification.friends import FriendsGoal
from agentgym_envs.sotopia.verification.price import PriceGoal
from agentgym_envs.sotopia.verification.split import SplitGoal
from agentgym_envs.sotopia.verification.verifier import Goal, verifiable, verify

pytestmark = pytest.mark.golden

COUNTS = {
    "all": 450,
    "hard": 70,
    "craigslist_bargains": 50,
    "deal-or-no-deal": 50,
    "hand-craft": 30,
    "mutual_friends": 50,
    "normbank": 45,
    "persuation_for_good": 50,
    "social_chemistry": 100,
    "social_iqa": 75,
}
SPLITS = {
    "8AN5643B0NR0NP00VE": ("hat3 ball2 book1", (1, 2, 3), (2, 1, 3)),
    "5H5GY9Z62J4NJYJQN1": ("apple1 banana4 orange3", (5, 3, 7), (2, 4, 10)),
    "90434Q69V7ADY0VWZJ": ("hat3 ball2 book1", (2, 3, 5), (3, 2, 4)),
    "7K0EN9QX5JTD8B9NSQ": ("apple3 banana2 orange1", (1, 2, 3), (3, 1, 2)),
    "66D5XEX2Z32SKRT2XY": ("apple3 banana2 orange1", (2, 1, 3), (1, 2, 3)),
    "43QEZA1WZB3B3J2D9X": ("book3 hat2 ball1", (3, 2, 1), (2, 3, 1)),
    "2XBZ6KDPGEAZ2FN1P2": ("book4 hat6 ball2", (3, 2, 1), (1, 3, 2)),
    "3DPGRXH1Y500VQKFZA": ("book3 hat2 ball1", (5, 3, 2), (2, 5, 3)),
    "4TX1J43FS1QQJ1QFND": ("book3 hat2 ball1", (2, 3, 5), (3, 2, 4)),
    "6XZVT1P4R7YKAH65HJ": ("apple3 banana2 orange1", (1, 2, 3), (2, 1, 3)),
}
"""End of the scenario's key to the pool, and the values of both seats in its order."""
PRICES = {
    "SWGDGEYRP63H2DJKV0": (20.0, (14.0, 17.3)),
    "11NAMZS4A2RDGDB01V": (60.0, (30.0, 58.6)),
    "ZMXNGV8PM19WHPQ2W3": (125.0, (112.0, 76.9)),
    "QQQY6H4DNC6NBQ8XTG": (650.0, (454.0, 610.0)),
    "1Q67B1ADNBD9WBAG3X": (550.0, (418.0, 312.0)),
    "RFCSA3BTT39BRBZX7H": (349.0, (174.0, 263.0)),
    "2EA3TTFZQ3M6DF3YCD": (50.0, (46.0, 26.5)),
    "S5WJW2694R1MNC8JFY": (200.0, (152.0, 172.5)),
    "0BGQA0AD9FC1R4M12F": (5000.0, (4600.0, 3260.0)),
    "TKDPQ5PZWA1M1XHT1M": (15.0, (9.0, 8.0)),
}
"""End of the scenario's key to the list price, and the targets of buyer (seat 0) and seller."""


@pytest.fixture(scope="module")
def folder(shared_data: Path) -> Path:
    """The folder of Sotopia's data."""
    return shared_data / "sotopia"


@pytest.fixture(scope="module")
def catalogue(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Catalogue:
    """The imported profiles."""
    home = tmp_path_factory.mktemp("home")
    report = import_official(folder, home)
    assert (report.counts, report.refused, report.warnings) == (COUNTS, (), ())
    found = Catalogue.open(home)
    assert found is not None
    return found


@pytest.fixture(scope="module")
def episodes(folder: Path) -> list[RecordedEpisode]:
    """The recorded episodes."""
    return read_episodes(folder / "real_episodes_20.jsonl")


@pytest.fixture(scope="module")
def goals(catalogue: Catalogue) -> dict[str, Goal]:
    """Goals that a program can check, by the key of the scenario."""
    scenes = [catalogue.scene(position) for position in catalogue.positions("all")]
    found = {scene.environment.pk: verifiable(scene) for scene in scenes}
    return {pk: goal for pk, goal in found.items() if goal is not None}


def test_the_counts_are_those_of_the_publication(catalogue: Catalogue) -> None:
    profiles = catalogue.profiles
    environments, agents = profiles.environments.values(), profiles.agents.values()
    assert (len(environments), len(agents), len(profiles.combos), len(profiles.relationships)) == (
        90,
        40,
        450,
        120,
    )
    assert Counter(one.source for one in environments) == {
        "social_chemistry": 20,
        "social_iqa": 15,
        "deal-or-no-deal": 10,
        "mutual_friends": 10,
        "craigslist_bargains": 10,
        "persuation_for_good": 10,
        "normbank": 9,
        "hand-craft": 6,
    }
    assert Counter(one.relationship for one in environments) == {0: 25, 1: 4, 2: 10, 3: 46, 4: 5}
    assert Counter(one.gender for one in agents) == {"Man": 20, "Woman": 18, "Nonbinary": 2}
    assert len({one.name for one in agents}) == 40
    assert len({frozenset(combo.agent_ids) for combo in profiles.combos}) == 93
    assert set(Counter(combo.env_id for combo in profiles.combos).values()) == {5}
    assert {one.occupation_constraint for one in environments} == {"nan", "[actor, actor]"}


def test_the_hard_subset_has_whole_scenarios(catalogue: Catalogue) -> None:
    scenes = [catalogue.scene(position) for position in catalogue.positions("hard")]
    hard = {scene.environment.pk: scene.environment.source for scene in scenes}
    assert Counter(hard.values()) == {
        "craigslist_bargains": 4,
        "deal-or-no-deal": 1,
        "persuation_for_good": 1,
        "social_chemistry": 5,
        "social_iqa": 3,
    }
    assert len(scenes) == 5 * len(hard)


def test_every_pair_has_a_relationship(catalogue: Catalogue) -> None:
    profiles = catalogue.profiles
    known = [[one.relationship for one in profiles.known_as(combo.agent_ids)] for combo in profiles.combos]
    wanted = [profiles.environments[combo.env_id].relationship for combo in profiles.combos]
    assert len({one.pair for one in profiles.relationships}) == 118
    # Two pairs have two profiles. By the last of each, 440 combinations agree; by any of them, all do.
    assert sum(found[-1] == one for found, one in zip(known, wanted, strict=True)) == 440
    assert sum(one in found for found, one in zip(known, wanted, strict=True)) == 450


def test_combinations_keep_their_positions_and_keys(catalogue: Catalogue, folder: Path) -> None:
    combos = json.loads((folder / "combos.json").read_text())
    assert [catalogue.find(combo["pk"]) for combo in combos] == list(range(450))
    assert catalogue.find("sotopia/449") == 449
    published = json.loads((folder / "environments.json").read_text())
    for position, combo in enumerate(combos):
        environment = catalogue.scene(position).environment
        assert environment.model_dump(mode="json") == published[combo["env_id"]]


def test_30_scenarios_have_goals_that_a_program_can_check(
    catalogue: Catalogue, goals: dict[str, Goal]
) -> None:
    assert Counter(goal.kind for goal in goals.values()) == {"price": 10, "split": 10, "friends": 10}
    hard = {catalogue.scene(position).environment.pk for position in catalogue.positions("hard")}
    assert Counter(goals[pk].kind for pk in hard if pk in goals) == {"price": 4, "split": 1}


def test_the_pools_and_values_of_the_divisions(goals: dict[str, Goal]) -> None:
    found = {
        pk[-18:]: (
            " ".join(f"{kind}{number}" for kind, number in goal.pool.items()),
            tuple(goal.values[0].values()),
            tuple(goal.values[1].values()),
        )
        for pk, goal in goals.items()
        if isinstance(goal, SplitGoal)
    }
    assert found == SPLITS


def test_the_prices_and_targets_of_the_bargains(goals: dict[str, Goal]) -> None:
    bargains = {pk[-18:]: goal for pk, goal in goals.items() if isinstance(goal, PriceGoal)}
    assert {pk: (goal.list_price, goal.targets) for pk, goal in bargains.items()} == PRICES
    assert {goal.buyer for goal in bargains.values()} == {0}
    # In half of them both can reach their targets.
    assert sum(goal.targets[0] >= goal.targets[1] for goal in bargains.values()) == 5


def test_the_common_friends(goals: dict[str, Goal]) -> None:
    parties = [goal for goal in goals.values() if isinstance(goal, FriendsGoal)]
    assert sorted(goal.common for goal in parties) == [
        *(
            "Alvin",
            "Gracie",
            "Harvey",
            "Jacob",
            "Lawrence",
            "Loretta",
            "Micheline",
            "Neoma",
            "Rafael",
            "Thanh",
        ),
    ]
    assert {len(friends) for goal in parties for friends in goal.friends} == {5, 6, 9, 11, 12}
    for goal in parties:
        assert goal.friends[0][goal.common] == goal.friends[1][goal.common]
        assert len({len(values) for friends in goal.friends for values in friends.values()}) == 1


def test_the_recorded_judgements_have_the_published_means(episodes: list[RecordedEpisode]) -> None:
    scores = [seat for episode in episodes for seat in episode.scores or ()]
    assert len(scores) == 40
    assert fmean(one.by_dimension["goal"] for one in scores) == 8.825
    assert fmean(one.overall for one in scores) == pytest.approx(3.7357142857, abs=1e-9)
    for one in scores:
        assert one.overall == pytest.approx(fmean(one.by_dimension.values()), abs=1e-9)
    assert Counter(episode.end_reasons for episode in episodes) == {
        ("left",): 14,
        ("stale",): 4,
        ("too_long",): 1,
        ("too_long", "left"): 1,
    }


def scene_of(episode: RecordedEpisode, catalogue: Catalogue) -> Scene:
    scene = catalogue.profiles.scene_of(episode.environment, episode.agents)
    assert episode.combo is not None
    assert scene == catalogue.scene(episode.combo)
    return scene


def test_a_replay_differs_in_the_wording_of_14_backgrounds_only(
    episodes: list[RecordedEpisode], catalogue: Catalogue
) -> None:
    causes, messages = Counter[str](), 0
    for episode in episodes:
        done = replay(episode, scene_of(episode, catalogue))
        assert done.conversation.end_reasons == episode.end_reasons
        assert all(one.in_background for one in done.differences)
        causes.update(one.cause for one in done.differences)
        messages += done.messages
    assert (messages, causes) == (980, {"no_unknown": 12, "gender": 2})  # 26 of 40 are equal


def test_the_verdicts_on_recorded_episodes(episodes: list[RecordedEpisode], catalogue: Catalogue) -> None:
    found: dict[int, tuple[str, list[float] | None]] = {}
    for episode in episodes:
        scene = scene_of(episode, catalogue)
        if verifiable(scene) is not None:
            verdict = verify(scene, episode.log)
            scores = [round(one.goal, 3) for one in verdict.scores] if verdict.scores else None
            found[episode.combo or 0] = (verdict.reason, scores)
    assert found == {
        237: ("agreed on apple 2 banana 0 orange 1 / apple 1 banana 2 orange 0", [5.0, 3.846]),
        260: ("deal at $4,700.00", [7.652, 10.0]),
        303: ("nobody speaks of Alvin", [0.0, 0.0]),
        346: ("deal at $9.00", [8.0, 9.0]),
        394: ("nobody explicitly accepts a complete division that the other proposed", None),
        401: ("Jacob found; other names before: 4 and 0", [5.0, 10.0]),
        439: ("deal at $116.00", [7.429, 10.0]),
    }
