"""Check that each link of the built pages leads to a page and an anchor that exist.

python doc/_ext/check_links.py doc/_build
"""

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """What a page links to, and the anchors that it has."""

    def __init__(self, path):
        super().__init__()
        self.links, self.anchors = set(), set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        """Take note of an element."""
        attributes = dict(attrs)
        self.anchors |= {attributes.get("id"), attributes.get("name") if tag == "a" else None}
        for name in ("href", "src"):
            if attributes.get(name):
                self.links.add(attributes[name])


def broken_links(root):
    """Yield "page: link" for each link inside the site that leads nowhere."""
    pages = {
        path: Page(path) for path in sorted(root.rglob("*.html")) if "_static" not in path.parts
    }
    for path, page in pages.items():
        for link in sorted(page.links):
            parts = urlsplit(link)
            if parts.scheme or parts.netloc or not (parts.path or parts.fragment):
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            anchor = unquote(parts.fragment)
            missing = not target.exists()
            if missing or (anchor and target in pages and anchor not in pages[target].anchors):
                yield f"{path.relative_to(root)}: {link}"


if __name__ == "__main__":
    found = list(broken_links(Path(sys.argv[1]).resolve()))
    print("\n".join(found) or "all links inside the site lead to something")
    sys.exit(bool(found))
