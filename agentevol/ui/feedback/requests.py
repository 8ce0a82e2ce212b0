"""Facts of a request that the pages with forms need."""

from fastapi import Request

from agentevol.data.feedback.opinions import trained_split
from agentevol.ui.feedback.shown import PageFacts
from agentevol.ui.library import Source
from agentevol.ui.person import known_name


def page_facts(request: Request) -> PageFacts:
    """The person, the page itself, and the record that has just been saved."""
    query = request.url.query
    back = f"{request.url.path}?{query}" if query else request.url.path
    return PageFacts(known_name(request), back, request.query_params.get("saved", ""))


def split_of(source: Source) -> str:
    """Split of the source whose episodes may be learnt from."""
    return trained_split(source.place)
