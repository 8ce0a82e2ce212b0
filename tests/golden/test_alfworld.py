"""The native engine against traces of the original one, and against every official game."""

import json
import lzma
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import pytest

from agentgym_envs.alfworld.expert import plan
from agentgym_envs.alfworld.game import Game, read_compact_line, read_official
from agentgym_envs.alfworld.scene import parse
from agentgym_envs.alfworld.search import play
from agentgym_envs.alfworld.world import World

pytestmark = pytest.mark.golden

OFFICIAL = {"train": 3553, "valid_seen": 140, "valid_unseen": 134, "valid_train": 200}


def lines_of(path: Path) -> Iterator[str]:
    with lzma.open(path, "rt", encoding="utf-8") as file:
        yield from file


@cache
def games_of(path: Path, wanted: frozenset[str]) -> dict[str, Game]:
    """The wanted games of a compact file, by id."""
    return {game.id: game for game in map(read_compact_line, lines_of(path)) if game.id in wanted}


def official_games(data: Path) -> Iterator[Game]:
    for split, count in OFFICIAL.items():
        games = [
            read_compact_line(line) for line in lines_of(data / "alfworld" / f"compact_{split}.jsonl.xz")
        ]
        assert len(games) == count
        yield from games


def first_difference(world: World, trace: dict[str, Any]) -> str | None:
    """Replay a trace; where the world differs from it first, None if nowhere."""
    start = (world.initial_observation(), world.admissible(), world.won)
    if start != (trace["initial_observation"], trace["initial_admissible"], trace["initial_won"]):
        return f"at the start: {start}"
    for number, step in enumerate(trace["steps"]):
        answer = (world.step(step["action"]), world.admissible(), world.won)
        if answer != (step["observation"], step["admissible"], step["won"]):
            return f"step {number}, {step['action']!r}: {answer}"
    return None


def test_every_trace_of_the_original_engine_is_reproduced_exactly(
    shared: Path, shared_data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    paths = sorted((shared / "golden" / "alfworld").glob("traces_*.jsonl.xz"))
    assert paths, "there is no file of traces"
    for path in paths:
        traces = [json.loads(line) for line in lines_of(path)]
        assert traces, f"{path.name} holds no trace"
        wanted = frozenset(trace["compact_key"]["id"] for trace in traces)
        for number, trace in enumerate(traces):
            key = trace["compact_key"]
            game = games_of(shared_data / "alfworld" / key["file"], wanted)[key["id"]]
            difference = first_difference(World(parse(game, trace.get("dialect", "move"))), trace)
            assert difference is None, f"{path.name} line {number + 1} ({key['id']}): {difference}"
        steps = sum(len(trace["steps"]) for trace in traces)
        with capsys.disabled():
            print(f"\n{path.name}: {len(traces)} traces, {steps + len(traces)} states", end="")  # noqa: T201 - the count


def test_a_trace_with_one_changed_word_is_noticed(shared: Path, shared_data: Path) -> None:
    path = sorted((shared / "golden" / "alfworld").glob("traces_*.jsonl.xz"))[0]
    trace = json.loads(next(lines_of(path)))
    key = trace["compact_key"]
    game = games_of(shared_data / "alfworld" / key["file"], frozenset({key["id"]}))[key["id"]]
    assert first_difference(World(parse(game)), trace) is None
    trace["steps"][3]["observation"] += " "
    difference = first_difference(World(parse(game)), trace)
    assert difference is not None
    assert difference.startswith("step 3, ")


def test_raw_game_files_say_the_same_as_their_compact_lines(shared_data: Path) -> None:
    root = shared_data / "alfworld" / "raw_examples"
    paths = sorted(root.rglob("game.tw-pddl"))
    assert len(paths) == 6
    for path in paths:
        split, *folders, _ = path.relative_to(root).parts
        game = read_official(path.read_text(encoding="utf-8"), "/".join(folders))
        compact = games_of(root.parent / f"compact_{split}.jsonl.xz", frozenset({game.id}))
        assert game == compact[game.id]


def test_all_official_walkthroughs_win_and_so_does_the_expert(
    shared_data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lengths: list[int] = []
    for game in official_games(shared_data):
        scene = parse(game)
        commands = plan(World(scene))
        for solution in (game.walkthrough, commands):
            world = World(scene)
            states = [world.won, *(world.step(command) and world.won for command in solution)]
            assert states == [False] * len(solution) + [True], game.id
        lengths.append(len(commands))
    assert len(lengths) == 4027
    assert max(lengths) <= 11
    mean = sum(lengths) / len(lengths)
    assert mean == pytest.approx(6.19, abs=0.01)  # shorter than that would be news, longer a regression
    with capsys.disabled():
        print(f"\n{len(lengths)} games won twice, the expert's mean is {mean:.2f} commands", end="")  # noqa: T201


def test_the_searcher_wins_every_game_of_unseen_rooms_by_reading_alone(shared_data: Path) -> None:
    games = [
        read_compact_line(line) for line in lines_of(shared_data / "alfworld/compact_valid_unseen.jsonl.xz")
    ]
    lost = []
    for number, game in enumerate(games):
        world = World(parse(game))
        play(world, Random(number), max_turns=30)
        if not world.won:
            lost.append(game.id)
    assert (len(games), lost) == (134, [])
