"""What each transfer table is to hold: its rows, and the settings of each model in it.

A row more is a line more here; ``bench_transfer.py`` then computes what is missing.
"""

from dataclasses import dataclass
from itertools import groupby, permutations, product

from _bench import cell_of

# Budgets: epsilon for an element (optimal noise), or for a whole record (Gaussian noise).
NONE = "-"  # no source at all
ELEMENT = ("inf", "8", "2", "1", "0.5", "0.1", "0.05")
RECORD = ("record 16", "record 8", "record 4", "record 1")
LEVELS = (NONE, *ELEMENT, *RECORD)
PAPERS = ("alignment", "multitask")
DPSGD = "DP-SGD"
ALONE = "source alone"
# How the labeled rows are chosen, where not at random, and what the classifier is told of it.
CHOICES = {"representative": "random", "medoids": "stratified"}
EPOCHS = {"mnist-mnist": 10, "mnist-usps": 10, "usps-mnist": 15}  # of DP-SGD; 30 of others


@dataclass(frozen=True)
class Part:
    """Rows of one model: all levels, draws and numbers of labels of a class.

    Words of a variant: "five-layers" of the source, which has one otherwise; "gamma", the
    inference of the target; and how the labeled rows are chosen.
    """

    model: str
    variant: str = "default"
    levels: tuple = LEVELS
    draws: int = 5
    labels: tuple = (10,)


def _usual(draws=5, peer_draws=5, labels=(10,)):
    peer = Part(DPSGD, levels=RECORD, draws=peer_draws, labels=labels)
    return Part("noise_aware", draws=draws, labels=labels), peer


def _chosen(*places):
    """Rows of models and variants with each choice of labels; a place names them, and levels."""
    return [
        Part(model, "+".join([choice, *words]), levels, draws, labels)
        for model, words, levels, draws, labels in places
        for choice in CHOICES
    ]


# Levels of the older runs, whose sources have the papers' five layers.
_OLD = ELEMENT[:-1]
PLAN = {
    "mnist-mnist": (
        *_usual(),
        Part("alignment", levels=(NONE, "0.05", *RECORD)),
        Part("multitask", levels=("0.05", *RECORD)),
        Part("alignment", "five-layers", _OLD),
        Part("multitask", "gamma+five-layers", _OLD),
        *_chosen(
            ("alignment", ["five-layers"], ("0.1",), 3, (10,)),
            ("multitask", ["gamma", "five-layers"], ("0.1",), 3, (10,)),
            ("noise_aware", [], ("0.1",), 3, (10,)),
        ),
        Part("alignment", "five-layers", ("5", "3", "1.9", "1.5"), draws=1),
        Part("multitask", "gamma+five-layers", ("0.2",), draws=1),
    ),
    "mnist-usps": (
        *_usual(),
        Part("alignment"),
        Part("alignment", levels=(NONE, "0.1", "1"), draws=10),
        Part("multitask", levels=("8", "2", "0.5", "0.05", "record 16", "record 8")),
        Part("multitask", levels=("inf",), draws=4),
        Part("multitask", levels=("record 4", "record 1"), draws=3),
        Part("multitask", levels=("0.1", "1"), draws=10),
        *_chosen(
            *((model, [], ("0.1",), 3, (10,)) for model in ("noise_aware", *PAPERS)),
            ("alignment", [], ("5", "2", "1"), 1, (10,)),
        ),
        Part("alignment", levels=("5",), draws=3),
    ),
    "usps-mnist": (
        *_usual(),
        Part("alignment", levels=("inf", "8", "2", "0.5", "0.05", *RECORD)),
        Part("multitask", levels=("inf", "8", "2", "0.5", "0.05", *RECORD[:-1])),
        Part("multitask", levels=RECORD[-1:], draws=3),
        Part("noise_aware", levels=("0.1",), draws=3, labels=(20, 30, 40, 50)),
        Part("alignment", levels=(NONE,), draws=10),
        *(Part(m, "five-layers", ("0.1", "1"), draws=10) for m in PAPERS),
        *(Part(m, "five-layers", ("0.1",), 1, (20, 30, 40, 50)) for m in PAPERS),
        *_chosen(
            *((model, [], ("0.1",), 3, (10,)) for model in ("noise_aware", *PAPERS)),
            ("multitask", [], ("0.1",), 1, (20, 30, 40, 50)),
        ),
    ),
    "activity": (*_usual(labels=(5,)), *(Part(m, labels=(5,)) for m in PAPERS)),
    # Its canonical trials and labels.
    "office": (
        *_usual(draws=2, peer_draws=1, labels=(None,)),
        *(Part(m, draws=1, labels=(None,)) for m in PAPERS),
    ),
}
DOMAINS = ("amazon", "caltech", "dslr", "webcam")
CASES = {"office": [f"{a} to {b}" for a, b in permutations(DOMAINS, 2)]}


def file_of(table):
    return f"transfer_{table.replace('-', '_')}"


def groups(table, draws=None):
    """Yield the rows of a table, without results, that one source serves; whole draws first."""
    for case in CASES.get(table, [""]):
        rows = {}
        for part in PLAN[table]:
            for draw, level, labels in product(range(part.draws), part.levels, part.labels):
                key = (case, level, part.model, part.variant, draw, labels)
                rows[key] = cell_of(*key)
        some = [row for row in rows.values() if row["draw"] < (draws or 100)]
        for _, group in groupby(sorted(some, key=_source_of), key=_source_of):
            yield list(group)


def _source_of(cell):
    return cell["draw"], cell["level"], cell["model"] == DPSGD, layers_of(cell)


def layers_of(cell):
    """Number of layers of the source that a row needs."""
    return 5 if "five-layers" in cell["variant"] else 1


def choice_of(cell):
    """Return how the labeled rows of a row are chosen; None for a random draw of each class."""
    return next((word for word in cell["variant"].split("+") if word in CHOICES), None)


def fit_settings(cell):
    """Settings of the transfer classifier for a row."""
    settings = {"strategy": cell["model"], "random_state": 0}
    if "gamma" in cell["variant"]:
        settings["inference"] = "gamma"
    choice = choice_of(cell)
    return settings | ({"label_sampling": CHOICES[choice]} if choice else {})


def source_settings(cells):
    """Settings of the one noisy copy that serves all rows of a group."""
    parts = {"noise_aware" if cell["model"] == "noise_aware" else "papers" for cell in cells}
    return {"parts": "all" if len(parts) > 1 else parts.pop(), "n_layers": layers_of(cells[0])}
