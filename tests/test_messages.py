"""Messages are short: whoever meets one reads it while something else is on their mind."""

import ast
from pathlib import Path

import skdp

MOST_WORDS = 40
# Calls whose text somebody reads; a value that is put into the text counts as a word.
SAY = ("Error", "Warning", "warn", "note")


def text(node):
    """Return a message as it is written, None if it is written elsewhere."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else None
    if isinstance(node, ast.JoinedStr):
        return "".join(v.value if isinstance(v, ast.Constant) else "X" for v in node.values)
    if isinstance(node, ast.BinOp):
        return " ".join(filter(None, map(text, (node.left, node.right))))
    return None


def messages(path):
    """Yield the line and text of each message in a file."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call):
            name = getattr(node.func, "id", getattr(node.func, "attr", ""))
            for said in filter(None, map(text, node.args if name.endswith(SAY) else [])):
                yield node.lineno, said


def test_messages_have_at_most_forty_words():
    files = sorted(Path(skdp.__file__).parent.rglob("*.py"))
    found = [(path, line, said) for path in files for line, said in messages(path)]
    assert len(found) > 500
    long = [(p.name, line, said) for p, line, said in found if len(said.split()) > MOST_WORDS]
    assert long == []
