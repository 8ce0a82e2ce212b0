"""Tools for events."""

from typing import Annotated, Any

from pydantic import Field
from typing_extensions import TypedDict

from agentgym_envs.assistant.clock import minutes_between
from agentgym_envs.assistant.session import Session
from agentgym_envs.assistant.tools.pages import (
    Id,
    Ids,
    Limit,
    Name,
    Page,
    Search,
    Selection,
    check_date,
    check_time,
    existing,
    page,
    update,
)
from agentgym_envs.tooluse import ToolError, tool

Time = Annotated[str, Field(description="YYYY-MM-DDTHH:MM")]
Date = Annotated[str, Field(description="YYYY-MM-DD")]
Minutes = Annotated[int, Field(ge=5, le=600)]


class EventFields(TypedDict, total=False):
    """Fields of an event that can be changed."""

    title: Name
    start: str
    end: str
    location: Name
    outdoor: bool
    status: Annotated[str, Field(pattern="^(confirmed|cancelled)$")]


@tool("read")
def list_events(
    session: Session,
    start: Time,
    end: Time,
    query: Name | None = None,
    contact_id: Id | None = None,
    limit: Limit = 10,
    cursor: str | None = None,
) -> Page:
    """List events that overlap a period.

    Args:
        start: Start of the period.
        end: End of the period.
        query: Part of the title.
        contact_id: Attendee.
        limit: Items of a page.
        cursor: Next page.
    """
    check_time(start, "start")
    check_time(end, "end")
    filters = [
        ('"end" > ?', start),
        ("start < ?", end),
        Search(("title",), query),
        ("id IN (SELECT event_id FROM attendee WHERE contact_id = ?)", contact_id),
    ]
    columns = 'id, title, start, "end", location, outdoor, status'
    return page(session, Selection("event", columns, filters, "start, id"), limit, cursor)


@tool("read")
def get_event(session: Session, event_id: Id) -> dict[str, Any]:
    """Get an event with its attendees.

    Args:
        event_id: Id of the event.
    """
    event = existing(session, "event", event_id, "event_id")
    session.saw("event", [event_id])
    event["attendees"] = session.office.rows(
        "SELECT contact_id, name, response FROM attendee JOIN contact ON contact.id = contact_id "
        "WHERE event_id = ? ORDER BY contact_id",
        event_id,
    )
    return event


@tool("read")
def find_free_slots(
    session: Session,
    contact_ids: Ids,
    date: Date,
    duration_min: Minutes,
    day_start: Annotated[str, Field(pattern=r"^\d\d:\d\d$")] = "08:00",
    day_end: Annotated[str, Field(pattern=r"^\d\d:\d\d$")] = "18:00",
) -> list[dict[str, str]]:
    """Find periods of a day in which all contacts are free.

    Args:
        contact_ids: Contacts.
        date: Day.
        duration_min: Least minutes.
        day_start: Earliest time, HH:MM.
        day_end: Latest time, HH:MM.
    """
    check_date(date, "date")
    first, last = f"{date}T{day_start}", f"{date}T{day_end}"
    check_time(first, "day_start")
    check_time(last, "day_end")
    for contact_id in contact_ids:
        existing(session, "contact", contact_id, "contact_id")
    marks = ", ".join("?" * len(contact_ids))
    busy = session.office.rows(
        'SELECT DISTINCT start, "end" FROM event JOIN attendee ON event_id = event.id '
        f"WHERE contact_id IN ({marks}) AND status = 'confirmed' AND \"end\" > ? AND start < ? ORDER BY "
        "start",
        *contact_ids,
        first,
        last,
    )
    slots, free_from = list[dict[str, str]](), first
    for one in [*busy, {"start": last, "end": last}]:
        free_until = min(one["start"], last)
        if minutes_between(free_from, free_until) >= duration_min:
            slots.append({"start": free_from, "end": free_until})
        free_from = max(free_from, one["end"])
    return slots


@tool("write")
def create_event(
    session: Session,
    title: Name,
    start: Time,
    end: Time,
    location: Name | None = None,
    outdoor: bool = False,
    contact_ids: Annotated[list[Id], Field(max_length=20)] | None = None,
) -> dict[str, int]:
    """Create an event. Conflicts are not checked.

    Args:
        title: Title.
        start: Start.
        end: End.
        location: Place.
        outdoor: True if it is outdoors.
        contact_ids: Attendees.
    """
    _check_period(start, end)
    event_id = session.office.write(
        'INSERT INTO event(title, start, "end", location, outdoor) VALUES (?, ?, ?, ?, ?)',
        title,
        start,
        end,
        location,
        int(outdoor),
    )
    _invite(session, event_id, contact_ids or [])
    return {"event_id": event_id}


@tool("write")
def update_event(session: Session, event_id: Id, fields: EventFields) -> dict[str, Any]:
    """Change fields of an event.

    Args:
        event_id: Id of the event.
        fields: New values.
    """
    event = existing(session, "event", event_id, "event_id")
    _check_period(fields.get("start", event["start"]), fields.get("end", event["end"]))
    values = {name: int(value) if isinstance(value, bool) else value for name, value in fields.items()}
    update(session, "event", event_id, values)
    return existing(session, "event", event_id, "event_id")


@tool("write")
def cancel_event(session: Session, event_id: Id, delete: bool = False) -> dict[str, Any]:
    """Cancel an event.

    Args:
        event_id: Id of the event.
        delete: True to remove it.
    """
    event = existing(session, "event", event_id, "event_id")
    if delete:
        session.office.write("DELETE FROM event WHERE id = ?", event_id)
        return {"deleted": event_id}
    if event["status"] == "cancelled":
        raise ToolError(f"already_cancelled: event {event_id}", argument="event_id")
    update(session, "event", event_id, {"status": "cancelled"})
    return {"cancelled": event_id}


@tool("write")
def add_attendees(session: Session, event_id: Id, contact_ids: Ids) -> dict[str, int]:
    """Add attendees to an event.

    Args:
        event_id: Id of the event.
        contact_ids: Contacts.
    """
    existing(session, "event", event_id, "event_id")
    return {"added": _invite(session, event_id, contact_ids)}


@tool("write")
def remove_attendees(session: Session, event_id: Id, contact_ids: Ids) -> dict[str, int]:
    """Remove attendees from an event.

    Args:
        event_id: Id of the event.
        contact_ids: Contacts.
    """
    existing(session, "event", event_id, "event_id")
    present = [one for one in dict.fromkeys(contact_ids) if _attends(session, event_id, one)]
    for contact_id in present:
        session.office.write(
            "DELETE FROM attendee WHERE event_id = ? AND contact_id = ?", event_id, contact_id
        )
    return {"removed": len(present)}


def _invite(session: Session, event_id: int, contact_ids: list[int]) -> int:
    new = [one for one in dict.fromkeys(contact_ids) if not _attends(session, event_id, one)]
    for contact_id in new:
        existing(session, "contact", contact_id, "contact_id")
        session.office.write("INSERT INTO attendee(event_id, contact_id) VALUES (?, ?)", event_id, contact_id)
    return len(new)


def _attends(session: Session, event_id: int, contact_id: int) -> bool:
    return bool(
        session.office.value(
            "SELECT 1 FROM attendee WHERE event_id = ? AND contact_id = ?", event_id, contact_id
        )
    )


def _check_period(start: str, end: str) -> None:
    check_time(start, "start")
    check_time(end, "end")
    if end <= start:
        raise ToolError("end_before_start: the end is after the start", argument="end")


TOOLS = (
    list_events,
    get_event,
    find_free_slots,
    create_event,
    update_event,
    cancel_event,
    add_attendees,
    remove_attendees,
)
