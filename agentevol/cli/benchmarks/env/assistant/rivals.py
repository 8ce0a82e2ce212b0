"""Plain implementations of some of the assistant's tools."""

import json
import sqlite3
from collections.abc import Callable, Mapping
from copy import deepcopy
from typing import Any

Row = dict[str, Any]
Data = dict[str, dict[int, Row]]
"""Table to its rows by id."""
PAGE = 10


class Dictionaries:
    """Tools as functions on dictionaries."""

    def __init__(self, data: Data, copies: bool) -> None:
        self._data = data
        self._copies = copies
        self._tools: Mapping[str, Callable[..., Any]] = {
            "list_todos": lambda **given: self._listed("todo", "title", **given),
            "list_orders": lambda **given: self._listed("shop_order", "item", **given),
            "complete_todo": lambda todo_id: self._set("todo", todo_id, "done", 1),
            "cancel_order": lambda order_id: self._set("shop_order", order_id, "status", "cancelled"),
            "submit": lambda **_: "submitted",
        }
        self.reset()

    def reset(self) -> None:
        """Begin an episode."""
        self._now = deepcopy(self._data) if self._copies else self._data

    def step(self, action: str) -> str:
        """The observation of a call."""
        call = json.loads(action)
        return json.dumps(self._tools[call["name"]](**call["arguments"]), ensure_ascii=False)

    def _listed(self, table: str, column: str, query: str) -> Row:
        rows = [row for row in self._now[table].values() if query.lower() in row[column].lower()]
        return {"items": rows[:PAGE], "total": len(rows)}

    def _set(self, table: str, key: int, column: str, value: object) -> Row:
        row = self._now[table].get(key)
        if row is None:
            return {"error": "not found"}
        row[column] = value
        return {"changed": key}


class Rebuilt:
    """Tools as statements on a database that each episode builds anew."""

    def __init__(self, script: str) -> None:
        self._script = script
        self._database: sqlite3.Connection | None = None

    def reset(self) -> None:
        """Begin an episode."""
        if self._database is not None:
            self._database.close()
        self._database = sqlite3.connect(":memory:", isolation_level=None)
        self._database.executescript(self._script)

    def step(self, action: str) -> str:
        """The observation of a call."""
        call = json.loads(action)
        return json.dumps(self._answer(call["name"], call["arguments"]), ensure_ascii=False)

    def _answer(self, name: str, given: Row) -> object:
        if name == "submit":
            return "submitted"
        if name in ("complete_todo", "cancel_order"):
            table, change = (
                ("todo", "done = 1") if name == "complete_todo" else ("shop_order", "status = 'cancelled'")
            )
            key = next(iter(given.values()))
            return {"changed": self._run(f"UPDATE {table} SET {change} WHERE id = ?", key).rowcount}
        table, column = ("todo", "title") if name == "list_todos" else ("shop_order", "item")
        sql = f"SELECT * FROM {table} WHERE {column} LIKE ? ORDER BY id LIMIT {PAGE}"
        cursor = self._run(sql, f"%{given['query']}%")
        names = [described[0] for described in cursor.description]
        return {"items": [dict(zip(names, row, strict=True)) for row in cursor]}

    def _run(self, sql: str, value: object) -> sqlite3.Cursor:
        assert self._database is not None
        return self._database.execute(sql, (value,))
