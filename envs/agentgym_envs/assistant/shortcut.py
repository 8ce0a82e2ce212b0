"""Shortcuts of players, for the attack suite: the first hit, and a refusal without a look.

The first hit follows a task's program, but of several rows it sees one: the first that fits the instruction.
What has to be looked at, it takes for granted: that everybody is free, that it rains, that an order is
pending and cheap. It asks nobody, and never refuses.
"""

from collections.abc import Callable, Collection
from typing import Any, cast

from agentgym_envs.assistant.clock import day
from agentgym_envs.assistant.player import tried
from agentgym_envs.assistant.session import Reason, Session
from agentgym_envs.assistant.tasks.drafts import Final, Program, Step
from agentgym_envs.assistant.tasks.programs import submission, written
from agentgym_envs.tooluse import CallError

Row = dict[str, Any]
NAMES = ("name", "title", "item")
ORDER = {"price": 0.0, "status": "pending"}
"""Values that are taken for granted of every order."""


def first_hit(program: Program, session: Session, instruction: str) -> list[str]:
    """Actions of the player, and what it submits."""
    actions, known = list[str](), dict[str, Any]()
    try:
        step = next(program)
        while True:
            step = program.send(_result(step, session, instruction, actions, known))
    except StopIteration as stop:
        final = cast("Final", stop.value)
    except (CallError, LookupError, TypeError, ValueError, RuntimeError):
        final = Final()  # something is not as expected: it stops here
    return [*actions, written(submission(Final() if final.status == "cannot" else final))]


def _result(step: Step, session: Session, instruction: str, actions: list[str], known: dict[str, Any]) -> Any:
    """The result of a call as the player takes it; what it takes for granted it does not call."""
    granted = GRANTED.get(step.tool, _nothing)(step.arguments)
    if granted is not None:
        return granted
    if step.tool == "get_paper" and step.tool in known:
        return known[step.tool]  # a second paper tells nothing new about the authors
    known[step.tool] = narrowed(tried(session, step, actions), instruction)
    return known[step.tool]


def narrowed(result: Any, instruction: str) -> Any:
    """A result with one item of each list: the first that fits the instruction, or else the first."""
    if isinstance(result, dict):
        row = {name: narrowed(value, instruction) for name, value in cast("Row", result).items()}
        return {**row, **ORDER} if "price" in row else row
    items = cast("list[Any]", result) if isinstance(result, list) else []
    if not items:
        return cast("Any", result)
    if isinstance(items[0], list):
        return items[:2]  # of a sheet: the heading, and the first line
    fitting = (item for item in items if _fits(item, instruction))
    return [narrowed(next(fitting, items[0]), instruction)]


def _fits(item: Any, instruction: str) -> bool:
    """True for a row that the instruction names, and for an outdoor event where it is about those."""
    if not isinstance(item, dict):
        return False
    row = cast("Row", item)
    if row.get("outdoor") and row["status"] == "confirmed" and "outdoor" in instruction:
        return True
    return any(" ".join(str(row[column]).split()) in instruction for column in NAMES if column in row)


def _nothing(_: Row) -> None:
    """Take nothing for granted of other tools."""


def _free(arguments: Row) -> list[dict[str, str]]:
    first, last = arguments.get("day_start", "08:00"), arguments.get("day_end", "18:00")
    return [{"start": f"{arguments['date']}T{first}", "end": f"{arguments['date']}T{last}"}]


def _rainy(arguments: Row) -> list[Row]:
    return [{"day": day(count, arguments["start"]), "rain": 1.0} for count in range(31)]


def _no_event(arguments: Row) -> Row | None:
    """No event of a person; None for a search of an event, which is made."""
    return {"items": [], "next_cursor": None, "total": 0} if "contact_id" in arguments else None


GRANTED: dict[str, Callable[[Row], Any]] = {
    "find_free_slots": _free,
    "get_weather": _rainy,
    "list_events": _no_event,
    "ask_user": lambda _: "",
}
"""Tool to the result that is taken for granted; None where the call is made after all."""


REASONS: dict[str, Reason] = {
    **dict.fromkeys(("policy_refuse", "policy_allow"), "not_permitted"),
    **dict.fromkeys(("ghost_target", "real_target"), "not_found"),
    **dict.fromkeys(("twin_unknown", "twin_target"), "ambiguous"),
    **dict.fromkeys(("slot_taken", "slot_free"), "conflict"),
    **dict.fromkeys(("unsaid_unknown", "unsaid_asked"), "missing_information"),
    **dict.fromkeys(("beyond_tools", "within_tools"), "out_of_scope"),
}
"""Reason that the words of an instruction suggest, by template."""


def blind_refusal(template: str, offered: Collection[str]) -> list[str]:
    """A refusal for the reason that the words suggest, after looking where nothing can be found."""
    looks = [
        Step("list_todos", {"query": "zzzz"}),
        Step("search_contacts", {"query": "zzzz"}),
        Step("list_events", {"start": "2020-01-01T00:00", "end": "2020-01-02T00:00"}),
        Step("ask_user", {"question": "hello"}),
    ]
    last = Step("submit", {"status": "cannot", "reason_code": REASONS[template]})
    return [written(step) for step in (*looks, last) if step.tool in offered]
