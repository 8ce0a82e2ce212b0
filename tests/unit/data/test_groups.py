"""Groups by a key keep the order of what they hold."""

from agentevol.data.groups import by_key


def test_items_stand_under_their_key_in_the_order_of_the_first():
    found = by_key(["bb", "a", "cc", "d"], len)
    assert list(found.items()) == [(2, ["bb", "cc"]), (1, ["a", "d"])]
    assert by_key([], len) == {}
