"""Tools for contacts."""

from typing import Annotated, Any

from pydantic import Field
from typing_extensions import TypedDict

from agentgym_envs.assistant.clock import NOW
from agentgym_envs.assistant.session import Session
from agentgym_envs.assistant.tools.pages import (
    Id,
    Limit,
    Name,
    Page,
    Search,
    Selection,
    existing,
    page,
    update,
)
from agentgym_envs.tooluse import ToolError, tool

Address = Annotated[str, Field(min_length=3, max_length=200, pattern=r"^[^@\s]+@[^@\s]+$")]


class ContactFields(TypedDict, total=False):
    """Fields of a contact that can be changed."""

    email: Address
    phone: Name
    team: Name
    city: Name


@tool("read")
def search_contacts(
    session: Session,
    query: Name | None = None,
    team: Name | None = None,
    city: Name | None = None,
    limit: Limit = 10,
    cursor: str | None = None,
) -> Page:
    """Search contacts.

    Args:
        query: Part of the name or address.
        team: Team, exactly.
        city: City, exactly.
        limit: Items of a page.
        cursor: Next page.
    """
    filters = [
        Search(("name", "email"), query),
        ("team = ?", team),
        ("city = ?", city),
    ]
    columns = "id, name, email, phone, team, city"
    return page(session, Selection("contact", columns, filters), limit, cursor)


@tool("read")
def get_contact(session: Session, contact_id: Id) -> dict[str, Any]:
    """Get a contact.

    Args:
        contact_id: Id of the contact.
    """
    session.saw("contact", [contact_id])
    return existing(session, "contact", contact_id, "contact_id")


@tool("write")
def add_contact(
    session: Session,
    name: Name,
    email: Address | None = None,
    phone: Name | None = None,
    team: Name | None = None,
    city: Name | None = None,
) -> dict[str, int]:
    """Add a contact.

    Args:
        name: Name.
        email: Address.
        phone: Number.
        team: Team.
        city: City.
    """
    _check_address(session, email)
    contact_id = session.office.write(
        "INSERT INTO contact(name, email, phone, team, city) VALUES (?, ?, ?, ?, ?)",
        name,
        email,
        phone,
        team,
        city,
    )
    return {"contact_id": contact_id}


@tool("write")
def update_contact(session: Session, contact_id: Id, fields: ContactFields) -> dict[str, Any]:
    """Change fields of a contact.

    Args:
        contact_id: Id of the contact.
        fields: New values.
    """
    existing(session, "contact", contact_id, "contact_id")
    _check_address(session, fields.get("email"), contact_id)
    update(session, "contact", contact_id, dict(fields))
    return existing(session, "contact", contact_id, "contact_id")


@tool("write")
def delete_contact(session: Session, contact_id: Id) -> dict[str, int]:
    """Delete a contact that attends no future event and has no to-do.

    Args:
        contact_id: Id of the contact.
    """
    existing(session, "contact", contact_id, "contact_id")
    attends = session.office.value(
        'SELECT 1 FROM attendee JOIN event ON event.id = event_id WHERE contact_id = ? AND "end" > ?',
        contact_id,
        NOW,
    )
    assigned = session.office.value("SELECT 1 FROM todo WHERE assignee = ?", contact_id)
    if attends or assigned:
        reason = "attends a future event" if attends else "has a to-do"
        raise ToolError(f"in_use: contact {contact_id} {reason}", argument="contact_id")
    session.office.write("DELETE FROM attendee WHERE contact_id = ?", contact_id)
    session.office.write("DELETE FROM contact WHERE id = ?", contact_id)
    return {"deleted": contact_id}


def _check_address(session: Session, email: str | None, contact_id: int = 0) -> None:
    """Raise `ToolError` where another contact than this one has the address, in whatever case."""
    if email is None:
        return
    others = session.office.rows("SELECT email FROM contact WHERE email IS NOT NULL AND id <> ?", contact_id)
    if email.casefold() in (row["email"].casefold() for row in others):
        raise ToolError("duplicate_email: another contact has this address", argument="email")


TOOLS = (search_contacts, get_contact, add_contact, update_contact, delete_contact)
