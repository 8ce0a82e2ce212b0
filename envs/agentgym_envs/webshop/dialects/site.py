"""Text of the original web site, as ReAct (arXiv:2210.03629), Reflexion and LATS play it.

It is another rendering of the same states. Pages are in lines, with only the first three results; names are
clicked as they are written (`click[Buy Now]`); a choice is confirmed instead of shown, `think[...]` does
nothing, and an impossible action is reported as such. Pages are not turned, and searches start at the first
page only. LATS differs from ReAct in the fields of `Wording`; it also plays where `Rules.show_attributes` is
set.
"""

from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from agentgym_envs.webshop.actions import Action
from agentgym_envs.webshop.pages import SPACE, pieces
from agentgym_envs.webshop.shop import BACK, BUY, PREVIOUS, Shop
from agentgym_envs.webshop.state import State

RESET, THINK = "reset", "think["
THOUGHT, INVALID = "OK.", "Invalid action!"
SHOWN = 3
"""Number of search results with titles and prices."""
TURNS = 15
"""Maximum number of turns of an episode in the published runs, with its reset."""
_NAMES = {BACK: "Back to Search", PREVIOUS: "< Prev", BUY: "Buy Now"}


class Wording(NamedTuple):
    """Differences between players of the site."""

    thought: str | None
    """Answer to `think[...]`; None repeats the page."""
    all_ids: bool
    """True if results after the third are listed by their ids, without titles and prices."""


REACT = Wording(THOUGHT, all_ids=False)
LATS = Wording(None, all_ids=True)


class Reply(NamedTuple):
    """Result of a message."""

    state: State
    told: str | None
    """Text in place of the state's page; None for the page."""


def answer(shop: Shop, state: State, message: str, wording: Wording = REACT) -> Reply:
    """The site's reply to a message. It assumes that the last character is the closing bracket.

    A message that is not allowed changes nothing, and none is allowed after a purchase.
    """
    if message == RESET:
        return Reply(State(), None)
    if message.startswith(THINK):
        return Reply(state, wording.thought)
    name, bracket, argument = message[:-1].partition("[")
    if bracket and name == "search" and state.page == "index":
        return Reply(shop.act(state, Action("search", argument)) or state, None)
    button = _buttons(shop, state).get(argument) if bracket and name == "click" else None
    if button is not None:
        after = shop.act(state, Action("click", button))
        chosen = state.page == "item" and after is not None and after.page == "item"
        return Reply(after or state, f"You have clicked {argument}." if chosen else None)
    return Reply(state, INVALID)


def page(shop: Shop, state: State, instruction: str, reward: float = 0.0, wording: Wording = REACT) -> str:
    """The page of a state; `reward` is that of a purchase."""
    if state.page == "index":
        return f"\nWebshop \nInstruction:  \n{instruction} \n[Search] "
    if state.page == "done":
        return f"Your score (min 0.0, max 1.0): {reward}"
    return "".join(_lines(shop, state, wording))


def _lines(shop: Shop, state: State, wording: Wording) -> Iterator[str]:
    """Lines of a page without the instruction, which is shown only at the start."""
    hits = 0
    chosen = state.options.values()
    for text, kind in islice(pieces(shop, state, "", 0.0), 2, None):
        hits += kind == "asin"
        if kind == "value" and text:
            yield f"[[{text}]]" if text in chosen else f"[{text}]"
        elif kind == "button" or (kind == "asin" and (hits <= SHOWN or wording.all_ids)):
            yield f"\n[{text}] "
        elif kind == "text" and hits <= SHOWN and (text.strip(SPACE) or (text and "\n" not in text)):
            yield f"\n{text} "


def _buttons(shop: Shop, state: State) -> dict[str, str]:
    """Clickable names as written -> their names in the shop."""
    if state.page == "index":
        return {}
    if state.page == "results":
        return {_NAMES[BACK]: BACK} | {product.asin: product.asin.lower() for product in shop.shown(state)}
    parts = {part: part.capitalize() for part in shop.parts}
    return {(_NAMES | parts).get(name, name): name for name in shop.clickables(state)}
