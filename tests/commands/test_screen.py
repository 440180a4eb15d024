import io
import sys

from skdp.commands._screen import note, tell


def test_control_characters_have_no_effect(capsys):
    tell("first\nsecond\x1b[2J\r")
    note("a\x07b")
    out, err = capsys.readouterr()
    assert out == "first\nsecond\\x1b[2J\\r\n"
    assert err == "skdp: a\\x07b\n"


def test_a_screen_without_the_letters_gets_escapes(monkeypatch):
    screen = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", screen)
    tell("köln")
    assert screen.buffer.getvalue() == b"k\\xf6ln\n"
