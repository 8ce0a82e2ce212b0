"""Settings, sources and caches that the pages of one server share."""

from typing import Annotated

from fastapi import Depends, Request

from agentevol.ui.episodes.facets import Facets
from agentevol.ui.episodes.search import Searches
from agentevol.ui.feedback.tables import FeedbackTables
from agentevol.ui.kept import Kept
from agentevol.ui.library import Library
from agentevol.ui.playground.playground import Playground
from agentevol.ui.playground.table import table_beside
from agentevol.ui.reader.expert import Experts
from agentevol.ui.settings import UiSettings
from agentevol.ui.tables import Tables
from agentgym_store.statistics import Statistics


class Context:
    """Settings, sources, open tables, and results that are kept between requests."""

    def __init__(self, settings: UiSettings) -> None:
        self.settings = settings
        self.playground = Playground(table_beside(settings.paths), settings.search_s)
        self.library = Library(settings.paths, self.playground.table)
        self.tables = Tables()
        self.searches = Searches()
        self.facets: Kept[Facets] = Kept(32)
        self.statistics: Kept[Statistics] = Kept(32)
        self.feedback = FeedbackTables()
        self.experts = Experts(settings.expert_s)


def _context(request: Request) -> Context:
    return request.app.state.context


Shared = Annotated[Context, Depends(_context)]
"""Parameter of a route: the context of its server."""
