"""What a reply is made of: an episode as it stands, and the members that replies show of it.

A `Shape` is a member, or members by the names that a reply gives them:

> shown({"state": observation, "done": done}, moment)
{"state": "You see nothing.", "done": False}
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from agentgym_server.dialects.agentgym.refusals import Refusal


@dataclass(frozen=True)
class Moment:
    """An episode after one of its turns."""

    number: int
    """The id that AgentGym's clients use."""
    task: Mapping[str, Any]
    """The task's row in the catalogue."""
    asked: Mapping[str, object]
    """What the reset was told."""
    opening: str
    """The first observation."""
    seen: Mapping[str, Any]
    """The session object or the reply of a step, as native v1 has them."""


Member = Callable[[Moment], object]
Shape = Member | Mapping[str, Member]

LONGEST_RESULT = 100
_WIDTH_OF_PERCENT = 6


def shown(shape: Shape, moment: Moment) -> object:
    """The JSON value of a moment; raises `Refusal` where the environment cannot say what it asks for."""
    if callable(shape):
        return shape(moment)
    return {name: member(moment) for name, member in shape.items()}


def always(value: object) -> Member:
    """A member that is the same at any time."""
    return lambda _: value


def told(name: str) -> Member:
    """A member of the environment's info."""

    def member(moment: Moment) -> object:
        info = moment.seen["info"]
        if name not in info:
            raise Refusal(f"this environment does not tell its {name}")
        return info[name]

    return member


def number(moment: Moment) -> int:
    """The id."""
    return moment.number


def observation(moment: Moment) -> str:
    """The current observation."""
    return moment.seen["observation"]


def reward(moment: Moment) -> float:
    """The reward of the last action."""
    return moment.seen["reward"]


def score(moment: Moment) -> float:
    """The rewards so far."""
    return moment.seen["total_reward"]


def done(moment: Moment) -> bool:
    """Whether the episode is over, for whatever reason."""
    return moment.seen["terminated"] or moment.seen["truncated"]


def terminated(moment: Moment) -> bool:
    """Whether the environment reached its end."""
    return moment.seen["terminated"]


def truncated(moment: Moment) -> bool:
    """Whether a limit cut the episode."""
    return moment.seen["truncated"]


def actions(moment: Moment) -> list[str]:
    """The admissible actions; empty where the environment does not list them."""
    return moment.seen["info"].get("available_actions", [])


def instruction(moment: Moment) -> str:
    """What the agent is to achieve."""
    return moment.task["instruction"]


def kind(moment: Moment) -> str:
    """The type of task."""
    return moment.task["kind"]


def place(moment: Moment) -> int:
    """Where the task stands in its split."""
    return moment.task["index"]


def detail(moment: Moment) -> dict[str, object]:
    """What AgentGym's servers keep of an episode."""
    facts = {"observation": observation, "available_actions": actions, "reward": reward, "done": done}
    return {**moment.asked, **{name: member(moment) for name, member in facts.items()}, "deleted": False}


def household(moment: Moment) -> str:
    """The observation without ALFWorld's banner and without the number of a location."""
    text = observation(moment)
    if moment.seen["turn"] == 0:
        return "\n".join(text.split("\n\n")[1:]) or text
    return text.partition(". ")[2] if text.startswith("You arrive at loc ") else text


def trial(moment: Moment) -> str:
    """A game as `TYPE-.../trial_...`, which ids of official games are."""
    task_id: str = moment.task["task_id"]
    return task_id if task_id.startswith(kind(moment)) else f"{kind(moment)}/{task_id}"


def percent_reward(moment: Moment) -> float:
    """The reward in hundredths of what can be earned."""
    return round(100 * reward(moment), _WIDTH_OF_PERCENT)


def percent_score(moment: Moment) -> float:
    """The rewards so far in hundredths of what can be earned."""
    return round(100 * score(moment), _WIDTH_OF_PERCENT)


def hints(moment: Moment) -> dict[str, object]:
    """ScienceWorld's lists of what may be done to what."""
    return {
        "possible_actions": actions(moment),
        "possible_objects": moment.seen["info"].get("possible_objects", []),
    }


def recipes(moment: Moment) -> str:
    """TextCraft's crafting commands: the first observation up to the goal."""
    return moment.opening.partition("\n\nGoal: ")[0]


def craft(moment: Moment) -> str:
    """TextCraft's goal: what the first observation ends with."""
    return moment.opening.partition("\n\nGoal: ")[2] or instruction(moment)


def marks(moment: Moment) -> str:
    """Wordle's feedback; a guess without any was no word."""
    return observation(moment) if observation(moment).strip() else "invalid word"


def vocabulary(moment: Moment) -> object:
    """Wordle's words: told as such, or as admissible actions."""
    info = moment.seen["info"]
    return told("vocabulary")(moment) if "vocabulary" in info else told("available_actions")(moment)


def buttons(moment: Moment) -> dict[str, object]:
    """WebShop's search bar and buttons: told as such, or as admissible actions."""
    info = moment.seen["info"]
    if "clickables" in info:
        return {"has_search_bar": info.get("has_search_bar", False), "clickables": info["clickables"]}
    clicks = [action for action in actions(moment) if not action.startswith("search[")]
    searches = len(clicks) < len(actions(moment))
    buttons = [click.removeprefix("click[").removesuffix("]") for click in clicks]
    if searches and not buttons:  # the page with the search bar has its button, which cannot be clicked
        buttons = ["search"]
    return {"has_search_bar": searches, "clickables": buttons}


def wish(moment: Moment) -> str:
    """What WebShop's customer wants, as its page says it."""
    told_here = moment.seen["info"].get("instruction_text")
    return told_here if isinstance(told_here, str) else f"Instruction: {instruction(moment)}"


def result(moment: Moment) -> str:
    """The result of a query, shortened."""
    text = observation(moment)
    return text if len(text) <= LONGEST_RESULT else text[:LONGEST_RESULT] + "..."


def with_nothing(moment: Moment) -> list[str | None]:
    """The observation in the pair that some resets answer with."""
    return [observation(moment), None]


def sites(moment: Moment) -> object:
    """The sites that a task of WebArena needs."""
    return moment.seen["info"].get("sites", [])
