"""Write the pages of tables, and README.md of this folder, from the result files alone.

python benchmarks/tables.py
"""

import _howto
import _pages
from _store import HERE

# Where the pages of tables are, which the documentation shows.
SITE = HERE.parent / "doc" / "benchmarks"


def pages():
    """Return the text of each generated file, by its path."""
    found = {SITE / name: text for name, text in _pages.pages().items()}
    found[HERE / "README.md"] = _howto.page()
    # A spread stays with its mean where lines are short.
    joined = "\N{NO-BREAK SPACE}±\N{NO-BREAK SPACE}"
    return {path: text.replace(" ± ", joined) for path, text in found.items()}


if __name__ == "__main__":
    for path, text in pages().items():
        path.write_text(text)
