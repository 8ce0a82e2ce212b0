"""A person at the playground: its forms are sent over HTTP, as a browser without scripts does."""

import re
import time
from html import unescape

import httpx

END = re.compile(r'<section id="end".*?</section>', re.DOTALL)
WAIT_S = 300.0


class Person:
    """Sends the forms of one server of web pages, and follows the pages that load themselves again."""

    def __init__(self, base: str) -> None:
        self._http = httpx.Client(base_url=base, follow_redirects=True, timeout=WAIT_S)
        self.page = ""
        """The page that is shown."""
        self.address = ""

    def see(self, address: str, **query: str) -> str:
        """Open a page."""
        return self._shown(self._http.get(address, params=query or None))

    def send(self, address: str, **fields: str) -> str:
        """Send a form."""
        return self._shown(self._http.post(address, data=fields))

    def send_only(self, address: str, **fields: str) -> int:
        """Send a form, and do not follow where it leads; the status of the reply."""
        return self._http.post(address, data=fields, follow_redirects=False).status_code

    def start(self, env: str, **options: str) -> str:
        """Start an environment, and wait for the list of its tasks."""
        return self.send(
            "/play/environments", env=env, **{f"option.{name}": text for name, text in options.items()}
        )

    def begin(self, **fields: str) -> str:
        """Begin an episode by the form of the page of tasks."""
        known = {name: value for name, value in self._hidden().items() if name in ("env", "setup", "split")}
        return self.send("/play", **{**known, **fields})

    def act(self, turn: int, action: str) -> str:
        """Act in a turn, and wait for what comes of it."""
        return self.send(self.address, turn=str(turn), action=action)

    @property
    def end(self) -> str:
        """The last part of the page of an episode, as text."""
        found = END.search(self.page)
        assert found is not None, self.page
        return " ".join(unescape(re.sub(r"<[^>]+>", " ", found[0])).split())

    def form_of(self, button: str) -> dict[str, str]:
        """Hidden fields of the form that has this button."""
        forms = re.findall(r"<form.*?</form>", self.page, re.DOTALL)
        return _fields(next(one for one in forms if f">{button}</button>" in one))

    def _hidden(self) -> dict[str, str]:
        return _fields(self.page)

    def _shown(self, reply: httpx.Response) -> str:
        end = time.monotonic() + WAIT_S
        while 'http-equiv="refresh"' in reply.text:
            assert time.monotonic() < end, reply.text
            time.sleep(0.2)
            reply = self._http.get(str(reply.url))
        self.page, self.address = reply.text, reply.url.path
        return self.page


def _fields(html: str) -> dict[str, str]:
    found = re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)">', html)
    return {name: unescape(value) for name, value in found}
