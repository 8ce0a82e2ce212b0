"""Tasks in which a call needs what another one returned."""

from statistics import fmean

from agentgym_envs.assistant.clock import day, later
from agentgym_envs.assistant.tasks import choices, lookups
from agentgym_envs.assistant.tasks.drafts import Draft, Final, Program, Setting, Template, call


def mail_person(setting: Setting) -> Draft | None:
    """Send a mail to a person known by name."""
    person = choices.person(setting)
    if person is None:
        return None
    name, subject, body = str(person["name"]), choices.subject(setting), choices.sentence(setting)

    def program() -> Program:
        found = yield from lookups.contact(name)
        yield call("send_email", to=[found["email"]], subject=subject, body=body)
        return Final()

    text = setting.say(
        f'Send {name} a mail with the subject "{subject}" and the text "{body}"',
        f'Write to {name}: subject "{subject}", text "{body}"',
    )
    return Draft(text, program, ("contacts", "mail"), changes=frozenset())


def reschedule(setting: Setting) -> Draft | None:
    """Move an event by days or hours."""
    event = choices.event(setting, "status = 'confirmed' AND start > '2026-03-03'")
    if event is None:
        return None
    title: str = event["title"]
    count, unit = setting.random.choice(((1, "day"), (2, "days"), (7, "days"), (1, "hour"), (2, "hours")))
    minutes = count * (60 if "hour" in unit else 24 * 60)

    def program() -> Program:
        found = yield from lookups.event(title)
        fields = {"start": later(found["start"], minutes), "end": later(found["end"], minutes)}
        yield call("update_event", event_id=found["id"], fields=fields)
        return Final()

    text = setting.say(
        f'Move "{title}" by {count} {unit}: later, same length.',
        f'"{title}" is {count} {unit} later than planned. Change its start and end.',
    )
    return Draft(text, program, ("calendar",), changes=frozenset({("event", event["id"])}))


def todo_first_due(setting: Setting) -> Draft | None:
    """Finish the open to-do of a project that is due first."""
    project = choices.project(setting)
    if project is None:
        return None
    rows = setting.rows(
        "SELECT id, due FROM todo WHERE project_id = ? AND done = 0 AND due IS NOT NULL ORDER BY due LIMIT 2",
        project["id"],
    )
    if len(rows) < 2 or rows[0]["due"] == rows[1]["due"]:
        return None
    name: str = project["name"]

    def program() -> Program:
        found = yield from lookups.project(name)
        todos = yield call("list_todos", project_id=found["id"], done=False, sort="due", limit=3)
        yield call("complete_todo", todo_id=todos["items"][0]["id"])
        return Final()

    text = setting.say(
        f'Finish the open to-do of the project "{name}" that is due first.',
        f'In the project "{name}", mark the open to-do with the earliest due date as done.',
    )
    return Draft(text, program, ("todos",), changes=frozenset({("todo", rows[0]["id"])}))


def reply_last(setting: Setting) -> Draft | None:
    """Reply to the latest mail of a person."""
    person = choices.person(setting, "email IN (SELECT sender FROM email)")
    if person is None:
        return None
    name, body = str(person["name"]), choices.sentence(setting)

    def program() -> Program:
        found = yield from lookups.contact(name)
        mail = yield from lookups.latest_mail(found["email"])
        subject = f"Re: {mail['subject']}"
        yield call("send_email", to=[found["email"]], subject=subject, body=body, reply_to=mail["id"])
        return Final()

    text = setting.say(f"Reply to the latest mail of {name}", f"Answer the newest mail that {name} sent me")
    text = f'{text} with the text "{body}" and the same subject after "Re: ".'
    return Draft(text, program, ("contacts", "mail"), changes=frozenset())


def todo_assign(setting: Setting) -> Draft | None:
    """Assign a to-do to a person."""
    person, todo = choices.person(setting), choices.todo(setting)
    if person is None or todo is None or todo["assignee"] == person["id"]:
        return None
    name, title = str(person["name"]), str(todo["title"])

    def program() -> Program:
        who = yield from lookups.contact(name)
        what = yield from lookups.todo(title)
        yield call("update_todo", todo_id=what["id"], fields={"assignee": who["id"]})
        return Final()

    text = setting.say(
        f'Assign the to-do "{title}" to {name}.', f'{name} takes over "{title}": change the to-do.'
    )
    return Draft(text, program, ("contacts", "todos"), changes=frozenset({("todo", todo["id"])}))


def invite_person(setting: Setting) -> Draft | None:
    """Add a person to an event."""
    person, event = (
        choices.person(setting),
        choices.event(setting, "status = 'confirmed' AND start > '2026-03-03'"),
    )
    if person is None or event is None:
        return None
    if setting.rows(
        "SELECT 1 FROM attendee WHERE event_id = ? AND contact_id = ?", event["id"], person["id"]
    ):
        return None
    name, title = str(person["name"]), str(event["title"])

    def program() -> Program:
        who = yield from lookups.contact(name)
        what = yield from lookups.event(title)
        yield call("add_attendees", event_id=what["id"], contact_ids=[who["id"]])
        return Final()

    text = setting.say(f'Invite {name} to "{title}".', f'{name} joins "{title}": add the attendee.')
    return Draft(text, program, ("contacts", "calendar"), changes=frozenset())


def weather_stat(setting: Setting) -> Draft | None:
    """Say the mean of a column of the weather over some days."""
    city = setting.random.choice(
        setting.known("SELECT min(id), name FROM city GROUP BY name HAVING count(*) = 1 ORDER BY name")
    )
    first = day(-setting.random.randrange(9, 25))
    last = day(setting.random.randrange(3, 7), first)
    column, words = setting.random.choice((("tmax", "maximum temperature"), ("tmin", "minimum temperature")))
    values = setting.known(
        f"SELECT {column} FROM weather_day WHERE city = ? AND day BETWEEN ? AND ?", city[0], first, last
    )
    if not values or any(value is None for (value,) in values):
        return None
    name: str = city[1]

    def program() -> Program:
        rows = yield call("get_weather", city=name, start=first, end=last)
        total = " + ".join(str(row[column]) for row in rows).replace("+ -", "- ")
        mean = yield call("calculate", expression=f"({total}) / {len(rows)}")
        return Final("answer", round(mean, 1))

    text = setting.say(
        f"What was the mean {words} in {name} from {first} to {last}?",
        f"Give me the average of the daily {words}s in {name} between {first} and {last}.",
    )
    return Draft(
        f"{text} Answer with a number of one decimal.",
        program,
        ("weather",),
        answer="number",
        tolerance=0.0501,
        expected=round(fmean(value for (value,) in values), 1),
        evidence={"weather_day": [(name, day(offset, first)) for offset in range(len(values))]},
    )


TEMPLATES: tuple[Template, ...] = (
    mail_person,
    reschedule,
    todo_first_due,
    reply_last,
    todo_assign,
    invite_person,
)
UNSEEN: tuple[Template, ...] = (weather_stat,)
"""In tests only."""
