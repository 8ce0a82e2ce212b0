from random import Random

import pytest

from agentgym_envs.alfworld import generator
from agentgym_envs.alfworld.goals import parse_goal
from agentgym_envs.alfworld.scene import parse
from agentgym_envs.alfworld.search import play
from agentgym_envs.alfworld.world import World


def games(split: str, difficulty: str, count: int = 40):
    return [generator.game(split, difficulty, index) for index in range(count)]


@pytest.mark.parametrize("difficulty", generator.RECEPTACLES)
def test_a_game_is_lost_at_the_start_and_won_by_its_walkthrough(difficulty: str):
    for game in games("train", difficulty):
        world = World(parse(game))
        assert not world.won
        for command in game.walkthrough:
            assert world.step(command) != "Nothing happens."
        assert world.won


def test_a_game_is_a_function_of_its_name():
    assert generator.game("train", "large", 7) == generator.game("train", "large", 7)
    assert generator.game("train", "large", 7) != generator.game("train", "large", 8)
    assert generator.game("train", "large", 7).facts != generator.game("valid", "large", 7).facts


def test_rooms_have_the_size_of_their_level():
    for difficulty, (low, high) in generator.RECEPTACLES.items():
        for game in games("train", difficulty):
            receptacles = sum(fact.startswith("receptacleType ") for fact in game.facts)
            assert min(low, 2) <= receptacles <= high + 3  # a task may need three more than were drawn


def test_all_six_task_types_occur():
    assert {parse_goal(game.goal).kind for game in games("train", "small", 120)} == set(generator.KINDS)


def test_no_two_rooms_of_different_splits_are_alike():
    rooms = {split: {game.facts for game in games(split, "small")} for split in generator.COUNTS}
    for split, found in rooms.items():
        assert len(found) == 40
        for other, others in rooms.items():
            assert split == other or not found & others


def asked(game) -> tuple[str, str]:
    return parse_goal(game.goal).kind, game.sentence.split(" ")[-1]


def test_the_held_out_combinations_are_asked_nowhere_else():
    for kind in generator.KINDS:
        seen = {(ask.object, ask.target) for ask in generator.asks(kind, unseen=False)}
        held_out = {(ask.object, ask.target) for ask in generator.asks(kind, unseen=True)}
        assert held_out
        assert not seen & held_out


@pytest.mark.parametrize(
    "place", [("train", "tiny", 0), ("night", "small", 0), ("test", "small", 200), ("test", "small", -1)]
)
def test_an_unknown_game_is_a_lookup_error(place: tuple[str, str, int]):
    with pytest.raises(LookupError):
        generator.game(*place)


def test_the_searcher_wins_most_rooms_by_reading_alone():
    wins = [
        play(World(parse(game)), Random(number), 30) for number, game in enumerate(games("valid", "medium"))
    ]
    assert sum(commands is not None for commands in wins) >= 36  # 98 % of 400 on another occasion


def test_the_searcher_looks_into_places_where_the_expert_would_not_go():
    game = generator.game("train", "large", 0)
    lengths = {len(play(World(parse(game)), Random(seed), 30) or ()) for seed in range(8)}
    assert max(lengths) > len(game.walkthrough)
