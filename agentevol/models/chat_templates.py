"""Arguments of chat templates besides the messages: the template's own variables, and the date.

    {%- if enable_thinking is defined and enable_thinking is false %}<think>\\n\\n</think>\\n\\n{%- endif %}

reads `enable_thinking`, which `engine.chat_template_kwargs.enable_thinking = false` sets.
"""

from collections.abc import Mapping
from datetime import date
from inspect import signature
from typing import TYPE_CHECKING, Any

from agentevol.core.errors import ConfigError

if TYPE_CHECKING:
    from jinja2 import Environment
    from transformers import PreTrainedTokenizerBase

TODAY = date(2024, 7, 26)
"""Date for templates that ask for the current one: equal runs read equal tokens on any day. Llama 3's
templates use this date by default; `date_string` sets another.
"""

GIVEN = frozenset({"messages", "raise_exception", "strftime_now"})
"""Variables that the renderer gives to every template."""


def check_arguments(tokenizer: "PreTrainedTokenizerBase", arguments: Mapping[str, Any]) -> None:
    """Raise `ConfigError` for an argument that the tokenizer's template does not read, or that users may not
    set.
    """
    read = variables(tokenizer.get_chat_template(tools=arguments.get("tools"))) - _reserved(tokenizer)
    for name in arguments:
        if name not in read:
            known = ", ".join(sorted(read)) or "none"
            raise ConfigError(
                f"chat_template_kwargs.{name} has no effect: the chat template reads no such variable (it"
                f" reads: {known}); leave it out"
            )


def variables(template: str) -> frozenset[str]:
    """Names that a template reads and does not set itself, without jinja's own functions."""
    from jinja2 import TemplateError
    from jinja2.meta import find_undeclared_variables

    try:
        return frozenset(find_undeclared_variables(_environment().parse(template)))
    except TemplateError as cause:
        raise ConfigError(
            f"the chat template cannot render anything, it is not valid jinja: {cause}"
        ) from cause


def today(style: str) -> str:
    """`strftime_now` of templates, with a constant date."""
    return TODAY.strftime(style)


def _reserved(tokenizer: "PreTrainedTokenizerBase") -> frozenset[str]:
    """Names of the renderer's own parameters; a user may set `tools` and `documents`."""
    own = signature(tokenizer.apply_chat_template).parameters.keys() - {"tools", "documents"}
    return GIVEN | own


def _environment() -> "Environment":
    """jinja environment for the extensions of transformers: loop controls, and blocks that mark the
    assistant's text.
    """
    from jinja2 import Environment
    from jinja2.ext import Extension, loopcontrols

    class Generation(Extension):
        tags = {"generation"}  # noqa: RUF012 - jinja's own declaration

        def parse(self, parser: Any) -> Any:
            next(parser.stream)
            return parser.parse_statements(["name:endgeneration"], drop_needle=True)

    return Environment(extensions=[loopcontrols, Generation])
