"""The invented company: plans, customers, lines, devices and bills, in the benchmark's schema."""

from datetime import date, timedelta
from functools import cache
from random import Random
from typing import Any

from agentgym_envs.tau.data.domain import Domain
from agentgym_envs.tau.telecom.builtin.faults import Subscriber
from agentgym_envs.tau.telecom.world import completed
from agentgym_envs.tooluse.tables import Row

VERSION = "1"
"""Part of the seed: another generator makes another company."""
CUSTOMERS = 24
FIRST_NAMES = (
    *("Adela", "Bruno", "Celia", "Darius", "Edda", "Farid", "Greta", "Hakim", "Ilka", "Jorun", "Kasimir"),
    *("Leontine", "Marek", "Nadia", "Oskar", "Petra", "Quirin", "Rosalind", "Severin", "Tilda", "Ulrich"),
    *("Valeria", "Wenzel", "Yara"),
)
LAST_NAMES = (
    *("Abendroth", "Birkeland", "Castellan", "Dornfeld", "Eskildsen", "Fennimore", "Grabowski", "Hollander"),
    *("Iversen", "Jankovic", "Kestrel", "Lindqvist", "Mondragon", "Norwood", "Oberlin", "Pettersen"),
    *(
        "Quillfeather",
        "Rademacher",
        "Sandoval",
        "Thistlewood",
        "Umbriel",
        "Vandermeer",
        "Westergaard",
        "Zapolya",
    ),
)
STREETS = ("Alder Lane", "Beacon Row", "Cooper Street", "Dovecote Way", "Elmfield Road", "Foundry Street")
TOWNS = (("Harrowgate", "OR", "97"), ("Millbrook Falls", "VT", "05"), ("Port Ansel", "ME", "04"))
PLANS = (
    ("P2001", "Spruce 4", 4.0, 25.0, 4.0),
    ("P2002", "Larch 12", 12.0, 45.0, 2.5),
    ("P2003", "Cedar 30", 30.0, 70.0, 1.5),
    ("P2004", "Alder 80", 80.0, 95.0, 1.0),
)
"""Id, name, data limit in GB, price in USD a month, price in USD of a further GB."""
MODELS = ("Corvid 7", "Corvid 7 Mini", "Heron Note", "Plover X", "Siskin 3")
TODAY = date(2025, 2, 25)


@cache
def company() -> Domain:
    """The base state, which all tasks share."""
    draw = Random(f"agentevol.tau-telecom.{VERSION}")
    tables: dict[str, dict[str, Row]] = {
        "plans": {row[0]: _plan(*row) for row in PLANS},
        "devices": {},
        "lines": {},
        "bills": {},
        "customers": {},
    }
    for number in range(CUSTOMERS):
        _add_customer(tables, number, draw)
    return Domain(completed(tables))


@cache
def subscribers() -> tuple[Subscriber, ...]:
    """The customers who call, each with the line of the phone."""
    tables = company().tables
    return tuple(
        _subscriber(customer, tables["lines"][customer["line_ids"][0]], number)
        for number, customer in enumerate(tables["customers"].values())
    )


def _subscriber(customer: Row, line: Row, number: int) -> Subscriber:
    return Subscriber(
        customer_id=customer["customer_id"],
        line_id=line["line_id"],
        name=customer["full_name"],
        phone_number=line["phone_number"],
        data_limit_gb=company().tables["plans"][line["plan_id"]]["data_limit_gb"],
        data_refueling_gb=line["data_refueling_gb"],
        bill_id=f"B{70_001 + number}",
    )


def _plan(plan_id: str, name: str, limit: float, price: float, per_gb: float) -> Row:
    return {
        "plan_id": plan_id,
        "name": name,
        "data_limit_gb": limit,
        "price_per_month": price,
        "data_refueling_price_per_gb": per_gb,
    }


def _add_customer(tables: dict[str, dict[str, Row]], number: int, draw: Random) -> None:
    customer_id = f"C{3001 + number}"
    first, last = FIRST_NAMES[number], LAST_NAMES[(number * 7) % len(LAST_NAMES)]
    town, state, zip_start = draw.choice(TOWNS)
    born = date(1950, 1, 1) + timedelta(days=draw.randrange(20_000))
    lines = [_add_line(tables, draw, of_caller=place == 0) for place in range(draw.randint(1, 3))]
    bills = _add_bills(tables, customer_id, lines, draw)
    tables["customers"][customer_id] = {
        "customer_id": customer_id,
        "full_name": f"{first} {last}",
        "date_of_birth": born.isoformat(),
        "email": f"{first}.{last}@example.org".lower(),
        "phone_number": tables["lines"][lines[0]]["phone_number"],
        "address": {
            "street": f"{draw.randint(1, 240)} {draw.choice(STREETS)}",
            "city": town,
            "state": state,
            "zip_code": f"{zip_start}{draw.randint(100, 999)}",
        },
        "account_status": "Active",
        "payment_methods": [
            {
                "method_type": draw.choice(("Credit Card", "Debit Card", "PayPal")),
                "account_number_last_4": f"{draw.randrange(10_000):04d}",
                "expiration_date": f"{draw.randint(1, 12):02d}/{draw.randint(2026, 2029)}",
            }
        ],
        "line_ids": lines,
        "bill_ids": bills,
        "created_at": f"2024-{draw.randint(1, 12):02d}-{draw.randint(1, 28):02d}T09:00:00",
        "goodwill_credit_used_this_year": 0.0,
    }


def _add_line(tables: dict[str, dict[str, Row]], draw: Random, *, of_caller: bool) -> str:
    """A line with its device; that of the caller is active and has data left."""
    number = len(tables["lines"])
    line_id, device_id = f"L{4001 + number}", f"D{5001 + number}"
    plan = draw.choice(list(tables["plans"].values()))
    tables["devices"][device_id] = {
        "device_id": device_id,
        "device_type": "phone",
        "model": draw.choice(MODELS),
        "imei": f"{draw.randrange(10**15):015d}",
        "is_esim_capable": draw.random() < 0.7,
        "activated": True,
        "activation_date": f"2024-{draw.randint(1, 12):02d}-{draw.randint(1, 28):02d}T10:00:00",
    }
    row: dict[str, Any] = {
        "line_id": line_id,
        "phone_number": f"555-{210 + number}-{draw.randint(1000, 9999)}",
        "status": "Active" if of_caller else draw.choice(("Active", "Active", "Suspended")),
        "plan_id": plan["plan_id"],
        "device_id": device_id,
        "data_used_gb": round(plan["data_limit_gb"] * draw.uniform(0.1, 0.9), 1),
        "data_refueling_gb": 0.0,
        "roaming_enabled": draw.random() < 0.5,
        "contract_end_date": f"{draw.randint(2026, 2028)}-{draw.randint(1, 12):02d}-28",
        "last_plan_change_date": f"2024-{draw.randint(1, 12):02d}-01",
    }
    if row["status"] == "Suspended":
        row["suspension_start_date"] = (TODAY - timedelta(days=draw.randint(3, 90))).isoformat()
    tables["lines"][line_id] = row
    return line_id


def _add_bills(
    tables: dict[str, dict[str, Row]], customer_id: str, lines: list[str], draw: Random
) -> list[str]:
    """The bills of the last months, paid, and for some customers a draft of the next one."""
    found = list[str]()
    months = [("2024-12-01", "2024-12-31", "Paid"), ("2025-02-01", "2025-02-28", "Issued")]
    if draw.random() < 0.5:
        months.append(("2025-03-01", "2025-03-31", "Draft"))
    for start, end, status in months:
        bill_id = f"B{6001 + len(tables['bills'])}"
        items = [_plan_charge(tables, line, start) for line in lines]
        tables["bills"][bill_id] = {
            "bill_id": bill_id,
            "customer_id": customer_id,
            "period_start": start,
            "period_end": end,
            "issue_date": start,
            "total_due": sum(item["amount"] for item in items),
            "due_date": f"{start[:8]}15",
            "line_items": items,
            "status": status,
        }
        found.append(bill_id)
    return found


def _plan_charge(tables: dict[str, dict[str, Row]], line_id: str, day: str) -> dict[str, Any]:
    line = tables["lines"][line_id]
    plan = tables["plans"][line["plan_id"]]
    return {
        "description": f"{plan['name']} - Line {line['phone_number']}",
        "amount": plan["price_per_month"],
        "date": day,
        "item_type": "Plan Charge",
    }
