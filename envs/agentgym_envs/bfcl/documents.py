"""Documents of BFCL's functions, converted to tools.

> document = {
>     "name": "cd",
>     "description": "Change the folder.",
>     "parameters": {"type": "dict", "properties": {"folder": {"type": "string"}}, "required": ["folder"]},
> }
> tool_of("GorillaFileSystem", document).parameters
{'type': 'object', 'properties': {'folder': {'type': 'string'}}, 'required': ['folder'], 'additionalProperties': False}
"""  # noqa: E501 - a literal example

import json
import re
from collections.abc import Mapping
from functools import lru_cache, partial
from typing import Any, Protocol

from agentgym_envs.tooluse import Call, CallError, Tool, Toolset

FILES: dict[str, str] = {
    "GorillaFileSystem": "gorilla_file_system",
    "MathAPI": "math_api",
    "MessageAPI": "message_api",
    "TwitterAPI": "posting_api",
    "TicketAPI": "ticket_api",
    "TradingBot": "trading_bot",
    "TravelAPI": "travel_booking",
    "VehicleControlAPI": "vehicle_control",
}
"""Class of the simulated APIs to the name of its module, which is that of its file of documents too."""

TYPES = {"dict": "object", "float": "number"}
"""Types of the documents that JSON schema calls otherwise."""
NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,63}")
KEPT = ("description", "default", "required")
NO_DEFAULT = "None"
"""Default of the documents that stands for null."""

READS: dict[str, str] = {
    "GorillaFileSystem": "pwd ls cat find wc sort grep du tail diff",
    "MathAPI": "",
    "MessageAPI": """
        list_users get_user_id message_get_login_status view_messages_sent search_messages get_message_stats
    """,
    "TwitterAPI": """
        posting_get_login_status get_tweet get_user_tweets search_tweets get_tweet_comments get_user_stats
        list_all_following
    """,
    "TicketAPI": "get_ticket ticket_get_login_status get_user_tickets",
    "TradingBot": """
        get_current_time get_symbol_by_name get_stock_info get_order_details get_account_info
        trading_get_login_status get_watchlist get_order_history get_transaction_history get_available_stocks
        filter_stocks_by_price notify_price_change
    """,
    "TravelAPI": """
        travel_get_login_status get_budget_fiscal_year get_nearest_airport_by_city get_credit_card_balance
        retrieve_invoice get_booking_history list_all_airports compute_exchange_rate
        verify_traveler_information get_all_credit_cards
    """,
    "VehicleControlAPI": """
        displayCarStatus display_log get_outside_temperature_from_weather_com estimate_distance
        estimate_drive_feasibility_by_mileage liter_to_gallon gallon_to_liter get_zipcode_based_on_city
        check_tire_pressure find_nearest_tire_shop
    """,
}
"""Functions by class that leave the state as it is; those that draw random numbers do not."""


class Host(Protocol):
    """Holder of the instances on which functions are called."""

    def call(self, owner: str, name: str, arguments: Mapping[str, Any]) -> str:
        """The rendered result of a function of the class `owner`."""
        ...


def tool_of(owner: str, document: Mapping[str, Any]) -> Tool:
    """The tool of a function of the class `owner`. Raises `ValueError` for a document of another form."""
    try:
        name, parameters = document["name"], _schema(document["parameters"])
        if not NAME.fullmatch(name):
            raise ValueError(f"a document of {owner} names {name[:80]!r}, which is no public function")
        returns = _schema(document["response"]) if "response" in document else None
        return Tool(
            name=name,
            description=document["description"],
            parameters={"required": [], **parameters},
            kind="generic" if owner == "MathAPI" else "read" if name in READS[owner].split() else "write",
            run=partial(_run, owner, name),
            returns=returns,
        )
    except (KeyError, TypeError, AttributeError) as cause:
        raise ValueError(f"a document of {owner} has another form: {cause!r}") from None


def read_documents(owner: str, text: str) -> tuple[Tool, ...]:
    """The tools of a file of documents, a JSON object on each line. Raises `ValueError`."""
    return tuple(tool_of(owner, json.loads(line)) for line in text.split("\n") if line.strip())


class Documents:
    """Tools of all functions by class.

    `tools` raises `ValueError` where two functions of a task have the same name, or a class has no documents.
    """

    def __init__(self, texts: Mapping[str, str]) -> None:
        self.by_class = {owner: read_documents(owner, text) for owner, text in texts.items()}
        self.every = Toolset(tool for tools in self.by_class.values() for tool in tools)
        self.tools = lru_cache(maxsize=4096)(self._tools)

    def _tools(self, classes: tuple[str, ...], hidden: frozenset[str], textual_ids: bool) -> Toolset:
        """The tools of classes without the hidden ones; `textual_ids`: ids of tickets may be strings."""
        missing = [owner for owner in classes if owner not in self.by_class]
        if missing:
            raise ValueError(f"there are no documents of {missing[0]}")
        offered = Toolset(tool for owner in classes for tool in self.by_class[owner]).without(hidden)
        return Toolset(map(_with_textual_ids, offered.values())) if textual_ids else offered


def named_arguments(tool: Tool, call: Call) -> dict[str, Any]:
    """The arguments of a call by name: positional ones are in the documented order. Raises `CallError`."""
    names = list(tool.parameters["properties"])
    if len(call.positional) > len(names):
        raise CallError(
            "invalid_arguments", f"{tool.name} takes at most {len(names)} arguments", expected=names
        )
    found = dict(zip(names, call.positional, strict=False))
    twice = sorted(found.keys() & call.arguments.keys())
    if twice:
        raise CallError("invalid_arguments", f"argument {twice[0]!r} is given twice", argument=twice[0])
    return found | call.arguments


def _run(owner: str, name: str, host: Host, /, **arguments: Any) -> str:
    return host.call(owner, name, arguments)


def _schema(document: Mapping[str, Any]) -> dict[str, Any]:
    """The JSON schema of a document; objects with known members have no others."""
    schema: dict[str, Any] = {"type": TYPES.get(document["type"], document["type"])}
    if "properties" in document:
        schema["properties"] = {name: _schema(one) for name, one in document["properties"].items()}
        schema["additionalProperties"] = False
    if "items" in document:
        schema["items"] = _schema(document["items"])
    schema |= {key: document[key] for key in KEPT if key in document}
    if schema.get("default") == NO_DEFAULT:
        del schema["default"]
        schema["type"] = [schema["type"], "null"]
    return schema


def _with_textual_ids(tool: Tool) -> Tool:
    """A tool whose argument `ticket_id` may be a string too: in some worlds it is."""
    properties: Mapping[str, Any] = tool.parameters["properties"]
    if "ticket_id" not in properties:
        return tool
    ticket_id = {**properties["ticket_id"], "type": ["integer", "string"]}
    parameters = {**tool.parameters, "properties": {**properties, "ticket_id": ticket_id}}
    return Tool(tool.name, tool.description, parameters, tool.kind, tool.run, tool.returns)
