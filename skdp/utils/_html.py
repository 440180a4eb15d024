"""HTML tables that look alike in notebooks and on web pages, light or dark."""

from html import escape

from skdp.utils._validation import inline

# Styles of the elements themselves, which notebooks' own style sheets do not override. Colors are
# those of the surroundings, and gray lines can be seen on white and on black.
_LINE = "1px solid rgba(128, 128, 128, 0.4)"
_TABLE = "border-collapse: collapse; margin: 0.4em 0; color: inherit; background: transparent"
_CELL = (
    f"text-align: left; vertical-align: top; padding: 0.25em 0.8em 0.25em 0; border: 0; "
    f"border-bottom: {_LINE}; color: inherit; background: transparent; white-space: normal"
)
_NUMBER = f"{_CELL}; text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap"
_TERM = f"{_CELL}; font-weight: 600; min-width: 7em"


def as_html(text):
    """Return untrusted text as HTML: nothing of it is markup, and its lines stay lines."""
    return "<br>".join(escape(inline(line)) for line in str(text).split("\n"))


def definitions(pairs):
    """Return a table of terms and their descriptions, untrusted texts, as HTML."""
    lines = "".join(
        f'<tr style="background: transparent"><th scope="row" style="{_TERM}">{as_html(term)}</th>'
        f'<td style="{_CELL}">{as_html(text)}</td></tr>'
        for term, text in pairs
    )
    return f'<table class="skdp-definitions" style="{_TABLE}">{lines}</table>'


def grid(names, rows):
    """Return a table with a heading as HTML; columns of numbers are aligned to the right."""
    rows = [list(row) for row in rows]
    styles = [
        _NUMBER if _are_numbers(row[k] for row in rows) else _CELL for k in range(len(names))
    ]
    head = "".join(
        f'<th scope="col" style="{style}; font-weight: 600; white-space: normal">'
        f"{as_html(name)}</th>"
        for name, style in zip(names, styles, strict=True)
    )
    body = "".join(
        '<tr style="background: transparent">'
        + "".join(
            f'<td style="{style}">{as_html(_shown(cell))}</td>'
            for cell, style in zip(row, styles, strict=True)
        )
        + "</tr>"
        for row in rows
    )
    return (
        f'<div style="overflow-x: auto"><table style="{_TABLE}"><thead><tr>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def _are_numbers(cells):
    cells = [cell for cell in cells if cell is not None]
    return bool(cells) and all(isinstance(cell, int | float) for cell in cells)


def _shown(cell):
    if cell is None:
        return ""
    return f"{cell:g}" if isinstance(cell, int | float) else str(cell)
