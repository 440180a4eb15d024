"""Text from files, on a screen."""

from skdp.utils._text import inline


def test_only_what_does_not_print_is_escaped():
    assert inline("ε ≤ 1") == "ε ≤ 1"
    assert inline("a\r\x1b[2J\n\x07") == "a\\r\\x1b[2J\\n\\x07"
