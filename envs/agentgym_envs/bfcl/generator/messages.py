"""Requests about messages to colleagues."""

from random import Random

from agentgym_envs.bfcl.generator.request import Domain, Request, call
from agentgym_envs.bfcl.generator.words import PEOPLE, WORDS


class Messages(Domain):
    """Colleagues with ids, and what the user has written to them."""

    owner = "MessageAPI"

    def __init__(self, draw: Random) -> None:
        super().__init__(draw)
        names = draw.sample(PEOPLE, 5)
        self.ids = {name: f"USR{number:03}" for number, name in enumerate(names, start=1)}
        self.me, *self.others = names
        self.sent = [(draw.choice(self.others), self._text()) for _ in range(draw.randint(2, 4))]

    def config(self) -> dict[str, object]:
        return {
            "random_seed": self.draw.randrange(1_000_000),
            "user_count": len(self.ids),
            "user_map": dict(self.ids),
            "inbox": [{self.ids[name]: text} for name, text in self.sent],
            "message_count": len(self.sent),
            "current_user": None,
        }

    def beginning(self) -> list[Request]:
        says = f"Look up my user id, I am {self.me}, and log me in to the messages."
        calls = [call("get_user_id", user=self.me), call("message_login", user_id=self.ids[self.me])]
        return [Request(says, calls)]

    def request(self) -> Request:
        makers = (self._send, self._view, self._search, self._add, self._statistics, self._delete)
        return self.draw.choice(makers)()

    def _send(self) -> Request:
        name, text = self.draw.choice(self.others), self._text()
        self.sent.append((name, text))
        calls = [
            call("get_user_id", user=name),
            call("send_message", receiver_id=self.ids[name], message=text),
        ]
        says = f"Look up the id of {name} and send them exactly this: '{text}'"
        vague = f"Look up the id of {name} and send them my message."
        return Request(says, calls, vague, f"The message is exactly this: '{text}'")

    def _delete(self) -> Request:
        receivers = sorted({name for name, _ in self.sent})
        if not receivers:
            return self._send()
        name = self.draw.choice(receivers)
        place = max(number for number, (receiver, _) in enumerate(self.sent) if receiver == name)
        del self.sent[place]
        says = f"Look up the id of {name} and delete my latest message to them."
        calls = [call("get_user_id", user=name), call("delete_message", receiver_id=self.ids[name])]
        return Request(says, calls)

    def _view(self) -> Request:
        return Request("Show me all messages that I have sent.", [call("view_messages_sent")])

    def _search(self) -> Request:
        word = self.draw.choice(WORDS)
        says, vague = f"Search my messages for '{word}'.", "Search my messages for a word."
        return Request(says, [call("search_messages", keyword=word)], vague, f"The word is '{word}'.")

    def _add(self) -> Request:
        name = self.draw.choice([name for name in PEOPLE if name not in self.ids])
        self.ids[name] = f"USR{len(self.ids) + 1:03}"
        self.others = [*self.others, name]
        says, vague = f"Add {name} to my contacts.", "Add a colleague to my contacts."
        return Request(says, [call("add_contact", user_name=name)], vague, f"The name is {name}.")

    def _statistics(self) -> Request:
        return Request("Give me the statistics of my messages.", [call("get_message_stats")])

    def _text(self) -> str:
        return " ".join(self.draw.choices(WORDS, k=6))
