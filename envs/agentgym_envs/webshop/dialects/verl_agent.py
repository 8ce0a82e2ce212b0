"""verl-agent (arXiv:2505.10978): pages without their instruction, a list of actions, and replies in tags."""

import re
from typing import NamedTuple

from agentgym_envs.webshop.dialects import Available

TURNS = 15
LONGEST_PROMPT = 13_000
"""Maximum length in characters: a longer prompt is sent without its history."""
SOLVED = 10.0
"""Reward of a purchase that earns 1; any other earns 0."""
_SEGMENT = " [SEP] "
_TAIL = 20
"""Number of last characters of a reply without tags, which are sent as its action."""
_CHINESE = re.compile("[\u4e00-\u9fff]")


class Reply(NamedTuple):
    """Action of a model's reply, and whether it counts as well formed."""

    action: str
    is_valid: bool


def task(first_observation: str) -> str:
    """The instruction in an episode's first observation.

    >>> task("WebShop [SEP] Instruction: [SEP] buy shoes [SEP] Search")
    'buy shoes'
    """
    return first_observation.split(_SEGMENT)[2]


def shown(observation: str, instruction: str) -> str:
    """The page after its instruction, each segment in quotes; a page without the instruction is unchanged.

    >>> shown("Instruction: [SEP] buy shoes [SEP] Back to Search [SEP] < Prev", "buy shoes")
    "'Back to Search' [SEP] '< Prev'"
    """
    segments = observation.split(_SEGMENT)
    if instruction not in segments:
        return observation
    after = segments[segments.index(instruction) + 1 :]
    return _SEGMENT.join(f"'{segment}'" for segment in after)


def admissible(available: Available) -> str:
    """List of actions of a prompt, one per line."""
    found = ["search[<your query>]"] if available["has_search_bar"] else []
    found += [f"click[{clickable}]" for clickable in available["clickables"]]
    return "\n".join(f"'{action}'," for action in found)


def parsed(reply: str) -> Reply:
    """The action between the first of both tags, in lower case; without a tag, the end of the reply.

    It is valid with tags of thinking around anything, and without a Chinese character anywhere.

    >>> parsed("<think>Hm.</think> <action> Click[Buy Now] </action>")
    Reply(action='click[buy now]', is_valid=True)
    """
    text = reply.lower()
    begin, end = text.find("<action>"), text.find("</action>")
    if begin < 0 or end < 0:
        return Reply(text[-_TAIL:], False)
    thought = "<think>" in reply and "</think>" in reply
    return Reply(text[begin + len("<action>") : end].strip(), thought and not _CHINESE.search(reply))


def reward(score: float) -> float:
    """Reward of an episode from the shop's score."""
    return SOLVED if score == 1 else 0.0
