"""Requests about tickets of a help desk."""

from random import Random
from typing import Any

from agentgym_envs.bfcl.generator.request import Domain, Request, call
from agentgym_envs.bfcl.generator.words import PEOPLE, REMEDIES, TITLES


class Tickets(Domain):
    """A queue of tickets, and a user of the help desk."""

    owner = "TicketAPI"

    def __init__(self, draw: Random) -> None:
        super().__init__(draw)
        self.user = draw.choice(PEOPLE).lower()
        self.first = draw.randint(10, 90)
        self.titles = list(draw.sample(TITLES, len(TITLES)))
        self.open = dict[int, str]()
        self.next = self.first

    def config(self) -> dict[str, object]:
        queue = [self._ticket(title) for title in self.titles[: self.draw.randint(2, 4)]]
        self.titles = self.titles[len(queue) :]
        return {"ticket_queue": queue, "ticket_counter": self.next, "current_user": None}

    def beginning(self) -> list[Request]:
        password = f"{self.draw.choice(TITLES).split()[0].lower()}{self.draw.randint(100, 999)}"
        says = f"Log me in to the tickets as '{self.user}' with the password '{password}'."
        return [Request(says, [call("ticket_login", username=self.user, password=password)])]

    def request(self) -> Request:
        makers = [self._listed]
        makers += [self._created] if self.titles else []
        makers += [self._shown, self._edited, self._resolved, self._closed] if self.open else []
        return self.draw.choice(makers)()

    def _created(self) -> Request:
        title, priority = self.titles.pop(), self.draw.randint(2, 5)
        self.open[self.next] = title
        self.next += 1
        text = f"{title}, since {self.draw.choice(('Monday', 'Tuesday', 'yesterday', 'last week'))}."
        says = f"Create a ticket titled '{title}' with the description '{text}' and priority {priority}."
        vague = f"Create a ticket titled '{title}' with the description '{text}'. Mind its priority."
        calls = [call("create_ticket", title=title, description=text, priority=priority)]
        return Request(says, calls, vague, f"Priority {priority}.")

    def _shown(self) -> Request:
        number = self._number()
        says, vague = f"Show me ticket {number}.", "Show me one of the tickets."
        return Request(says, [call("get_ticket", ticket_id=number)], vague, f"Number {number}.")

    def _edited(self) -> Request:
        number, priority = self._number(), self.draw.randint(1, 5)
        says = f"Change the priority of ticket {number} to {priority}."
        calls = [call("edit_ticket", ticket_id=number, updates={"priority": priority})]
        return Request(says, calls, f"Change the priority of ticket {number}.", f"To {priority}.")

    def _resolved(self) -> Request:
        number, text = self._number(), self.draw.choice(REMEDIES)
        del self.open[number]
        says = f"Resolve ticket {number} with the resolution '{text}'."
        calls = [call("resolve_ticket", ticket_id=number, resolution=text)]
        return Request(says, calls, f"Resolve ticket {number}.", f"The resolution is '{text}'.")

    def _closed(self) -> Request:
        number = self._number()
        del self.open[number]
        return Request(f"Close ticket {number}.", [call("close_ticket", ticket_id=number)])

    def _listed(self) -> Request:
        return Request("List all tickets that I have created.", [call("get_user_tickets")])

    def _number(self) -> int:
        return self.draw.choice(sorted(self.open))

    def _ticket(self, title: str) -> dict[str, Any]:
        number, creator = self.next, self.draw.choice((self.user, "front desk"))
        self.open[number] = title
        self.next += 1
        return {
            "id": number,
            "title": title,
            "description": f"{title}.",
            "status": "Open",
            "priority": 1,
            "created_by": creator,
        }
