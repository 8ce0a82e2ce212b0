"""Tasks whose effect depends on what is found, or that change every row of a rule."""

from collections import defaultdict

from agentgym_envs.assistant.clock import day
from agentgym_envs.assistant.content import names
from agentgym_envs.assistant.tasks import choices, lookups
from agentgym_envs.assistant.tasks.drafts import Draft, Final, Program, Setting, Template, call


def rain_move(setting: Setting) -> Draft | None:
    """Move the outdoor events of a rainy day indoors."""
    first = day(setting.random.randrange(1, 17))
    last, room = day(2, first), setting.random.choice(names.ROOMS)
    outdoors = setting.rows(
        "SELECT id, substr(start, 1, 10) AS date FROM event WHERE outdoor = 1 AND status = 'confirmed' "
        "AND start BETWEEN ? AND ? ORDER BY start, id",
        f"{first}T00:00",
        f"{last}T23:59",
    )
    if not 1 < len(outdoors) <= 6:
        return None
    rain = _rainy_days(setting, first, last)
    fitting = [city for city, days in rain.items() if _decides(outdoors, days, {first, last})]
    if not fitting:
        return None
    name = setting.random.choice(fitting)
    wet = [event["id"] for event in outdoors if event["date"] in rain[name]]

    def program() -> Program:
        weather = yield call("get_weather", city=name, start=first, end=last)
        days = {row["day"] for row in weather if row["rain"] > 0}
        found = yield call("list_events", start=f"{first}T00:00", end=f"{day(1, last)}T00:00", limit=50)
        for event in found["items"]:
            if event["outdoor"] and event["status"] == "confirmed" and event["start"][:10] in days:
                fields = {"location": room, "outdoor": False}
                yield call("update_event", event_id=event["id"], fields=fields)
        return Final()

    text = (
        f"Check the rain in {name} from {first} to {last}. Move every confirmed outdoor event of a day with "
        "rain "
        f'to "{room}", not outdoors any more; leave the others.'
    )
    return Draft(
        setting.say(text, f"We are in {name}. {text}"),
        program,
        ("calendar", "weather"),
        changes=frozenset(("event", key) for key in wet),
    )


def _rainy_days(setting: Setting, first: str, last: str) -> dict[str, set[str]]:
    """Rainy days of a period by city; without cities of the same name, and those that lack a day's data."""
    rows = setting.known(
        "SELECT name, group_concat(CASE WHEN rain > 0 THEN day END) FROM city JOIN weather_day ON city = id "
        "WHERE day BETWEEN ? AND ? AND (SELECT count(*) FROM city AS other WHERE other.name = city.name) = 1 "
        "GROUP BY id HAVING count(rain) = 3 ORDER BY name",
        first,
        last,
    )
    return {name: set((days or "").split(",")) for name, days in rows}


def _decides(outdoors: list[choices.Row], rainy: set[str], ends: set[str]) -> bool:
    """True if some of the outdoor events move, and not the first alone; one of them on the first or last day,
    so that the days of the period matter.
    """
    wet = [event for event in outdoors if event["date"] in rainy]
    return (
        0 < len(wet) < len(outdoors)
        and wet != outdoors[:1]
        and not ends.isdisjoint(event["date"] for event in wet)
    )


def conflict_resolve(setting: Setting) -> Draft | None:
    """Cancel the one of two overlapping events that fewer attend."""
    earlier = setting.random.random() < 0.5
    found = setting.rows(
        "SELECT a.id AS one, b.id AS two, trim(a.title) AS first, trim(b.title) AS second, "
        "(SELECT count(*) FROM attendee WHERE event_id = a.id) AS ones, "
        "(SELECT count(*) FROM attendee WHERE event_id = b.id) AS twos, "
        "(SELECT count(*) FROM attendee WHERE event_id = a.id AND response <> 'declined') AS coming_one, "
        "(SELECT count(*) FROM attendee WHERE event_id = b.id AND response <> 'declined') AS coming_two "
        "FROM event a JOIN event b "
        "ON a.start < b.start AND b.start < a.\"end\" AND a.status = b.status AND a.status = 'confirmed'"
    )
    # an earlier event that nobody attends is left out: no count is needed to cancel it
    # and so is a pair where it matters whether those who declined are counted.
    pairs = [
        pair
        for pair in found
        if pair["ones"]
        and (pair["ones"] < pair["twos"]) == (pair["coming_one"] < pair["coming_two"]) == earlier
    ]
    if not pairs:
        return None
    pair = setting.random.choice(pairs)
    fewer = pair["one"] if earlier else pair["two"]
    titles = [pair["first"], pair["second"]]
    setting.random.shuffle(titles)

    def program() -> Program:
        found = list[dict[str, object]]()
        for title in titles:
            event = yield from lookups.event(title)
            found.append((yield call("get_event", event_id=event["id"])))
        first, second = sorted(found, key=lambda event: str(event["start"]))
        few, many = (len(event["attendees"]) for event in (first, second))  # pyright: ignore
        yield call("cancel_event", event_id=first["id"] if few < many else second["id"])
        return Final()

    text = (
        f'"{titles[0]}" and "{titles[1]}" overlap. Cancel the one with fewer attendees; '
        "if they have equally many, the one that starts later."
    )
    return Draft(
        setting.say(text, f"Resolve a conflict: {text}"),
        program,
        ("calendar",),
        changes=frozenset({("event", fewer)}),
    )


def bulk_due(setting: Setting) -> Draft | None:
    """Shift the due dates of a project's open to-dos of one priority."""
    project, priority = choices.project(setting), setting.random.randrange(1, 5)
    count = setting.random.choice((1, 2, 3, 7))
    if project is None:
        return None
    rows = setting.rows(
        "SELECT id FROM todo WHERE project_id = ? AND priority = ? AND done = 0 AND due IS NOT NULL",
        project["id"],
        priority,
    )
    if not 1 < len(rows) < 7:
        return None
    name: str = project["name"]

    def program() -> Program:
        found = yield from lookups.project(name)
        todos = yield call("list_todos", project_id=found["id"], done=False, priority=priority, limit=50)
        for todo in todos["items"]:
            if todo["due"] is not None:
                yield call("update_todo", todo_id=todo["id"], fields={"due": day(count, todo["due"])})
        return Final()

    days = "1 day" if count == 1 else f"{count} days"
    text = setting.say(
        f'Move the due date of every open to-do of priority {priority} in the project "{name}" by {days}.',
        f'In the project "{name}", all open to-dos of priority {priority} are due {days} later. Change them.',
    )
    return Draft(
        f"{text} Leave those without a due date.",
        program,
        ("todos",),
        changes=frozenset(("todo", row["id"]) for row in rows),
    )


def mail_or_todo(setting: Setting) -> Draft | None:
    """Mail a person who has an event on a day, or else make a to-do; the person has days of both kinds."""
    busy, first, end = setting.random.random() < 0.5, day(1), day(20)
    invited = (
        "SELECT contact_id FROM attendee JOIN event ON event_id = event.id "
        f"WHERE start > '{first}' AND start < '{end}' AND status = 'confirmed' AND response <> 'declined'"
    )
    person, project = choices.person(setting, f"id IN ({invited})"), choices.project(setting)
    if person is None or project is None:
        return None
    taken = setting.rows(
        "SELECT substr(start, 1, 10) AS date, status = 'confirmed' AND response <> 'declined' AS sure "
        "FROM event JOIN attendee ON event_id = id WHERE contact_id = ?",
        person["id"],
    )
    # Whether somebody attends a cancelled event, or one that was declined, is left open.
    dates = {row["date"] for row in taken if row["sure"] or not busy}
    fitting = [date for date in map(day, range(1, 20)) if (date in dates) == busy]
    if not fitting:
        return None
    date = setting.random.choice(fitting)
    name, subject, body = str(person["name"]), choices.subject(setting), choices.sentence(setting)
    title, chosen = f"meet {name} about the {subject}", str(project["name"])

    def program() -> Program:
        who = yield from lookups.contact(name)
        span = {"start": f"{date}T00:00", "end": f"{day(1, date)}T00:00"}
        events = yield call("list_events", **span, contact_id=who["id"])
        if events["items"]:
            yield call("send_email", to=[who["email"]], subject=subject, body=body)
        else:
            where = yield from lookups.project(chosen)
            yield call("create_todo", project_id=where["id"], title=title)
        return Final()

    text = (
        f'If {name} attends an event on {date}, send a mail to {name} with the subject "{subject}" and the '
        "text "
        f'"{body}" Otherwise create the to-do "{title}" in the project "{chosen}".'
    )
    return Draft(
        setting.say(text, f"Look into the calendar. {text}"),
        program,
        ("contacts", "calendar", "mail", "todos"),
        changes=frozenset(),
    )


def sheet_totals(setting: Setting) -> Draft | None:
    """Write totals by category beside a sheet."""
    column = setting.random.choice((5, 6))
    words = "columns 5 and 6" if column == 5 else "columns 6 and 7"

    def program() -> Program:
        rows = yield call("read_sheet", sheet="expenses")
        totals = defaultdict[str, int](int)
        for _, category, amount in (row[:3] for row in rows[1:]):
            totals[category] += int(amount)
        cells = [
            {"row": line, "col": column + place, "value": value}
            for line, (category, total) in enumerate(sorted(totals.items()), 1)
            for place, value in enumerate((category, str(total)))
        ]
        yield call("write_cells", sheet="expenses", cells=cells)
        return Final()

    text = (
        f'the categories of the sheet "expenses" in alphabetical order and their total amounts into {words}'
    )
    return Draft(
        setting.say(f"Write {text}, from row 1.", f"Starting in row 1, put {text}."),
        program,
        ("sheets",),
        changes=frozenset(),
    )


def order_rule(setting: Setting) -> Draft | None:
    """Change the address of an order that is pending, or return one that was delivered."""
    order = choices.order(setting, "status IN ('pending', 'delivered')")
    if order is None:
        return None
    item, street = str(order["item"]), f"{setting.random.randrange(1, 99)} Harbor Lane"

    def program() -> Program:
        found = yield from lookups.order(item)
        if found["status"] == "pending":
            yield call("change_address", order_id=found["id"], address=street)
        else:
            yield call("return_order", order_id=found["id"])
        return Final()

    text = (
        f'the {item}: if the order is pending, change its address to "{street}"; '
        "if it was delivered, return it."
    )
    return Draft(
        setting.say(f"Look after {text}", f"About {text}"),
        program,
        ("orders",),
        changes=frozenset({("shop_order", order["id"])}),
    )


TEMPLATES: tuple[Template, ...] = (rain_move, bulk_due, mail_or_todo, sheet_totals, order_rule)
UNSEEN: tuple[Template, ...] = (conflict_resolve,)
"""In tests only."""
