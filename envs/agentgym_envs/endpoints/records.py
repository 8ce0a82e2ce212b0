"""Records of an endpoint: `Endpoint` with its sampling and prices, and what a chat completion holds."""

from collections.abc import Mapping
from typing import Annotated, Any, Self
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    Field,
    StringConstraints,
    ValidationError,
    ValidatorFunctionWrapHandler,
    WrapValidator,
)

from agentgym_envs.core import DependencyFault, Record


class EndpointFault(DependencyFault):
    """An endpoint gave no usable answer: the episode fails, and is no reward."""

    kind = "partner"


def _address(url: str) -> str:
    """The address, if it has a host, a port that can be one, and no white space."""
    parts = urlsplit(url)  # raises `ValueError` for a broken IPv6 address
    if not parts.hostname or parts.port == 0 or not url.isprintable() or " " in url:
        raise ValueError("no address with a host, such as http://127.0.0.1:8000/v1")
    return url


class Endpoint(Record):
    """Address and sampling of a model behind an endpoint."""

    base_url: Annotated[str, StringConstraints(pattern=r"^https?://"), AfterValidator(_address)]
    """For example `http://127.0.0.1:8000/v1`."""
    model: str
    temperature: float = Field(default=0.0, ge=0)
    """Always sent: servers have defaults of their own."""
    max_tokens: int = Field(default=512, ge=1)
    timeout_s: float = Field(default=60.0, gt=0)
    """Limit of one request."""
    retries: int = Field(default=2, ge=0, le=10)
    """Further attempts after a failed request."""
    concurrency: int = Field(default=64, ge=1, le=4096)
    """Requests to this address at once in one process; later ones wait."""
    prompt_price: float | None = Field(default=None, ge=0)
    """Price of a million prompt tokens, in any currency."""
    completion_price: float | None = Field(default=None, ge=0)
    api_key_env: str = "OPENAI_API_KEY"
    """Environment variable with the key; none is sent where it is not set."""

    @classmethod
    def of(cls, given: "Self | Mapping[str, Any] | str") -> Self:
        """The endpoint of a record, of a table (`--option`), or of a JSON object as text (settings of a run).

        Raises `ValueError`, in one line.
        """
        if isinstance(given, cls):
            return given
        try:
            return cls.model_validate_json(given) if isinstance(given, str) else cls.model_validate(given)
        except ValidationError as cause:
            first = cause.errors()[0]
            place = ".".join(map(str, first["loc"])) or "value"
            told = first["msg"].removeprefix("Value error, ")
            raise ValueError(f"{cls.__name__}: {place}: {told}") from None

    @classmethod
    def checked(
        cls, given: "Self | Mapping[str, Any] | str | None"
    ) -> "Self | Mapping[str, Any] | str | None":
        """The same again, if `of` reads it or it is None. Raises `ValueError`, in one line."""
        if given is not None:
            cls.of(given)
        return given

    @property
    def host(self) -> str:
        """Host and port of the address, without a name or password."""
        return urlsplit(self.base_url).netloc.rpartition("@")[2]

    @property
    def longest_s(self) -> float:
        """Seconds to wait for a usable answer at most: those of all attempts, and as many for pauses and for
        requests before it.
        """
        return 2 * (self.retries + 1) * self.timeout_s

    @property
    def url(self) -> str:
        """Address of chat completions."""
        return f"{self.base_url.rstrip('/')}/chat/completions"

    @property
    def shown_url(self) -> str:
        """The address for messages and records, without a name or password."""
        return urlsplit(self.url)._replace(netloc=self.host).geturl()


class Function(Record, extra="ignore"):
    """Function that a model calls, as its answer tells it."""

    name: str
    arguments: str = "{}"


class ToolCall(Record, extra="ignore"):
    """Tool call of a model's answer."""

    id: str = ""
    function: Function


class Alternative(Record, extra="ignore"):
    """A token that might have been sampled, with its natural log-probability."""

    token: str
    logprob: float


class SampledToken(Alternative, extra="ignore"):
    """A sampled token, with the most probable ones of its position."""

    top_logprobs: tuple[Alternative, ...] = ()


class Said(Record, extra="ignore"):
    """Message of a model's answer."""

    content: str | None = None
    tool_calls: tuple[ToolCall, ...] | None = None
    tokens: tuple[SampledToken, ...] | None = None
    """Sampled tokens; None unless a request asked for their log-probabilities and the endpoint gave them."""


class Usage(Record, extra="ignore"):
    """Tokens of a request."""

    prompt_tokens: int = Field(ge=0)
    completion_tokens: int = Field(ge=0)


def _reported(given: Any, read: ValidatorFunctionWrapHandler) -> Any:
    """The value; None where it is not complete, which is no reason to lose the answer."""
    try:
        return read(given)
    except ValidationError:
        return None


class _Logprobs(Record, extra="ignore"):
    content: tuple[SampledToken, ...]


class _Choice(Record, extra="ignore"):
    message: Said
    logprobs: Annotated[_Logprobs | None, WrapValidator(_reported)] = None


class Completion(Record, extra="ignore"):
    """A chat completion."""

    choices: tuple[_Choice, ...] = Field(min_length=1)
    usage: Annotated[Usage | None, WrapValidator(_reported)] = None
    """None where none is reported, or one without both numbers."""

    @property
    def said(self) -> Said:
        """The message of the first choice."""
        first = self.choices[0]
        if first.logprobs is None:
            return first.message
        return first.message.model_copy(update={"tokens": first.logprobs.content})
