"""The table of private networks on MNIST: accuracy, and what one row is guaranteed."""

from math import inf

from _table import counted, epsilon_name, load, mean_of, pick, table

# Models of bench_neural.py: what the table calls them, and the figures of the papers by ε.
NAMES = {
    "adaptive": ("AdLM, noise per batch, centred", {"0.25": 90.2, "0.5": 93.66}),
    "identical": ("ILM, noise per batch, centred", {"0.25": 88.46, "0.5": 92.39}),
    "adaptive, as printed": ("AdLM, noise per batch, as printed", {"0.5": 93.66}),
    "adaptive, noise per row": ("AdLM, noise per row, centred", {}),
    "cdbn": ("pCDBN, noise per batch", {"0.5": 93.08}),
    "cdbn, noise per row": ("pCDBN, noise per row", {}),
    "tcdbn": ("TCDBN, no noise", {}),
    "dpsgd": ("DP-SGD (Opacus)", {"0.25": 82.09, "0.5": 88.59}),
    "statistics": ("**DPStatisticsSource**", {}),
}


def neural():
    """Accuracy by budget, with the ε of one labelled record that the model states."""
    rows = load("neural")["rows"]
    lines = []
    for model, (name, paper) in NAMES.items():
        ours = [row for row in rows if row["model"] == model]
        for level in sorted({row["level"] for row in ours}, key=float):
            here = [row for row in ours if row["level"] == level]
            stated = paper.get(level)
            lines.append(
                [
                    name,
                    epsilon_name(level),
                    counted(pick(here)),
                    f"{stated} %" if stated else "–",
                    _of_one_row([row["guarantee"] for row in here]),
                    f"{mean_of(pick(here, key='fit_seconds')):.0f} s",
                ]
            )
    return (
        "Accuracy on the 10,000 test digits (60,000 to train on), mean and standard deviation "
        "over seeds, their number in brackets. **ε**: the parameter, the papers' budget. **One "
        "record**: what `guarantee_` states for one labelled record, added or removed (DP-SGD, "
        "statistics; δ = 1e-5) or replaced; ∞ is no guarantee. The papers train for 500 to 2,400 "
        "epochs (AdLM, pCDBN), here it is 3 epochs, 2 of DP-SGD, and 1 of each lower layer and 15 "
        'above for pCDBN. *Centred* is `normalization="batch"`, which cancels the noise that the '
        "rows of a batch share; *as printed* is the response normalisation of the paper. Seconds "
        "of one fit on one core, beside other work.\n\n"
        "![accuracy](../../benchmarks/results/neural.png)\n\n"
        + table(["", "ε", "accuracy", "paper", "one record: ε", "fit"], lines)
    )


def _of_one_row(guarantees):
    epsilon = max(guarantee["epsilon"] for guarantee in guarantees)
    return "∞" if epsilon == inf else f"{epsilon:.4g}"
