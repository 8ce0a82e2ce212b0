"""Demonstrations of a starter recipe: episodes of the environment's player, and their training sequences."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from random import Random
from typing import Any, NamedTuple

from agentevol.core.action_formats.registry import action_format
from agentevol.core.protocols import TrainingSequence
from agentevol.core.splits import remaining
from agentevol.models.rendering import ChatRenderer
from agentevol.rollout.environments import demonstrated, demonstration
from agentevol.runs.starter.recipe import StarterRecipe
from agentevol.runs.starter.renaming import Renamer
from agentevol.runs.starter.sequences import SequenceMaker, Turn
from agentgym_envs.core import Environment, Task
from agentgym_envs.episodes import Player, follow
from agentgym_envs.formats import after_thinking
from agentgym_envs.registry import make
from agentgym_envs.tools import texts_with_tools

CAREFUL = 0.95
"""Care of the demonstrations that `StarterRecipe.careful` is a share of."""
OPENINGS = 3
"""Repetitions of an excerpt's first turn, each in other words."""
SHORT = 256
"""Most tokens of a drill."""


class Demonstration(NamedTuple):
    """A demonstrated episode."""

    id: str
    turns: Sequence[Turn]
    last: str
    """The text after the last message."""
    is_won: bool
    """True where it has the highest possible return."""


class Demonstrator:
    """The demonstrating player in its environments."""

    def __init__(self, recipe: StarterRecipe) -> None:
        self._environments: list[Environment[Any]] = [
            make(recipe.environment, **options) for options in recipe.worlds
        ]
        if recipe.max_turns is not None:
            for environment in self._environments:
                environment.max_turns = recipe.max_turns  # pyright: ignore[reportAttributeAccessIssue]
        self._player = Player()
        self._recipe = recipe
        self._form = action_format(recipe.action_format)
        self._positions: dict[tuple[int, str], Sequence[int]] = {}

    def __call__(self, difficulty: str, number: int, care: float | None = None) -> Demonstration:
        """Play one demonstration, successful or not; with the recipe's care, unless `care` is given."""
        recipe = self._recipe
        round_, which = divmod(number, len(self._environments))
        environment = self._environments[which]
        tasks = environment.tasks(recipe.split, difficulty or None)
        shown = self._shown(which, difficulty, len(tasks))
        task: Task = tasks[shown[round_ % len(shown)]]
        seed = recipe.seed + number
        if care is None:
            care = CAREFUL if Random(seed).random() < recipe.careful else recipe.care
        _, actions, said = demonstrated(environment, task, seed, care, self._form)
        episode = self._player.play(environment, task, follow(actions), seed=seed)
        heard = [episode.first, *(result.observation for result in episode.results)]
        turns = [Turn(text, message) for text, message in zip(texts_with_tools(heard), said, strict=False)]
        is_won = episode.total_reward >= environment.reward_range[1]
        again = round_ // len(shown)
        identity = f"{task.id}/{again}" if again and not recipe.by_task else task.id
        return Demonstration(identity, turns, heard[-1].text, is_won)

    def heard(self, split: str, count: int) -> Iterator[str]:
        """The instructions and observations of `count` tasks of each difficulty of another split."""
        environment, recipe = self._environments[0], self._recipe
        for difficulty in recipe.demonstrations:
            tasks = environment.tasks(split, difficulty or None)
            for task in tasks[: min(count, len(tasks))]:
                messages = demonstration(environment, task, recipe.seed, CAREFUL)
                acts = follow([after_thinking(message) for message in messages])
                episode = self._player.play(environment, task, acts, seed=recipe.seed)
                yield task.instruction
                yield from texts_with_tools([episode.first, *(one.observation for one in episode.results)])

    def _shown(self, environment: int, difficulty: str, total: int) -> Sequence[int]:
        """Positions of the tasks that may be demonstrated."""
        recipe = self._recipe
        if not recipe.held_out:
            return range(total)
        key = (environment, difficulty)
        if key not in self._positions:
            self._positions[key] = remaining(recipe.held_out, recipe.held_out_share)(total)
        return self._positions[key]

    @property
    def instruction(self) -> str | None:
        """The action format's instruction, which precedes the first observation."""
        return self._form.instruction(self._recipe.environment)

    @property
    def data_version(self) -> str:
        """Data version of the first environment."""
        return self._environments[0].data_version

    def close(self) -> None:
        """Close the environments."""
        self._player.close()
        for environment in self._environments:
            environment.close()


def demonstrations(
    play: Demonstrator, recipe: StarterRecipe, renderer: ChatRenderer, renamer: Renamer | None = None
) -> Iterator[TrainingSequence]:
    """Training sequences of every demonstration and study, and those of excerpts and drills.

    `renamer` replaces the names in the recipe's share of the demonstrations.
    """
    maker = SequenceMaker(renderer, play.instruction)
    draw = Random(recipe.seed)
    names = frozenset[int]()
    if renamer is not None and recipe.learns_repeats:
        names = renamer.tokens(renderer.tokenizer.get_vocab())
    yield from _episodes(play, recipe, maker, renamer, names)
    first = recipe.first_task + sum(recipe.demonstrations.values())
    for one in _shown(play, recipe.studies, first, 1.0):
        if one.is_won:
            yield maker.studied(one.id, one.turns)
    first += sum(recipe.studies.values())
    for one in _shown(play, recipe.excerpts, first, 1.0):
        yield from maker.openings(one.id, one.turns, OPENINGS, draw)
        yield from maker.thoughts(one.id, one.turns)
    first += sum(recipe.excerpts.values())
    for one in _shown(play, recipe.drills, first, 1.0):
        yield from maker.thoughts(one.id, one.turns, SHORT)
        if one.is_won:
            yield from maker.ending(one.id, one.turns)
    first += sum(recipe.drills.values())
    for one in _shown(play, recipe.finds, first):
        yield from maker.finds(one.id, one.turns, draw)


def _episodes(
    play: Demonstrator,
    recipe: StarterRecipe,
    maker: SequenceMaker,
    renamer: Renamer | None,
    repeated: Collection[int],
) -> Iterator[TrainingSequence]:
    """Training sequences of whole demonstrations, some of them with other names; tokens of `repeated` are
    learnt where an observation repeats them.
    """
    draw = Random(recipe.seed)
    for one in _shown(play, recipe.demonstrations, recipe.first_task):
        turns = one.turns
        if renamer is not None and draw.random() < recipe.renamed:
            turns = renamer(turns, draw)
        yield maker.whole(one.id, turns, repeated)


def _shown(
    play: Demonstrator, counts: Mapping[str, int], first: int, care: float | None = None
) -> Iterator[Demonstration]:
    """Demonstrations of each difficulty, as many as `counts` has, starting with number `first`."""
    for difficulty, count in counts.items():
        for number in range(first, first + count):
            yield play(difficulty, number, care)
