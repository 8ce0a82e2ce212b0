"""Built-in tasks of telecom: combinations of faults, each for several customers of the invented company.

Splits are disjoint in the combinations; those of one fault are all in `train`. Only combinations of one,
three or five faults are used, and of picture messages only those with `SHAPING`: the benchmark keeps others
for its own evaluation.
"""

from collections.abc import Iterator
from functools import cache
from random import Random

from agentgym_envs.tau.data.domain import Tasks
from agentgym_envs.tau.tasks import Scenario, TauTask
from agentgym_envs.tau.telecom.builtin.company import VERSION, company, subscribers
from agentgym_envs.tau.telecom.builtin.faults import SELECTIONS, Subscriber, combinations, combined

ENV = "tau-telecom"
SOURCE = "builtin"
SHARES = {"valid": 0.1, "test": 0.2}
"""Share of the combinations of several faults; the others are in `train`."""
CUSTOMERS_A_COMBINATION = 4
SIZES = {"service_issue": (1, 3, 5), "mobile_data_issue": (1, 3), "mms_issue": (1, 3)}
"""Numbers of faults."""
SHAPING = ("bad_wifi_calling", "break_apn_mms_setting")
"""Faults of which a task about picture messages with several faults has at least one."""
UNPUBLISHED = "data_usage_exceeded_no_refuel"
"""A fault that no published task has."""

COMPLAINTS = {
    "service_issue": (
        "The phone of the customer has had no service for some hours: calls do not go through.",
        "The customer can neither call nor be called; the phone shows no service.",
    ),
    "mobile_data_issue": (
        "The customer's mobile data does not work, or is very slow.",
        "Web pages do not load on the customer's phone, or take very long, without Wi-Fi.",
    ),
    "mms_issue": (
        "The customer's messaging app does not send picture messages (MMS).",
        "Picture messages (MMS) of the customer have failed since this morning.",
    ),
}
GOALS = {
    "service_issue": (
        "The customer allows you to pay all overdue bills. The issue is resolved when the status bar shows a"
        " signal."
    ),
    "mobile_data_issue": (
        "The customer does not change the plan, but adds 2.0 GB of data if that is needed. The issue is"
        " resolved when a speed test is excellent."
    ),
    "mms_issue": (
        "The customer does not change the plan, but adds 2.0 GB of data if that is needed. The issue is"
        " resolved when a picture message can be sent."
    ),
}


@cache
def builtin_tasks() -> Tasks:
    """The tasks, which all instances share."""
    splits: dict[str, list[TauTask]] = {split: [] for split in ("train", *SHARES)}
    for issue in SELECTIONS:
        for split, chosen in divided(issue).items():
            callers = [(faults, who) for faults in chosen for who in _callers(issue, faults)]
            for number, (faults, who) in enumerate(callers, start=len(splits[split])):
                splits[split].append(_task(split, number, issue, faults, who))
    return Tasks(splits, {SOURCE: company()}, f"builtin:{VERSION}")


def divided(issue: str) -> dict[str, list[tuple[str, ...]]]:
    """The combinations of an issue by split."""
    single = [faults for faults in _used(issue) if len(faults) == 1]
    others = [faults for faults in _used(issue) if len(faults) > 1]
    Random(f"agentevol.tau-telecom.{VERSION}.{issue}").shuffle(others)
    found: dict[str, list[tuple[str, ...]]] = {}
    start = 0
    for split, share in SHARES.items():
        count = round(share * len(others))
        found[split] = sorted(others[start : start + count])
        start += count
    return {"train": single + sorted(others[start:]), **found}


def _used(issue: str) -> Iterator[tuple[str, ...]]:
    for faults in combinations(issue):
        shaped = issue != "mms_issue" or len(faults) == 1 or any(one in SHAPING for one in faults)
        if len(faults) in SIZES[issue] and shaped and UNPUBLISHED not in faults:
            yield faults


def _callers(issue: str, faults: tuple[str, ...]) -> list[Subscriber]:
    draw = Random(f"agentevol.tau-telecom.{VERSION}.{issue}.{'|'.join(faults)}")
    return draw.sample(subscribers(), CUSTOMERS_A_COMBINATION)


def _task(split: str, number: int, issue: str, faults: tuple[str, ...], who: Subscriber) -> TauTask:
    parts = combined(issue, faults, who)
    complaint = COMPLAINTS[issue][number % len(COMPLAINTS[issue])]
    place = "abroad, in Portugal" if any("abroad" in one for one in faults) else "at home"
    facts = f"Customer: {who.name}, phone number {who.phone_number}, {place}."
    return TauTask(
        env=ENV,
        id=f"{split}/{number}",
        split=split,
        instruction=f"{complaint} {facts} {GOALS[issue]}",
        kind=issue,
        source=SOURCE,
        scenario=Scenario(
            reason=complaint.replace("The customer's", "My").replace("the customer's", "my"),
            known=f"You are {who.name}, phone number {who.phone_number}, {place}.",
            instructions=GOALS[issue],
        ),
        setup=parts.setup,
        gold=parts.gold,
        assertions=parts.assertions,
        basis=("ENV_ASSERTION", "ACTION") if parts.is_transfer else ("ENV_ASSERTION",),
    )
