"""Choices of drafts: rows of an office that an instruction can name without doubt."""

from typing import Any

from agentgym_envs.assistant.content import names
from agentgym_envs.assistant.tasks.drafts import Setting

Row = dict[str, Any]
ONE_NAME = "name IN (SELECT name FROM contact GROUP BY name HAVING count(*) = 1)"


def person(setting: Setting, condition: str = "1") -> Row | None:
    """A contact with an address and a name of its own."""
    return setting.row(f"SELECT * FROM contact WHERE email IS NOT NULL AND {ONE_NAME} AND {condition}")


def twins(setting: Setting) -> list[Row]:
    """Two contacts of one name, both with an address."""
    pairs = setting.rows(
        "SELECT name FROM contact WHERE email IS NOT NULL GROUP BY name HAVING count(*) = 2 ORDER BY name"
    )
    name = setting.random.choice(pairs)["name"] if pairs else None
    return setting.rows("SELECT * FROM contact WHERE name = ? ORDER BY id", name)


def todo(setting: Setting, condition: str = "done = 0") -> Row | None:
    """A to-do."""
    return setting.row(f"SELECT * FROM todo WHERE {condition}")


def project(setting: Setting) -> Row | None:
    """A project."""
    return setting.row("SELECT * FROM project")


def event(setting: Setting, condition: str = "status = 'confirmed'") -> Row | None:
    """An event; its title as an instruction writes it."""
    found = setting.row(f"SELECT * FROM event WHERE {condition}")
    return found and {**found, "title": found["title"].strip()}


def order(setting: Setting, condition: str = "1") -> Row | None:
    """An order of an item that was ordered once."""
    return setting.row(f"SELECT * FROM shop_order WHERE {condition}")


def subject(setting: Setting) -> str:
    """A subject of mails and files."""
    return setting.random.choice(names.subjects(setting.split))


def sentence(setting: Setting) -> str:
    """A text for a mail or file."""
    about = subject(setting)
    return setting.say(f"The {about} is ready.", f"I will bring the {about}.", f"We need a new {about}.")
