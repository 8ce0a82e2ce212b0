"""Tasks whose effect depends on what is found, or that change every row of a rule."""

from collections import defaultdict

from agentgym_envs.assistant.clock import day
from agentgym_envs.assistant.content import names
from agentgym_envs.assistant.tasks import choices, lookups
from agentgym_envs.assistant.tasks.drafts import Draft, Final, Program, Setting, Template, call


def rain_move(setting: Setting) -> Draft | None:
    """Move the outdoor events of a rainy day indoors."""
    city = setting.random.choice(
        setting.known("SELECT min(id), name FROM city GROUP BY name HAVING count(*) = 1 ORDER BY name")
    )
    first = day(setting.random.randrange(1, 12))
    last, room = day(2, first), setting.random.choice(names.ROOMS)
    rain = dict(
        setting.known(
            "SELECT day, rain FROM weather_day WHERE city = ? AND day BETWEEN ? AND ?", city[0], first, last
        )
    )
    outdoors = setting.rows(
        "SELECT id, start FROM event WHERE outdoor = 1 AND status = 'confirmed' AND start BETWEEN ? AND ?",
        f"{first}T00:00",
        f"{last}T23:59",
    )
    wet = [event["id"] for event in outdoors if (rain.get(event["start"][:10]) or 0) > 0]
    if None in rain.values() or len(rain) < 3 or not 0 < len(wet) < len(outdoors) or len(outdoors) > 6:
        return None
    name: str = city[1]

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


def conflict_resolve(setting: Setting) -> Draft | None:
    """Cancel the one of two overlapping events that fewer attend."""
    pairs = setting.rows(
        "SELECT a.id AS one, b.id AS two, trim(a.title) AS first, trim(b.title) AS second, "
        "(SELECT count(*) FROM attendee WHERE event_id = a.id) AS ones, "
        "(SELECT count(*) FROM attendee WHERE event_id = b.id) AS twos FROM event a JOIN event b "
        "ON a.start < b.start AND b.start < a.\"end\" AND a.status = b.status AND a.status = 'confirmed'"
    )
    if not pairs:
        return None
    pair = setting.random.choice(pairs)
    fewer = pair["one"] if pair["ones"] < pair["twos"] else pair["two"]
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
    """Mail a person who has an event on a day, or else make a to-do."""
    person, project = choices.person(setting), choices.project(setting)
    date, busy = day(setting.random.randrange(1, 20)), setting.random.random() < 0.5
    if person is None or project is None:
        return None
    has = setting.rows(
        'SELECT 1 FROM event JOIN attendee ON event_id = id WHERE contact_id = ? AND start < ? AND "end" > ?',
        person["id"],
        f"{day(1, date)}T00:00",
        f"{date}T00:00",
    )
    if bool(has) != busy:
        return None
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
