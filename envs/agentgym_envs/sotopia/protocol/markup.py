"""Markup of profiles: tags in scenarios and goals that say who reads what.

Only profiles are scanned, never what agents say: the package's renderer runs on utterances too, and loses
text with `<` in it.
"""

import re

Viewer = str
"""`environment`, whose text the judge reads, or `agent_0` and `agent_1`."""

_HINTS = re.compile(r"</?(?:extra_info|strategy_hint|clarification_hint)>")
_PRIVATE = re.compile(r"""<p viewer=(["'])(environment|agent_\d+)\1>(.*?)</p>""", re.DOTALL)


def shown_to(viewer: Viewer, text: str) -> str:
    """The text that `viewer` reads: hints without their tags, paragraphs of other viewers left out.

    The environment reads the paragraphs of all. Everything else stays as it is; white space before a removed
    paragraph too.
    """
    if viewer == "environment":
        return untagged(text)
    private = _PRIVATE.sub(lambda found: found[3] if found[2] == viewer else "", text)
    return _HINTS.sub("", private)


def untagged(text: str) -> str:
    """The text without any tag, paragraphs of all viewers included, as AMPO's code shows it to agents."""
    return _HINTS.sub("", _PRIVATE.sub(lambda found: found[3], text))
