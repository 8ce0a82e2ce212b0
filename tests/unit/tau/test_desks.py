"""Retail and airline on built-in data: rewards, errors, the strict option, both versions of the tools."""

import json
from typing import Any, cast

import pytest
from support.tau import call, played, texts

from agentgym_envs.core import StepResult
from agentgym_envs.tau.airline import TauAirline
from agentgym_envs.tau.airline.builtin.timetable import airline
from agentgym_envs.tau.airline.tools import TAU1_TOOLS as AIRLINE_TAU1
from agentgym_envs.tau.airline.tools import TAU2_TOOLS as AIRLINE_TAU2
from agentgym_envs.tau.data.domain import Domain, Tasks
from agentgym_envs.tau.desk import DeskEnvironment, DeskWorld
from agentgym_envs.tau.mock import TauMock
from agentgym_envs.tau.mock.tools import AGENT_TOOLS as MOCK_TOOLS
from agentgym_envs.tau.mock.tools import INBOX_TOOLS
from agentgym_envs.tau.retail import TauRetail
from agentgym_envs.tau.retail.builtin.shop import shop
from agentgym_envs.tau.retail.tools import TAU1_TOOLS, TAU2_TOOLS
from agentgym_envs.tau.tasks import Action, Scenario, TauTask, Version
from agentgym_envs.tau.telecom import TauTelecom
from agentgym_envs.tau.telecom.tools import AGENT_TOOLS, PHONE_TOOLS
from agentgym_envs.tooluse import CallError

DONE = call("done")

# A shop of one product with three variants, one user with three payment methods, and two orders.
SHOP: dict[str, dict[str, Any]] = {
    "products": {
        "P": {
            "name": "Mug",
            "product_id": "P",
            "variants": {
                "red": {"item_id": "red", "options": {"color": "red"}, "available": True, "price": 10.0},
                "blue": {"item_id": "blue", "options": {"color": "blue"}, "available": True, "price": 14.5},
                "gold": {"item_id": "gold", "options": {"color": "gold"}, "available": True, "price": 60.0},
                "none": {"item_id": "none", "options": {"color": "none"}, "available": False, "price": 1.0},
            },
        }
    },
    "users": {
        "ann_1": {
            "user_id": "ann_1",
            "name": {"first_name": "Ann", "last_name": "Lee"},
            "address": {"zip": "12345"},
            "email": "Ann@example.org",
            "payment_methods": {
                "card": {"source": "credit_card", "id": "card"},
                "gift_card_1": {"source": "gift_card", "id": "gift_card_1", "balance": 20.0},
                "paypal": {"source": "paypal", "id": "paypal"},
            },
            "orders": ["#W1", "#W2"],
        }
    },
    "orders": {
        number: {
            "order_id": number,
            "user_id": "ann_1",
            "address": {},
            "items": [
                {
                    "name": "Mug",
                    "product_id": "P",
                    "item_id": "red",
                    "price": 10.0,
                    "options": {"color": "red"},
                },
                {
                    "name": "Mug",
                    "product_id": "P",
                    "item_id": "red",
                    "price": 10.0,
                    "options": {"color": "red"},
                },
            ],
            "fulfillments": [],
            "status": status,
            "payment_history": [{"transaction_type": "payment", "amount": 20.0, "payment_method_id": "card"}],
        }
        for number, status in (("#W1", "pending"), ("#W2", "delivered"))
    },
}


def used(tools: Any, world: DeskWorld, name: str, **arguments: object) -> Any:
    """The result of a tool, or the text of its error."""
    try:
        return tools[name].run(world, **tools[name].check(arguments, ""))
    except CallError as error:
        return f"Error: {error.message}"


def tau1() -> DeskWorld:
    return DeskWorld(Domain(SHOP), "tau1")


def tau2() -> DeskWorld:
    return DeskWorld(Domain(SHOP), "tau2")


def test_both_versions_have_their_tools() -> None:
    assert (len(TAU1_TOOLS), len(TAU2_TOOLS)) == (16, 16)
    assert set(TAU1_TOOLS) ^ set(TAU2_TOOLS) == {"think", "get_item_details"}
    assert (len(AIRLINE_TAU1), len(AIRLINE_TAU2)) == (14, 14)
    assert set(AIRLINE_TAU1) ^ set(AIRLINE_TAU2) == {"think", "get_flight_status"}
    assert (TAU1_TOOLS["transfer_to_human_agents"].kind, TAU2_TOOLS["transfer_to_human_agents"].kind) == (
        "control",
        "generic",
    )


@pytest.mark.parametrize(
    ("options", "controls"),
    [
        ({}, {"reply", "done"}),
        ({"strict": True}, {"reply", "done", "submit_refusal"}),
        ({"user": "stub"}, set[str]()),
    ],
)
def test_the_declared_tools_are_those_that_may_be_called(options: dict[str, Any], controls: set[str]) -> None:
    assert set(TauRetail(**options).toolset) == set(TAU2_TOOLS) | controls
    assert set(TauAirline(**options).toolset) == set(AIRLINE_TAU2) | controls
    inbox = set[str]() if "user" in options else set(INBOX_TOOLS)
    assert set(TauMock(**options).toolset) == set(MOCK_TOOLS) | inbox | controls
    phone = set[str]() if "user" in options else {*PHONE_TOOLS, "done"}
    assert set(TauTelecom(**options).toolset) == set(AGENT_TOOLS) | phone


def test_tools_of_both_versions_are_declared_where_tasks_of_both_are_there() -> None:
    task = TauRetail().tasks("train")[0]
    tasks = {"test": [task, task.model_copy(update={"id": "t", "version": "tau1"})]}
    environment = TauRetail(sources=(Tasks(tasks, {}, "x"),))
    assert set(environment.toolset) == {*TAU2_TOOLS, "think", "reply", "done"}
    assert environment.tools == environment.toolset.functions


def test_users_are_found_without_regard_to_case() -> None:
    assert used(TAU2_TOOLS, tau2(), "find_user_id_by_email", email="ann@EXAMPLE.org") == "ann_1"
    names = {"first_name": "ANN", "last_name": "lee", "zip": "12345"}
    assert used(TAU2_TOOLS, tau2(), "find_user_id_by_name_zip", **names) == "ann_1"
    assert used(TAU2_TOOLS, tau2(), "find_user_id_by_email", email="x") == "Error: User not found"
    assert used(TAU1_TOOLS, tau1(), "find_user_id_by_email", email="x") == "Error: user not found"


def test_a_cancelled_order_is_refunded_to_what_paid_it() -> None:
    world = tau2()
    used(TAU2_TOOLS, world, "modify_pending_order_payment", order_id="#W1", payment_method_id="gift_card_1")
    assert world.tables["users"]["ann_1"]["payment_methods"]["gift_card_1"]["balance"] == 0.0
    used(TAU2_TOOLS, world, "cancel_pending_order", order_id="#W1", reason="no longer needed")
    order = world.tables["orders"]["#W1"]
    kinds = [(one["transaction_type"], one["payment_method_id"]) for one in order["payment_history"]]
    # Every earlier entry is refunded, the refund of the card too: as in the benchmark.
    assert kinds == [
        ("payment", "card"),
        ("payment", "gift_card_1"),
        ("refund", "card"),
        ("refund", "card"),
        ("refund", "gift_card_1"),
        ("refund", "card"),
    ]
    assert world.tables["users"]["ann_1"]["payment_methods"]["gift_card_1"]["balance"] == 20.0


# 2 items of 10.00: one becomes blue (14.50), the other gold (60.00): 4.50 + 50.00 = 54.50.
def test_each_changed_item_gets_its_own_price_and_with_quirks_the_last_ones() -> None:
    arguments = {"order_id": "#W1", "item_ids": ["red", "red"], "new_item_ids": ["blue", "gold"]}
    for world, quirks, prices in ((tau2(), False, [14.5, 60.0]), (tau2(), True, [60.0, 60.0])):
        world.quirks = quirks
        used(TAU2_TOOLS, world, "modify_pending_order_items", **arguments, payment_method_id="card")
        order = world.tables["orders"]["#W1"]
        assert [item["price"] for item in order["items"]] == prices
        assert order["payment_history"][1] == {
            "transaction_type": "payment",
            "amount": 54.5,
            "payment_method_id": "card",
        }
        again = used(TAU2_TOOLS, world, "modify_pending_order_items", **arguments, payment_method_id="card")
        assert again == "Error: Non-pending order cannot be modified"


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("get_order_details", {"order_id": "W1"}, "order not found"),
        (
            "cancel_pending_order",
            {"order_id": "#W2", "reason": "no longer needed"},
            "non-pending order cannot be cancelled",
        ),
        (
            "modify_pending_order_items",
            {"order_id": "#W1", "item_ids": ["red"], "new_item_ids": ["none"], "payment_method_id": "card"},
            "new item none not found or available",
        ),
        (
            "modify_pending_order_items",
            {"order_id": "#W1", "item_ids": ["blue"], "new_item_ids": ["red"], "payment_method_id": "card"},
            "blue not found",
        ),
        (
            "modify_pending_order_items",
            {
                "order_id": "#W1",
                "item_ids": ["red"],
                "new_item_ids": ["gold"],
                "payment_method_id": "gift_card_1",
            },
            "insufficient gift card balance to pay for the new item",
        ),
        (
            "modify_pending_order_payment",
            {"order_id": "#W1", "payment_method_id": "card"},
            "the new payment method should be different from the current one",
        ),
        (
            "modify_pending_order_payment",
            {"order_id": "#W1", "payment_method_id": "x"},
            "payment method not found",
        ),
        (
            "return_delivered_order_items",
            {"order_id": "#W2", "item_ids": ["red"], "payment_method_id": "paypal"},
            "payment method should be either the original payment method or a gift card",
        ),
        (
            "return_delivered_order_items",
            {"order_id": "#W2", "item_ids": ["red"] * 3, "payment_method_id": "card"},
            "some item not found",
        ),
        (
            "exchange_delivered_order_items",
            {"order_id": "#W2", "item_ids": ["red"], "new_item_ids": [], "payment_method_id": "card"},
            "the number of items to be exchanged should match",
        ),
        (
            "exchange_delivered_order_items",
            {
                "order_id": "#W2",
                "item_ids": ["red"],
                "new_item_ids": ["gold"],
                "payment_method_id": "gift_card_1",
            },
            "insufficient gift card balance to pay for the price difference",
        ),
        ("calculate", {"expression": "9**9"}, "invalid expression"),
        ("calculate", {"expression": "print(1)"}, "invalid characters in expression"),
    ],
)
def test_refused_calls_change_nothing(name: str, arguments: dict[str, Any], message: str) -> None:
    for world, tools in ((tau1(), TAU1_TOOLS), (tau2(), TAU2_TOOLS)):
        text = used(tools, world, name, **arguments)
        capital = message[0].upper() + message[1:]
        expected = message if world.is_tau1 or message == "invalid expression" else capital
        assert text == f"Error: {expected}"
        assert world.changes() == {}


def test_the_new_item_may_be_the_old_one_in_tau1_only() -> None:
    arguments = {"order_id": "#W1", "item_ids": ["red"], "new_item_ids": ["red"], "payment_method_id": "card"}
    assert (
        used(TAU1_TOOLS, tau1(), "modify_pending_order_items", **arguments)["status"]
        == "pending (item modified)"
    )
    assert used(TAU2_TOOLS, tau2(), "modify_pending_order_items", **arguments) == (
        "Error: The new item id should be different from the old item id"
    )


def test_returned_and_exchanged_items_are_listed_and_no_money_moves() -> None:
    world = tau2()
    arguments = {"item_ids": ["red", "red"], "new_item_ids": ["gold", "blue"], "payment_method_id": "card"}
    order = used(TAU2_TOOLS, world, "exchange_delivered_order_items", order_id="#W2", **arguments)
    assert (order["exchange_items"], order["exchange_new_items"]) == (["red", "red"], ["blue", "gold"])
    assert (order["status"], order["exchange_price_difference"]) == ("exchange requested", 54.5)
    assert len(order["payment_history"]) == 1


def booking(**changes: Any) -> dict[str, Any]:
    """The arguments of a sound booking of the first flight for one passenger."""
    number, flight = next(iter(airline().tables["flights"].items()))
    day = next(date for date, facts in flight["dates"].items() if facts["status"] == "available")
    user = next(iter(airline().tables["users"].values()))
    seats = {"economy": 3, **flight["dates"][day]["available_seats"]}
    cabin = next(name for name, left in seats.items() if left >= 1)
    card = next(key for key, one in user["payment_methods"].items() if one["source"] == "credit_card")
    price = flight["dates"][day]["prices"][cabin]
    return {
        "user_id": user["user_id"],
        "origin": flight["origin"],
        "destination": flight["destination"],
        "flight_type": "one_way",
        "cabin": cabin,
        "flights": [{"flight_number": number, "date": day}],
        "passengers": [{"first_name": "A", "last_name": "B", "dob": "1990-01-01"}],
        "payment_methods": [{"payment_id": card, "amount": price + 30 + 50}],
        "total_baggages": 1,
        "nonfree_baggages": 1,
        "insurance": "yes",
        **changes,
    }


def test_a_booking_takes_seats_in_tau2_and_not_in_tau1() -> None:
    arguments = booking()
    (chosen,) = arguments["flights"]
    seats = airline().tables["flights"][chosen["flight_number"]]["dates"][chosen["date"]]["available_seats"]
    for version, tools, taken in (("tau1", AIRLINE_TAU1, 0), ("tau2", AIRLINE_TAU2, 1)):
        world = DeskWorld(airline(), version)  # type: ignore[arg-type] - one of the two versions
        booked = used(tools, world, "book_reservation", **arguments)
        assert (booked["reservation_id"], booked["created_at"]) == ("HATHAT", "2024-05-15T15:00:00")
        now = world.tables["flights"][chosen["flight_number"]]["dates"][chosen["date"]]["available_seats"]
        assert seats[arguments["cabin"]] - now[arguments["cabin"]] == taken
        second = used(tools, world, "book_reservation", **arguments)
        assert second["reservation_id"] == "HATHAU"


def test_payments_have_to_add_up() -> None:
    arguments = booking()
    (payment,) = arguments["payment_methods"]
    right = payment["amount"]
    short = booking(payment_methods=[{**payment, "amount": right - 1}])
    world = DeskWorld(airline(), "tau1")
    assert used(AIRLINE_TAU1, world, "book_reservation", **short) == (
        f"Error: payment amount does not add up, total price is {right}, but paid {right - 1}"
    )
    assert world.changes() == {}


@pytest.mark.parametrize("version", ["tau1", "tau2"])
def test_a_certificate_pays_once_and_a_gift_card_up_to_its_balance(version: Version) -> None:
    environment = TauAirline()
    task = environment.tasks("train")[0].model_copy(update={"version": version})
    environment.reset(task, 0)
    arguments = booking()
    (payment,) = arguments["payment_methods"]
    methods = environment.state.tables["users"].edit(arguments["user_id"])["payment_methods"]
    methods["certificate_1"] = {"source": "certificate", "id": "certificate_1", "amount": 10**5}
    methods["gift_card_1"] = {"source": "gift_card", "id": "gift_card_1", "amount": payment["amount"] - 10}

    def booked(*payments: tuple[str, float]) -> str:
        paid = [{"payment_id": key, "amount": amount} for key, amount in payments]
        result = environment.step(call("book_reservation", **{**arguments, "payment_methods": paid}))
        return cast("StepResult", result).observation.text

    half = payment["amount"] / 2
    before = repr(environment.net_change())
    told = booked(("certificate_1", half), ("certificate_1", half)), booked(*[("gift_card_1", half)] * 2)
    texts_of = {
        "tau1": (
            "Error: certificate certificate_1 can be used only once",
            "Error: not enough balance in payment method gift_card_1",
        ),
        "tau2": (
            "Error: Certificate certificate_1 can be used only once",
            "Error: Not enough balance in payment method gift_card_1",
        ),
    }
    assert told == texts_of[version]
    assert repr(environment.net_change()) == before
    part = half - 10
    assert booked(("gift_card_1", part), ("gift_card_1", half), ("certificate_1", 10)).startswith("{")
    left = environment.state.tables["users"][arguments["user_id"]]["payment_methods"]
    assert ("certificate_1" in left, left["gift_card_1"]["amount"]) == (False, 0)


@pytest.mark.parametrize("quirks", [False, True])
def test_gold_calls_win_with_the_benchmarks_mistake_and_without(quirks: bool) -> None:
    """With it, the last variant's price and options are in all changed items: of the gold solution too."""
    arguments = {"order_id": "#W1", "item_ids": ["red", "red"], "new_item_ids": ["blue", "gold"]}
    action = Action(name="modify_pending_order_items", arguments={**arguments, "payment_method_id": "card"})
    task = TauTask(
        **{"env": "tau-retail", "id": "t", "split": "test", "instruction": "-", "source": "tau2"},
        gold=(action,),
    )
    source = Tasks({"test": [task]}, {"tau2": Domain(SHOP, policies={"policy": "-"})}, "x")
    environment = TauRetail(upstream_quirks=quirks, sources=(source,))
    assert played(environment, task, environment.expert(task) or []).reward == 1
    items = environment.gold(task).changes["orders"]["#W1"]["items"]  # type: ignore[index]
    assert [one["price"] for one in items] == ([60.0, 60.0] if quirks else [14.5, 60.0])


@pytest.mark.parametrize("kind", [TauRetail, TauAirline])
def test_experts_win_every_built_in_task_and_doing_nothing_none(kind: type[DeskEnvironment]) -> None:
    environment = kind()
    before = repr((shop().tables, airline().tables))
    for split in environment.splits:
        for task in environment.tasks(split):
            assert played(environment, task, environment.expert(task) or []).reward == 1
            assert played(environment, task, [DONE]).reward == 0
    assert repr((shop().tables, airline().tables)) == before


def test_a_reply_counts_if_it_is_short_and_has_the_number_as_a_whole() -> None:
    environment = TauRetail()
    task = next(one for one in environment.tasks("train") if one.kind == "question")
    (amount,) = task.communicate
    look = (environment.expert(task) or [])[:2]

    def told(text: str) -> tuple[float, float]:
        end = played(environment, task, [*look, call("reply", text=text), DONE])
        return end.reward, end.info["upstream_reward"]

    assert told(f"You paid ${amount}.") == (1.0, 1.0)
    assert told(f"You paid 9{amount}.") == (0.0, 1.0)
    assert told(f"You paid {amount}. " + "." * 600) == (0.0, 1.0)
    assert told("You paid.") == (0.0, 0.0)


def idle_source(version: str = "tau2") -> Tasks:
    """One task whose gold solution changes nothing."""
    task = TauTask.model_validate(
        {
            "env": "tau-retail",
            "id": "idle",
            "split": "train",
            "instruction": "Cancel #W2.",
            "source": "tau2",
            "version": version,
            "scenario": Scenario(reason="You want to cancel #W2."),
            "gold": (Action(name="transfer_to_human_agents", arguments={"summary": "no"}),),
            "trainable": False,
        }
    )
    return Tasks({"train": [task]}, {"tau2": Domain(SHOP)}, "idle")


def test_strict_asks_for_an_explicit_refusal_where_nothing_may_change() -> None:
    source = idle_source()
    plain, strict = TauRetail(sources=(source,)), TauRetail(sources=(source,), strict=True)
    (task,) = plain.tasks("train")
    refuse = call("submit_refusal", reason="-")
    assert played(plain, task, [DONE]).reward == 1
    assert played(plain, task, [refuse, DONE]).reward == 1  # there is no such tool: the end counts
    assert played(strict, task, [DONE]).info["outcome"] == "no_submit"
    assert played(strict, task, [refuse]).reward == 1
    assert TauRetail(sources=(source,), trainable=True).tasks("train") == []


def test_a_transfer_ends_an_episode_of_tau1_only() -> None:
    transfer = call("transfer_to_human_agents", summary="-")
    for version, ended in (("tau1", True), ("tau2", False)):
        environment = TauRetail(sources=(idle_source(version),))
        (task,) = environment.tasks("train")
        assert played(environment, task, [transfer]).terminated == ended


def test_records_are_shown_as_json() -> None:
    environment = TauRetail()
    task = environment.tasks("train")[0]
    shown = texts(environment, task, [call("get_user_details", user_id=task.user_id)])
    assert json.loads(shown[0]) == shop().tables["users"][task.user_id]
