"""A folder in BFCL's layout with tasks of our own, and classes that stand for the wheel's."""

import json
from collections.abc import Mapping
from copy import deepcopy
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from agentgym_envs.bfcl.documents import FILES, Documents

needs_wheel = pytest.mark.skipif(
    find_spec("bfcl_eval") is None, reason="needs the wheel: pip install --no-deps bfcl-eval==2026.3.23"
)

Document = dict[str, Any]


def document(name: str, required: list[str] | None = None, **properties: Document) -> Document:
    """A document of a function; all arguments are required unless `required` is given."""
    parameters = {
        "type": "dict",
        "properties": properties,
        "required": list(properties) if required is None else required,
    }
    return {"name": name, "description": f"Does {name}.", "parameters": parameters}


TICKETS = [
    document("get_ticket", ticket_id={"type": "integer", "description": "Id."}),
    document("close_ticket", ticket_id={"type": "integer"}),
    document(
        "create_ticket",
        ["title"],
        title={"type": "string"},
        priority={"type": "integer", "default": 1},
        note={"type": "string", "default": "None"},
    ),
]
MESSAGES = [document("list_users"), document("send", to={"type": "string"}, text={"type": "string"})]
TEXTS = {
    owner: "".join(f"{json.dumps(one)}\n" for one in rows)
    for owner, rows in (("TicketAPI", TICKETS), ("MessageAPI", MESSAGES))
}
DOCUMENTS = Documents(TEXTS)

CONFIG = {"TicketAPI": {"tickets": {"1": "open", "2": "open"}}}
TASK: dict[str, Any] = {
    "id": "multi_turn_base_7",
    "question": [
        [{"role": "user", "content": "Show me ticket 1."}],
        [{"role": "user", "content": "Close it, and make one called 'Leak'."}],
    ],
    "initial_config": CONFIG,
    "involved_classes": ["TicketAPI"],
    "path": ["TicketAPI.get_ticket"],
}
ANSWER: dict[str, Any] = {
    "id": "multi_turn_base_7",
    "ground_truth": [["get_ticket(1)"], ["close_ticket(ticket_id=1)", "create_ticket('Leak', priority=2)"]],
}


class TicketAPI:
    """Tickets by number."""

    def __init__(self, config: Mapping[str, Any]) -> None:
        self.tickets: dict[int, str] = {
            int(number): state for number, state in config.get("tickets", {}).items()
        }
        self._asked = 0

    def get_ticket(self, ticket_id: int) -> object:
        self._asked += 1
        return {"state": self.tickets[ticket_id]}

    def close_ticket(self, ticket_id: int) -> None:
        self.tickets[ticket_id] = "closed"

    def create_ticket(self, title: str, priority: int = 1, note: str | None = None) -> object:
        number = len(self.tickets) + 1
        self.tickets[number] = f"{title} {priority} {note}"
        return {"id": number}


def make(owner: str, config: Mapping[str, Any], long_context: bool) -> Any:  # noqa: ARG001 - a `Maker`
    """An instance of a class above."""
    assert owner == "TicketAPI"
    return TicketAPI(deepcopy(dict(config)))


def write_source(
    folder: Path,
    tasks: Mapping[str, list[tuple[Mapping[str, Any], Mapping[str, Any]]]],
    texts: Mapping[str, str] = TEXTS,
) -> Path:
    """A folder in the publisher's layout with tasks and their answers by category."""
    (folder / "possible_answer").mkdir(parents=True)
    (folder / "multi_turn_func_doc").mkdir()
    for owner, name in FILES.items():
        path = folder / "multi_turn_func_doc" / f"{name}.json"
        path.write_text(texts.get(owner, ""), encoding="utf-8")
    for category, pairs in tasks.items():
        name = f"BFCL_v4_multi_turn_{category}.json"
        (folder / name).write_text("".join(f"{json.dumps(task)}\n" for task, _ in pairs))
        (folder / "possible_answer" / name).write_text("".join(f"{json.dumps(one)}\n" for _, one in pairs))
    return folder
