"""WebShop as an `Environment`: a generated shop, and the benchmark's own once imported.

> world = WebShop()
> task = world.tasks("test", "small")[0]
> world.reset(task, seed=0).text
'WebShop [SEP] Instruction: [SEP] i need ... [SEP] Search'
> world.step("search[ice cream scoop]").observation.text
'Instruction: [SEP] i need ... [SEP] Back to Search [SEP] Page 1 (Total results: 50) [SEP] Next > [SEP] ...'

A purchase ends the episode and earns from 0 to 1: how much of the instruction it meets.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from random import Random
from typing import Annotated, Any, Literal, get_args

from pydantic import Field

from agentgym_envs.core import Environment, Observation, StepResult, Task, TaskNotFound
from agentgym_envs.home import data_home
from agentgym_envs.lazy_sequence import LazySequence
from agentgym_envs.options import FieldsOf
from agentgym_envs.webshop import pages, synth
from agentgym_envs.webshop.catalogues.stored import StoredCatalogue
from agentgym_envs.webshop.goal_sets import GoalSet, Splits, open_all
from agentgym_envs.webshop.official.sampling import WeightedGoals
from agentgym_envs.webshop.players.baselines import oracle
from agentgym_envs.webshop.players.thinker import think_aloud
from agentgym_envs.webshop.rewards import Earned, Goal, earned, parts
from agentgym_envs.webshop.rules import Rules, changed
from agentgym_envs.webshop.shop import SEARCH, Shop
from agentgym_envs.webshop.state import State
from agentgym_envs.webshop.taggers import TAGGERS

OFFICIAL = "official"
"""Difficulty of imported tasks."""
SEARCHING = "search[<your query>]"
"""Placeholder for every search among admissible actions, as in verl-agent's prompts."""
START = State()
Text = Literal["text", "text_rich"]

TEXT = (
    "Form of pages: in one line (`text`, as AgentGym, AgentBench and verl-agent show them), or with marks"
    " around what can be clicked (`text_rich`)."
)
SPLIT = "Division of imported goals: by number as published, or by product (`disjoint`)."
SHOP = "Seed of the generated shop: each has products of its own, of the same words."


class WebShopTask(Task):
    """WebShop task. `digest` stays on the server: it distinguishes goals of equal instructions."""

    digest: str
    """16 hexadecimal digits over the goal's inputs to the reward."""


@dataclass(frozen=True)
class _Episode:
    """State of an episode. It is immutable, so that a reference to it is a snapshot."""

    task_id: str
    shop: Shop = field(repr=False)
    catalogue: StoredCatalogue = field(repr=False)
    goal: Goal
    state: State = START
    reward: float = 0.0
    """Reward of the last purchase."""


class WebShop(Environment[WebShopTask]):
    """Find what an instruction asks for among thousands of products, choose its options, and buy it.

    The defaults of the switches are `COMPAT` for imported catalogues and `FIXED` for the generated one.
    `home` is where catalogues are (None: `home.data_home`).
    """

    name = "webshop"
    max_turns = 15
    forkable = True
    difficulties = ("small", "medium", "large")

    def __init__(
        self,
        text: Annotated[Text, Field(description=TEXT)] = "text",
        *,
        split: Annotated[Splits, Field(description=SPLIT)] = "official",
        shop: Annotated[int, Field(ge=0, description=SHOP)] = 0,
        home: Path | None = None,
        **switches: Annotated[Any, FieldsOf(Rules, defaults=False)],
    ) -> None:
        for chosen, known in ((text, get_args(Text)), (split, get_args(Splits))):
            if chosen not in known:
                raise ValueError(f"{chosen!r} is none of: {', '.join(known)}")
        if not (type(shop) is int and shop >= 0):
            raise ValueError(f"shop is {shop!r}; it may be: 0, 1, 2, ...")
        self.text: Text = text
        self._sets = open_all(home or data_home(), split, shop)
        self._rules = {name: changed(goals.rules, switches) for name, goals in self._sets.items()}
        self._episode: _Episode | None = None

    @property
    def splits(self) -> tuple[str, ...]:
        return tuple(split for goals in self._sets.values() for split in goals.places)

    @property
    def data_version(self) -> str:
        return "+".join(
            f"{name}:{goals.catalogue.digest[:16]}:{self._rules[name]}" for name, goals in self._sets.items()
        )

    def tasks(self, split: str, difficulty: str | None = None) -> Sequence[WebShopTask]:
        """As in `Environment`. Imported tasks are all `official`."""
        levels = (*self.difficulties, OFFICIAL)
        goals = next((goals for goals in self._sets.values() if split in goals.places), None)
        if goals is None:
            raise TaskNotFound(f"webshop has no split {split[:80]!r}; there are: {', '.join(self.splits)}")
        if difficulty is not None and difficulty not in levels:
            raise ValueError(f"no difficulty {difficulty[:80]!r}; there are: {', '.join(levels)}")
        if difficulty is None or (goals.imported and difficulty == OFFICIAL):
            places = goals.places[split]
        else:
            places = goals.of_difficulty(split, difficulty)
        return LazySequence(len(places), lambda number: _task(goals, split, places[number]))

    def draw(self, splits: Sequence[str], seed: int) -> int:
        """As in `Environment`; weighted by goal if `sampling` is `upstream`."""
        for name, goals in self._sets.items():
            if self._rules[name].sampling == "upstream" and goals.places.keys() >= set(splits):
                return _weighted(goals, tuple(splits)).draw(Random(seed))
        return super().draw(splits, seed)

    def task(self, task_id: str) -> WebShopTask:
        goals, place = self._found(task_id)
        return _task(goals, goals.split_of(place), place)

    def reset(self, task: WebShopTask, seed: int) -> Observation:
        goals, place = self._found(task.id)
        self._episode = _Episode(task.id, self._shop(goals), goals.catalogue, goals.wishes[place].goal)
        return self._observation(self._episode)

    def step(self, action: str) -> StepResult:
        before = self._now()
        state = before.shop.step(before.state, action)
        episode = before if state is None else replace(before, state=state)
        bought = episode is not before and episode.state.page == "done"
        earnings = _earned(episode, episode.shop.rules.nouns) if bought else None
        if earnings is not None:
            episode = replace(episode, reward=earnings.total)
        self._episode = episode
        return StepResult(
            observation=self._observation(episode),
            reward=earnings.total if earnings else 0.0,
            terminated=episode.state.page == "done",
            info=_info(episode, earnings, is_invalid=state is None),
        )

    def expert(self, task: WebShopTask) -> list[str]:
        """Actions that buy the target product."""
        goals, place = self._found(task.id)
        return oracle(self._shop(goals), goals.wishes[place].goal, Random(0))

    def demonstrate(self, task: WebShopTask, seed: int, care: float = 1.0) -> list[str]:
        """Messages of the scripted customer of `agentgym_envs.webshop.players.thinker`."""
        goals, _ = self._found(task.id)
        return think_aloud(self._shop(goals), task.instruction, Random(seed), self.max_turns, care)

    def snapshot(self) -> object:
        return self._now()

    def restore(self, snapshot: object) -> None:
        if not isinstance(snapshot, _Episode):
            raise TypeError(f"not a snapshot of webshop: {type(snapshot).__name__}")
        self._episode = snapshot

    def close(self) -> None:
        self._episode = None

    def _now(self) -> _Episode:
        if self._episode is None:
            raise RuntimeError("there is no episode before reset")
        return self._episode

    def _found(self, task_id: str) -> tuple[GoalSet, int]:
        """Goals of a task, and its index among them."""
        name, _, wish_id = task_id.partition("/")
        goals = self._sets.get(name)
        if goals is None:
            raise TaskNotFound(
                f"webshop has no task {task_id[:80]!r}; ids begin with: {', '.join(self._sets)}"
            )
        try:
            return goals, goals.wishes.find(wish_id)
        except LookupError:
            last = len(goals.wishes) - 1
            ids = (
                f"{goals.wishes[0].id} to {goals.wishes[last].id}" if goals.imported else f"{last + 1} hashes"
            )
            raise TaskNotFound(f"webshop has no task {task_id[:80]!r}; ids of {name} are {ids}") from None

    def _shop(self, goals: GoalSet) -> Shop:
        return _shop(goals.catalogue, self._rules[goals.name])

    def _observation(self, episode: _Episode) -> Observation:
        shop, state, wish = episode.shop, episode.state, episode.goal.instruction
        if self.text == "text":
            told = pages.plain(shop, state, wish, episode.reward)
        else:
            told = pages.rich(shop, state, wish, _session(episode), episode.reward)
        clicks = [f"click[{name}]" for name in shop.clickables(state) if name not in (SEARCH, "")]
        searches = [] if state.page == "done" and shop.rules.after_done == "fixed" else [SEARCHING]
        return Observation(text=told, actions=tuple(sorted([*clicks, *searches])))


@lru_cache(maxsize=32)
def _shop(catalogue: StoredCatalogue, rules: Rules) -> Shop:
    """Shop shared by all instances, with its search cache."""
    return Shop(catalogue, rules)


@lru_cache(maxsize=32)
def _weighted(goals: GoalSet, splits: tuple[str, ...]) -> WeightedGoals:
    places = (place for split in splits for place in goals.places[split])
    return WeightedGoals(goals.wishes[place].goal.weight for place in places)


def _task(goals: GoalSet, split: str, place: int) -> WebShopTask:
    wish = goals.wishes[place]
    wanted = json.dumps(asdict(wish.goal) | {"weight": None}, sort_keys=True)
    return WebShopTask(
        env=WebShop.name,
        id=f"{goals.name}/{wish.id}",
        split=split,
        instruction=wish.goal.instruction,
        kind=goals.catalogue.products[wish.goal.asin].category,
        difficulty=OFFICIAL if goals.imported else wish.difficulty,
        digest=blake2b(wanted.encode(), digest_size=8).hexdigest(),
    )


def _earned(episode: _Episode, tagger: str) -> Earned:
    goal, catalogue, asin = episode.goal, episode.catalogue, episode.state.asin
    product = catalogue.products[asin]
    nouns = {
        goal.name: catalogue.nouns_of(goal.asin, tagger),
        product.title: catalogue.nouns_of(asin, tagger),
    }
    chosen = list(episode.state.options.values())
    price = catalogue.price(asin)
    return earned(goal, product, chosen, price, nouns.__getitem__, episode.shop.rules.reward)


def _info(episode: _Episode, earnings: Earned | None, *, is_invalid: bool) -> dict[str, Any]:
    state, wish = episode.state, episode.goal.instruction
    gap = "" if state.page not in ("index", "done") else " "  # as on the original's two pages
    known: dict[str, Any] = {
        "has_search_bar": state.page == "index",
        "clickables": list(episode.shop.clickables(state)),
        "instruction_text": f"Instruction:{gap}{wish}",
        "url": pages.url(state, _session(episode)),
    }
    if is_invalid:
        known["invalid_action"] = True
    if earnings is not None:
        known["nouns"] = episode.shop.rules.nouns
        known["reward_parts"] = _parts(episode, earnings)
    return known


def _parts(episode: _Episode, earnings: Earned) -> dict[str, float | bool]:
    """Parts of a reward; for an imported goal also `taggers_agree`: `r_type` is the same for the nouns of all
    taggers.
    """
    state, catalogue = episode.state, episode.catalogue
    product = catalogue.products[state.asin]
    known = parts(earnings, episode.goal, product, list(state.options.values()))
    if catalogue.about.name == synth.NAME:
        return known
    types = {_earned(episode, tagger).r_type for tagger in TAGGERS}
    return known | {"taggers_agree": len(types) == 1}


def _session(episode: _Episode) -> str:
    return episode.task_id.partition("/")[2]
