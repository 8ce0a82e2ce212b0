"""Tools for mail."""

from typing import Annotated, Any, Literal

from pydantic import Field

from agentgym_envs.assistant.clock import NOW, is_date
from agentgym_envs.assistant.content.offices import OWNER
from agentgym_envs.assistant.session import Session
from agentgym_envs.assistant.tools.contacts import Address
from agentgym_envs.assistant.tools.pages import (
    Id,
    Ids,
    Limit,
    Name,
    Page,
    Search,
    Selection,
    Text,
    check_moment,
    existing,
    page,
)
from agentgym_envs.tooluse import tool

Folder = Literal["inbox", "archive", "trash"]


@tool("read")
def search_emails(
    session: Session,
    query: Name | None = None,
    sender: Name | None = None,
    folder: Name | None = None,
    unread: bool | None = None,
    since: str | None = None,
    until: str | None = None,
    limit: Limit = 10,
    cursor: str | None = None,
) -> Page:
    """Search mails, newest first; bodies are cut.

    Args:
        query: Part of the subject or body.
        sender: Address of the sender.
        folder: Folder.
        unread: True for unread ones.
        since: Earliest day or time.
        until: Latest day or time.
        limit: Items of a page.
        cursor: Next page.
    """
    check_moment(since, "since")
    check_moment(until, "until")
    filters = [
        Search(("subject", "body"), query),
        ("sender = lower(?)", sender),
        ("folder = ?", folder),
        ("is_read = ?", None if unread is None else int(not unread)),
        ("sent_at >= ?", since),
        ("sent_at <= ?", f"{until}T23:59" if until and is_date(until) else until),
    ]
    columns = "id, folder, sender, subject, substr(body, 1, 120) AS body, sent_at, is_read"
    return page(session, Selection("email", columns, filters, "sent_at DESC, id DESC"), limit, cursor)


@tool("read")
def get_email(session: Session, email_id: Id) -> dict[str, Any]:
    """Get a mail.

    Args:
        email_id: Id of the mail.
    """
    email = existing(session, "email", email_id, "email_id")
    session.saw("email", [email_id])
    rows = session.office.rows("SELECT addr FROM email_to WHERE email_id = ? ORDER BY addr", email_id)
    email["to"] = [row["addr"] for row in rows]
    return email


@tool("write")
def send_email(
    session: Session,
    to: Annotated[list[Address], Field(min_length=1, max_length=20)],
    subject: Name,
    body: Text,
    reply_to: Id | None = None,
) -> dict[str, int]:
    """Send a mail.

    Args:
        to: Addresses.
        subject: Subject.
        body: Text.
        reply_to: Id of the mail that is answered.
    """
    if reply_to is not None:
        existing(session, "email", reply_to, "reply_to")
    email_id = session.office.write(
        "INSERT INTO email(folder, sender, subject, body, sent_at, is_read, reply_to) "
        "VALUES ('sent', ?, ?, ?, ?, 1, ?)",
        OWNER,
        subject,
        body,
        NOW,
        reply_to,
    )
    for address in dict.fromkeys(one.lower() for one in to):
        session.office.write("INSERT INTO email_to(email_id, addr) VALUES (?, ?)", email_id, address)
    return {"email_id": email_id}


@tool("write")
def mark_email(session: Session, email_ids: Ids, is_read: bool) -> dict[str, int]:
    """Mark mails as read or unread.

    Args:
        email_ids: Mails.
        is_read: True for read.
    """
    return _changed(session, email_ids, "is_read", int(is_read))


@tool("write")
def move_email(session: Session, email_ids: Ids, folder: Folder) -> dict[str, int]:
    """Move mails to a folder.

    Args:
        email_ids: Mails.
        folder: Folder.
    """
    return _changed(session, email_ids, "folder", folder)


def _changed(session: Session, email_ids: list[int], column: str, value: str | int) -> dict[str, int]:
    chosen = list(dict.fromkeys(email_ids))
    for email_id in chosen:
        existing(session, "email", email_id, "email_id")
    for email_id in chosen:
        session.office.write(f"UPDATE email SET {column} = ? WHERE id = ?", value, email_id)
    return {"changed": len(chosen)}


TOOLS = (search_emails, get_email, send_email, mark_email, move_email)
