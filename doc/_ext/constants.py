"""Constants of estimates and the comments that say what chose them."""

import ast


def constants_of(path):
    """Yield name, value and comment of each constant with a number at the top of a file.

    A line without a comment belongs to the one directly above it.
    """
    lines = path.read_text().splitlines()
    previous_end, previous = 0, ""
    for node in ast.parse("\n".join(lines)).body:
        if not isinstance(node, ast.Assign):
            continue
        name = ast.unparse(node.targets[0]).strip("()")
        numbers = [n for n in ast.walk(node.value) if isinstance(n, ast.Constant)]
        if not name.isupper() or not any(type(n.value) in (int, float) for n in numbers):
            continue
        first = node.lineno - 1
        while first and lines[first - 1].startswith("#"):
            first -= 1
        comment = " ".join(line[2:] for line in lines[first : node.lineno - 1])
        after = lines[node.end_lineno - 1].partition("  # ")[2]
        comment = " ".join(filter(None, [comment, after]))
        if not comment and first == previous_end:
            comment = previous
        previous_end, previous = node.end_lineno, comment
        value = " ".join(ast.unparse(node.value).split())
        yield name, value if len(value) < 70 else "computed", comment
