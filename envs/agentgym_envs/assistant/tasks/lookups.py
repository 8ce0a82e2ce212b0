"""Parts that programs share: finding one item by what an instruction says of it."""

from collections.abc import Generator
from typing import Any

from agentgym_envs.assistant.clock import day
from agentgym_envs.assistant.tasks.drafts import Step, call

Item = dict[str, Any]
Lookup = Generator[Step, Any, Item]
SPAN = {"start": f"{day(-30)}T00:00", "end": f"{day(60)}T00:00"}
"""A period that has all events."""


def contact(name: str, team: str | None = None) -> Lookup:
    """The contact of a name, of a team if several have it."""
    found = yield call("search_contacts", query=name, **({"team": team} if team else {}))
    return _named(found["items"], "name", name)


def event(title: str) -> Lookup:
    """The event of a title."""
    found = yield call("list_events", **SPAN, query=title)
    return _named(found["items"], "title", title)


def todo(title: str) -> Lookup:
    """The to-do of a title."""
    found = yield call("list_todos", query=title)
    return _named(found["items"], "title", title)


def project(name: str) -> Lookup:
    """The project of a name."""
    found = yield call("list_projects")
    return _named(found["items"], "name", name)


def order(item: str) -> Lookup:
    """The order of an item."""
    found = yield call("list_orders", query=item)
    return _named(found["items"], "item", item)


def latest_mail(address: str) -> Lookup:
    """The latest mail of a sender."""
    found = yield call("search_emails", sender=address, limit=1)
    return found["items"][0]


def _named(items: list[Item], column: str, name: str) -> Item:
    return next(item for item in items if " ".join(item[column].split()) == name)
