"""Text of the original's pages for a state, plain or with buttons, and their address.

Both kinds of text have the same pieces. `plain` joins them by [SEP], stripped; `rich` has one per line, with
marks around clickable ones.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Literal, NamedTuple

from agentgym_envs.webshop.products import Product
from agentgym_envs.webshop.shop import Shop
from agentgym_envs.webshop.state import State

Kind = Literal["text", "button", "asin", "value"]
SPACE = " \t\n\r\f\v"
_ESCAPES = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "'": "\\u0027"}


class Piece(NamedTuple):
    """Piece of a page's text."""

    text: str
    kind: Kind = "text"


def plain(shop: Shop, state: State, instruction: str, reward: float = 0.0) -> str:
    """The page as AgentGym, AgentBench and verl-agent show it; `reward` is that of a purchase."""
    kept: list[str] = []
    for piece in pieces(shop, state, instruction, reward):
        if piece.text.strip(SPACE):
            kept.append(piece.text.strip())
        elif piece.text and "\n" not in piece.text:
            kept.append("")
    return " [SEP] ".join(kept)


def rich(shop: Shop, state: State, instruction: str, session: str, reward: float = 0.0) -> str:
    """The page as the original's `text_rich`, with marks on buttons that were clicked before."""
    address, told, clicked = url(state, session), "", ""
    for text, kind in pieces(shop, state, instruction, reward):
        if kind == "text":
            told += f"{text}\n" if text.strip(SPACE) or (text and "\n" not in text) else ""
        elif kind == "button":
            told += f"[button] {text} [button_]\n"
        elif kind == "asin":
            mark = "clicked button" if text in state.visited else "button"
            told += f"\n[{mark}] {text} [{mark}_]\n"
        elif text:
            mark = "clicked button" if f'"{text}"' in address else "button"
            told += f"  [{mark}] {text} [{mark}_]\n"
            clicked = f"You have clicked {text}.\n" + clicked if mark != "button" else clicked
    return clicked + told


def url(state: State, session: str) -> str:
    """The address of the original's page, without its host."""
    words, number = "+".join(state.keywords), state.number
    if state.page == "index":
        return f"/{session}"
    if state.page == "results":
        return f"/search_results/{session}/{words}/{number}"
    if state.page == "item":
        return f"/item_page/{session}/{state.asin}/{words}/{number}/{json.dumps(state.options)}"
    if state.page == "part":
        part = state.part.capitalize()
        return f"/item_sub_page/{session}/{state.asin}/{words}/{number}/{part}/{state.options!r}"
    return f"/done/{session}/{state.asin}/{state.options!r}"


def pieces(shop: Shop, state: State, instruction: str, reward: float) -> Iterator[Piece]:
    """Pieces of a state's page, from its top."""
    if state.page == "index":
        yield from (Piece("WebShop"), Piece("Instruction: "), Piece(instruction), Piece("Search", "button"))
        return
    if state.page == "done":
        yield from map(Piece, _thanks(state, reward))
        return
    yield from (Piece("Instruction:"), Piece(instruction), Piece("Back to Search", "button"))
    if state.page == "results":
        yield from _results(shop, state)
        return
    yield Piece("< Prev", "button")
    product = shop.catalogue.products[state.asin]
    yield from _item(shop, state, product) if state.page == "item" else map(Piece, _part(product, state.part))


def _results(shop: Shop, state: State) -> Iterator[Piece]:
    yield Piece(f"Page {state.number} (Total results: {len(shop.hits(state))})")
    if state.number > 1:
        yield Piece("< Prev", "button")
    yield Piece("Next >", "button")
    for product in shop.shown(state):
        yield from (Piece(product.asin, "asin"), Piece(product.title), Piece(product.price_tag))


def _item(shop: Shop, state: State, product: Product) -> Iterator[Piece]:
    chosen: Mapping[str, str] = state.options if shop.rules.echo_options else {}
    for group, values in product.options.items():
        yield Piece(f"{group} ({chosen[group]} chosen)" if group in chosen else group)
        yield from (Piece(value, "value") for value in values)
    yield from (Piece(product.title), Piece(f"Price: {product.price_tag}"), Piece("Rating: N.A."))
    yield from (Piece(name.capitalize(), "button") for name in shop.parts)
    yield Piece("Buy Now", "button")


def _part(product: Product, part: str) -> tuple[str, ...]:
    if part == "description":
        return (product.description,)
    if part == "attributes":
        return (*product.attributes, product.query, product.category, product.product_category)
    return tuple(f" {bullet}" for bullet in product.bullets) if part == "features" else ()


def _thanks(state: State, reward: float) -> tuple[str, ...]:
    options = json.dumps(dict(sorted(state.options.items())))
    for sign, escape in _ESCAPES.items():
        options = options.replace(sign, escape)
    return (
        *("Thank you for shopping with us!", "Your code: ", "None", " (Paste it in your MTurk interface.)"),
        *("Purchased", "asin", state.asin, "options", options, "attrs", "None", "category", "None"),
        *("query", "None", "product category", "None", "Target", "asin", "options", "attrs", "price upper"),
        *("instuction text", "category", "product category", "query", "Goal ", "None", "Reward"),
        *("Your score (min 0.0, max 1.0)", str(reward), "Reward Details ", "None"),
    )
