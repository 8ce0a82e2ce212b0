"""Reading HTTP/1.1 replies, however they are cut into pieces."""

import pytest

from agentgym_client.socket_exchange import ReplyParser

SIZED = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX-A:  b \r\n\r\nhello"
CHUNKED = (
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2;x=y\r\nlo\r\n0\r\nTrailer: x\r\n\r\n"
)
INTERIM = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + SIZED


@pytest.mark.parametrize("data", [SIZED, CHUNKED, INTERIM])
@pytest.mark.parametrize("size", [1, 2, 7, 1000])
def test_a_reply_is_read_whole_from_pieces(data: bytes, size: int):
    parser = ReplyParser()
    replies = [parser.feed(data[start : start + size]) for start in range(0, len(data), size)]
    assert replies[:-1] == [None] * (len(replies) - 1)
    reply = replies[-1]
    assert reply is not None
    assert (reply.status, reply.body) == (200, b"hello")
    assert (parser.keep_alive, parser.left_over) == (True, False)


def test_header_names_are_in_lower_case_and_values_trimmed():
    reply = ReplyParser().feed(SIZED)
    assert reply is not None
    assert reply.headers == {b"content-length": b"5", b"x-a": b"b"}


def test_a_reply_without_length_ends_with_its_connection():
    parser = ReplyParser()
    assert parser.feed(b"HTTP/1.1 200 OK\r\n\r\nhello") is None
    reply = parser.end()
    assert reply is not None
    assert (reply.body, parser.keep_alive) == (b"hello", False)


@pytest.mark.parametrize("cut", [0, 10, len(SIZED) - 1])
def test_a_cut_reply_is_none(cut: int):
    parser = ReplyParser()
    assert parser.feed(SIZED[:cut]) is None
    assert parser.end() is None
    chunked = ReplyParser()
    assert chunked.feed(CHUNKED[:-1]) is None
    assert chunked.end() is None


@pytest.mark.parametrize(
    ("head", "keep_alive"),
    [
        (b"HTTP/1.1 204 No Content\r\n\r\n", True),
        (b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n", False),
        (b"HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n", False),
        (b"HTTP/1.0 200 OK\r\nContent-Length: 0\r\nConnection: keep-alive\r\n\r\n", True),
    ],
)
def test_whether_a_connection_may_be_used_again(head: bytes, keep_alive: bool):
    parser = ReplyParser()
    reply = parser.feed(head)
    assert reply is not None
    assert reply.body == b""
    assert parser.keep_alive is keep_alive


@pytest.mark.parametrize(
    "garbage",
    [
        b"SSH-2.0-OpenSSH\r\n\r\n",
        b"HTTP/1.1 abc\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"x" * 70000,
    ],
)
def test_garbage_is_an_error(garbage: bytes):
    with pytest.raises(ValueError):  # noqa: PT011 - whatever is said of it
        ReplyParser().feed(garbage)


def test_bytes_after_a_reply_are_noticed():
    parser = ReplyParser()
    assert parser.feed(SIZED + b"more") is not None
    assert parser.left_over
