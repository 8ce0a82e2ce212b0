"""Tasks of one effect or one fact."""

from agentgym_envs.assistant.content import names
from agentgym_envs.assistant.tasks import choices, lookups
from agentgym_envs.assistant.tasks.drafts import Draft, Final, Program, Setting, Template, call


def todo_done(setting: Setting) -> Draft | None:
    """Finish a to-do."""
    todo = choices.todo(setting)
    if todo is None:
        return None
    title: str = todo["title"]

    def program() -> Program:
        found = yield from lookups.todo(title)
        yield call("complete_todo", todo_id=found["id"])
        return Final()

    text = setting.say(f'Mark the to-do "{title}" as done.', f'I have finished "{title}": tick it off.')
    return Draft(text, program, ("todos",), changes=frozenset({("todo", todo["id"])}))


def event_when(setting: Setting) -> Draft | None:
    """Say when an event starts."""
    event = choices.event(setting)
    if event is None:
        return None
    title: str = event["title"]

    def program() -> Program:
        found = yield from lookups.event(title)
        return Final("answer", found["start"])

    text = setting.say(f'When does "{title}" start?', f'At what time is "{title}"?')
    return Draft(
        f"{text} Answer with a time, YYYY-MM-DDTHH:MM.",
        program,
        ("calendar",),
        answer="datetime",
        expected=event["start"],
        evidence={"event": [event["id"]]},
    )


def contact_phone(setting: Setting) -> Draft | None:
    """Say a person's phone number."""
    person = choices.person(setting, "phone IS NOT NULL")
    if person is None:
        return None
    name: str = person["name"]

    def program() -> Program:
        found = yield from lookups.contact(name)
        return Final("answer", found["phone"])

    text = setting.say(f"What is the phone number of {name}?", f"I need the phone number of {name}.")
    return Draft(
        f"{text} Answer with the number as it is written.",
        program,
        ("contacts",),
        answer="string",
        expected=person["phone"],
        evidence={"contact": [person["id"]]},
    )


def file_add(setting: Setting) -> Draft | None:
    """Create a file."""
    name, folder = f"{choices.subject(setting)}.txt", setting.random.choice(names.FOLDERS)
    if setting.rows("SELECT 1 FROM file WHERE name = ?", name):
        return None
    body = choices.sentence(setting)

    def program() -> Program:
        yield call("create_file", folder=folder, name=name, body=body)
        return Final()

    text = setting.say(
        f'Create the file "{name}" in the folder {folder} with the text "{body}"',
        f'Save the text "{body}" as "{name}" in {folder}.',
    )
    return Draft(text, program, ("files",), changes=frozenset())


def order_cancel(setting: Setting) -> Draft | None:
    """Cancel a pending order."""
    order = choices.order(setting, "status = 'pending' AND price <= 150")
    if order is None:
        return None
    item: str = order["item"]

    def program() -> Program:
        found = yield from lookups.order(item)
        yield call("cancel_order", order_id=found["id"])
        return Final()

    text = setting.say(
        f"Cancel my order of the {item}.", f"I do not want the {item} any more: cancel the order."
    )
    return Draft(text, program, ("orders",), changes=frozenset({("shop_order", order["id"])}))


TEMPLATES: tuple[Template, ...] = (todo_done, event_when, contact_phone, file_add, order_cancel)
