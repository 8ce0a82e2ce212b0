"""Sessions of people in WebShop (arXiv:2207.01206): JSON Lines of the pages that they saw.

    {"page": "search_results", "url": ".../search_results/SESSION/...", "goal": {...},
     "content": {"keywords": ["red", "shoes"], "search_result_asins": ["B09..."], "page": 1}}

An action is what leads from a page to the next one. A log names products and options and has no other text of
a page, so neither have the observations.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any, Literal, NamedTuple, cast
from urllib.parse import urlparse

from pydantic import Field, field_validator

from agentgym_store.imports.contract import Draft, DraftTurn, Importer, Shape, members, validated
from agentgym_store.imports.conversation import SILENT
from agentgym_store.imports.reading import Refusal, records
from agentgym_store.records import Terminated, Trajectory, Truncated

MISSING = "a page that no action leads to from the one before"
RELOADED = "with a page that was loaded again, which is left out"
BARE = "with pages of which the log has names alone"
UNFINISHED = "session-end"
SEPARATOR = " [SEP] "
BACK, PREVIOUS, NEXT, BUY = "back to search", "< prev", "next >", "buy now"

PageName = Literal["index", "search_results", "item_page", "item_sub_page", "done"]


class _Goal(Shape):
    asin: str = ""
    instruction_text: str


class _Content(Shape):
    keywords: str | list[str] = ""
    results: tuple[str, ...] = Field(default=(), alias="search_result_asins")
    page: int = 1
    asin: str = ""
    options: dict[str, str] = Field(default={})

    @field_validator("page", mode="before")
    @classmethod
    def _number(cls, value: Any) -> Any:
        return int(value) if isinstance(value, str) and value.isdecimal() else value


class _Event(Shape):
    page: PageName
    url: str
    goal: _Goal
    content: _Content = _Content()
    reward: float | None = None
    reward_info: dict[str, Any] | None = None

    @property
    def session(self) -> str:
        """Name of the session, from the address."""
        return self._part_of_address(1 if self.page == "index" else 2)

    @property
    def part(self) -> str:
        """Name of the part of a product's page."""
        return self._part_of_address(-2).lower()

    def _part_of_address(self, place: int) -> str:
        """A part of the address. Raises `Refusal` where there is none."""
        try:
            return urlparse(self.url).path.split("/")[place]
        except (ValueError, IndexError) as cause:
            raise Refusal("an address that is none of the site's", self.url[:80]) from cause


class _Step(NamedTuple):
    action: str
    event: _Event


class WebShopSessions(Importer):
    """Recorded sessions, which become demonstrations by people."""

    name = "webshop"
    summary = "Pages of a session of WebShop, a line each."

    def recognises(self, record: Any) -> bool:
        """See `Importer`."""
        return {"page", "url", "goal"} <= set(members(record))

    def records(self, path: Path) -> Iterator[tuple[str, Any]]:
        """The lines of each session together, with the place of the first."""

        def name(found: tuple[str, Any]) -> str:
            line = found[1]
            return _session(line)

        for session, lines in groupby(records(path), name):
            kept = list(lines)
            yield kept[0][0], kept[0][1] if not session else [line for _, line in kept]

    def episode(self, record: Any) -> Draft | Trajectory:
        """See `Importer`."""
        lines = cast("list[Any]", record) if isinstance(record, list) else [record]
        events = [validated(_Event, line) for line in lines]
        steps = list(_steps(events))
        if not steps or events[0].page != "index":
            raise Refusal(SILENT)
        first, last = events[0], events[-1]
        if last.page == "done" and last.reward is None:
            raise Refusal("a purchase without a reward")
        turns = [DraftTurn(step.action, _shown(step.event), 0.0) for step in steps]
        turns[-1] = _final(turns[-1], last)
        reloaded = not all(_actions(*two) for two in pairwise(events))
        return Draft(
            opening=_shown(first),
            turns=tuple(turns),
            id=first.session,
            env="webshop",
            task_id=first.session,
            policy="human",
            instruction=first.goal.instruction_text,
            reward=last.reward or 0.0,
            ending=Terminated() if last.page == "done" else Truncated(limit=UNFINISHED),
            notes=(BARE, RELOADED) if reloaded else (BARE,),
        )


def _session(line: Any) -> str:
    try:
        return validated(_Event, line).session
    except Refusal:
        return ""


def _final(turn: DraftTurn, last: _Event) -> DraftTurn:
    info: dict[str, object] = {} if last.reward_info is None else {"reward_parts": last.reward_info}
    return DraftTurn(turn.message, turn.observation, last.reward or 0.0, info=info)


def _steps(events: Iterable[_Event]) -> Iterator[_Step]:
    """Actions, each with the page that it led to; some pages are two actions away."""
    for before, after in pairwise(events):
        actions = list(_actions(before, after))
        for action in actions[:-1]:
            yield _Step(action, after.model_copy(update={"page": "index"}))
        for action in actions[-1:]:
            yield _Step(action, after)


def _actions(before: _Event, after: _Event) -> Sequence[str]:
    """Actions that lead from one page to another; none where it is the same page. Raises `Refusal`."""
    match after.page:
        case "index":
            return [] if before.page == "index" else [click(BACK)]
        case "search_results":
            return _to_results(before, after)
        case "item_page":
            return _to_item(before, after)
        case "item_sub_page":
            return [click(after.part)]
        case "done":
            return [click(BUY)]


def _to_results(before: _Event, after: _Event) -> Sequence[str]:
    search = f"search[{words(after)}]"
    if before.page == "index":
        return [search]
    if words(before) != words(after):
        return [click(BACK), search]
    if before.page != "search_results":
        return [click(PREVIOUS)]
    moves = {0: [], 1: [click(NEXT)], -1: [click(PREVIOUS)]}
    distance = after.content.page - before.content.page
    if distance not in moves:
        raise Refusal(MISSING, f"from page {before.content.page} to {after.content.page}")
    return moves[distance]


def _to_item(before: _Event, after: _Event) -> Sequence[str]:
    one, other = before.content, after.content
    if before.page == "search_results":
        return [click(other.asin.lower())]
    if before.page == "index" or one.asin != other.asin:
        raise Refusal(MISSING, f"from {before.page} to the product {other.asin}")
    if before.page == "item_sub_page":
        return [click(PREVIOUS)]
    return [click(value) for name, value in other.options.items() if one.options.get(name) != value]


def click(name: str) -> str:
    """The action that clicks on this."""
    return f"click[{name}]"


def words(event: _Event) -> str:
    """The words of a search; item pages have the text of a Python list."""
    given = event.content.keywords
    if isinstance(given, str):
        return " ".join(part.strip().strip("'\"") for part in given.strip("[]").split(", "))
    return " ".join(given)


def _shown(event: _Event) -> str:
    """The page, as far as the log has it, with the environment's marks between its parts."""
    instruction, content = event.goal.instruction_text, event.content
    match event.page:
        case "index":
            parts = ["WebShop", "Instruction:", instruction, "Search"]
        case "search_results":
            page = f"Page {content.page}"
            parts = ["Instruction:", instruction, "Back to Search", page, "Next >", *content.results]
        case "done":
            score = f"Your score (min 0.0, max 1.0): {event.reward}"
            parts = ["Thank you for shopping with us!", score]
        case _:
            chosen = [f"{name} ({value} chosen)" for name, value in content.options.items()]
            parts = [
                "Instruction:",
                instruction,
                "Back to Search",
                "< Prev",
                content.asin,
                *chosen,
                "Buy Now",
            ]
    return SEPARATOR.join(parts)
