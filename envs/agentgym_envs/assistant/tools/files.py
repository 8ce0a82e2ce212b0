"""Tools for text files."""

import sqlite3
from typing import Annotated, Any

from pydantic import Field

from agentgym_envs.assistant.session import Session
from agentgym_envs.assistant.tools.pages import (
    Id,
    Limit,
    Name,
    Page,
    Search,
    Selection,
    Text,
    existing,
    page,
    update,
)
from agentgym_envs.tooluse import ToolError, tool

FileName = Annotated[str, Field(min_length=1, max_length=100, pattern=r"^[^/\\\x00-\x1f]+$")]
MOST_TEXT = 20_000


@tool("read")
def search_files(
    session: Session,
    query: Name | None = None,
    folder: Name | None = None,
    limit: Limit = 10,
    cursor: str | None = None,
) -> Page:
    """Search files.

    Args:
        query: Part of the name or text.
        folder: Folder.
        limit: Items of a page.
        cursor: Next page.
    """
    filters = [
        Search(("name", "body"), query),
        ("folder = ?", folder),
    ]
    return page(session, Selection("file", "id, folder, name", filters), limit, cursor)


@tool("read")
def get_file(session: Session, file_id: Id) -> dict[str, Any]:
    """Get a file with its text.

    Args:
        file_id: Id of the file.
    """
    session.saw("file", [file_id])
    return existing(session, "file", file_id, "file_id")


@tool("write")
def create_file(session: Session, folder: FileName, name: FileName, body: Text) -> dict[str, int]:
    """Create a file.

    Args:
        folder: Folder.
        name: Name.
        body: Text.
    """
    try:
        file_id = session.office.write(
            "INSERT INTO file(folder, name, body) VALUES (?, ?, ?)", folder, name, body
        )
    except sqlite3.IntegrityError:
        raise ToolError(f"duplicate_name: there is a file {name!r} in this folder", argument="name") from None
    return {"file_id": file_id}


@tool("write")
def append_file(session: Session, file_id: Id, text: Text) -> dict[str, int]:
    """Append a line to a file.

    Args:
        file_id: Id of the file.
        text: Line.
    """
    body = f"{existing(session, 'file', file_id, 'file_id')['body']}\n{text}"
    if len(body) > MOST_TEXT:
        raise ToolError(f"too_long: a file has at most {MOST_TEXT} characters", argument="text")
    update(session, "file", file_id, {"body": body})
    return {"appended": file_id}


TOOLS = (search_files, get_file, create_file, append_file)
