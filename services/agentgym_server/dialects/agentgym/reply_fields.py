"""State of an episode, and the reply members of the AgentGym dialect that are computed from it.

A `Shape` is a member function, or a mapping from the names in a reply to member functions:

> shown({"state": observation, "done": done}, moment)
{"state": "You see nothing.", "done": False}
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agentgym_envs.sciworld.games import agentgym_games
from agentgym_envs.tools import with_changed_tools
from agentgym_server.dialects.agentgym.errors import Refusal


@dataclass(frozen=True)
class EpisodeState:
    """State of an episode after one of its turns."""

    number: int
    """Id that AgentGym's clients use."""
    task: Mapping[str, Any]
    """The task's row in the catalogue."""
    asked: Mapping[str, object]
    """Fields of the reset request."""
    opening: str
    """First observation."""
    seen: Mapping[str, Any]
    """Session object or step reply, as in native v1."""


Member = Callable[[EpisodeState], object]
Shape = Member | Mapping[str, Member]

LONGEST_RESULT = 100
_WIDTH_OF_PERCENT = 6


def shown(shape: Shape, moment: EpisodeState) -> object:
    """The JSON value of a shape for a moment; raises `Refusal` where the environment does not provide a
    member.
    """
    if callable(shape):
        return shape(moment)
    return {name: member(moment) for name, member in shape.items()}


def always(value: object) -> Member:
    """A constant member."""
    return lambda _: value


def told(name: str) -> Member:
    """A member read from the environment's info."""

    def member(moment: EpisodeState) -> object:
        info = moment.seen["info"]
        if name not in info:
            raise Refusal(f"this environment does not tell its {name}")
        return info[name]

    return member


def number(moment: EpisodeState) -> int:
    """The id."""
    return moment.number


def observation(moment: EpisodeState) -> str:
    """The current observation, followed by the tools where they changed."""
    tools: Sequence[Mapping[str, Any]] | None = moment.seen["info"].get("tools")
    return with_changed_tools(moment.seen["observation"], tools)


def reward(moment: EpisodeState) -> float:
    """The reward of the last action."""
    return moment.seen["reward"]


def score(moment: EpisodeState) -> float:
    """The rewards so far."""
    return moment.seen["total_reward"]


def done(moment: EpisodeState) -> bool:
    """True if the episode is over, for any reason."""
    return moment.seen["terminated"] or moment.seen["truncated"]


def terminated(moment: EpisodeState) -> bool:
    """True if the environment reached its end."""
    return moment.seen["terminated"]


def truncated(moment: EpisodeState) -> bool:
    """True if a limit cut the episode."""
    return moment.seen["truncated"]


def actions(moment: EpisodeState) -> list[str]:
    """The admissible actions; empty where the environment does not list them."""
    return moment.seen["info"].get("available_actions", [])


def instruction(moment: EpisodeState) -> str:
    """The task's instruction."""
    return moment.task["instruction"]


def kind(moment: EpisodeState) -> str:
    """The type of task."""
    return moment.task["kind"]


def variation(moment: EpisodeState) -> int:
    """ScienceWorld's number of a variation of a task, at the end of an id of its own: `test/1-1/21+easy`."""
    own = moment.task["task_id"].partition("+")[0]
    split, _, number = own.rpartition("/")
    if split == "agentgym":
        return agentgym_games()[int(number)].variation
    return int(number) if number.isdecimal() else moment.task["index"]


def experiment(moment: EpisodeState) -> str:
    """The observation without ScienceWorld's description of the task, which is a member of its own."""
    text = observation(moment)
    return text.removeprefix(f"{instruction(moment)}\n") if moment.seen["turn"] == 0 else text


def detail(moment: EpisodeState) -> dict[str, object]:
    """The members of AgentGym's `/detail`."""
    facts = {"observation": observation, "available_actions": actions, "reward": reward, "done": done}
    return {**moment.asked, **{name: member(moment) for name, member in facts.items()}, "deleted": False}


def household(moment: EpisodeState) -> str:
    """The observation without ALFWorld's banner and without the number of a location."""
    text = observation(moment)
    if moment.seen["turn"] == 0:
        return "\n".join(text.split("\n\n")[1:]) or text
    return text.partition(". ")[2] if text.startswith("You arrive at loc ") else text


def trial(moment: EpisodeState) -> str:
    """The game as `TYPE-.../trial_...`, as ids of official games are."""
    task_id: str = moment.task["task_id"]
    return task_id if task_id.startswith(kind(moment)) else f"{kind(moment)}/{task_id}"


def percent_reward(moment: EpisodeState) -> float:
    """Reward of the last action as a percentage of the maximum."""
    return round(100 * reward(moment), _WIDTH_OF_PERCENT)


def percent_score(moment: EpisodeState) -> float:
    """Total reward as a percentage of the maximum."""
    return round(100 * score(moment), _WIDTH_OF_PERCENT)


def hints(moment: EpisodeState) -> dict[str, object]:
    """ScienceWorld's lists of possible actions and objects."""
    info = moment.seen["info"]
    return {
        "possible_actions": info.get("possible_actions", actions(moment)),
        "possible_objects": info.get("possible_objects", []),
    }


def recipes(moment: EpisodeState) -> str:
    """TextCraft's crafting commands: the first observation before the goal."""
    return moment.opening.partition("\n\nGoal: ")[0]


def craft(moment: EpisodeState) -> str:
    """TextCraft's goal: the end of the first observation."""
    return moment.opening.partition("\n\nGoal: ")[2] or instruction(moment)


def marks(moment: EpisodeState) -> str:
    """Wordle's feedback; a guess without feedback was no valid word."""
    return observation(moment) if observation(moment).strip() else "invalid word"


def vocabulary(moment: EpisodeState) -> object:
    """Wordle's word list, from info or from the admissible actions."""
    info = moment.seen["info"]
    return told("vocabulary")(moment) if "vocabulary" in info else told("available_actions")(moment)


def buttons(moment: EpisodeState) -> dict[str, object]:
    """WebShop's search bar and buttons, from info or from the admissible actions."""
    info = moment.seen["info"]
    if "clickables" in info:
        return {"has_search_bar": info.get("has_search_bar", False), "clickables": info["clickables"]}
    clicks = [action for action in actions(moment) if not action.startswith("search[")]
    searches = len(clicks) < len(actions(moment))
    buttons = [click.removeprefix("click[").removesuffix("]") for click in clicks]
    if searches and not buttons:  # the page with the search bar has its button, which cannot be clicked
        buttons = ["search"]
    return {"has_search_bar": searches, "clickables": buttons}


def wish(moment: EpisodeState) -> str:
    """WebShop's instruction, as its page states it."""
    told_here = moment.seen["info"].get("instruction_text")
    return told_here if isinstance(told_here, str) else f"Instruction: {instruction(moment)}"


def result(moment: EpisodeState) -> str:
    """The result of a query, shortened."""
    text = observation(moment)
    return text if len(text) <= LONGEST_RESULT else text[:LONGEST_RESULT] + "..."


def with_nothing(moment: EpisodeState) -> list[str | None]:
    """The pair of the observation and None, as some resets return it."""
    return [observation(moment), None]


def sites(moment: EpisodeState) -> object:
    """The sites of a WebArena task."""
    return moment.seen["info"].get("sites", [])
