"""Write the pages of tables, and README.md of this folder, from the result files alone.

python benchmarks/tables.py
"""

import _cost_tables as cost
import _desk_tables as desk
import _front
import _howto
import _measured_tables as measured
import _merging_tables as merging
import _records_tables as records
import _shift_tables as shift
import _statistics_tables as statistics
import _transfer_tables as transfers
from _store import HERE
from _table import exists, load

# Where the pages of tables are, which the documentation shows.
SITE = HERE.parent / "doc" / "benchmarks"
LONGER = "`n_folds=4` and `n_components=(4, 6, 8, 10, 15, 20, 20)`. "
FOLDS = (
    "`n_folds=4`, so that no pseudo-label confirms itself, and "
    "`n_components=(4, 6, 8, 10, 15, 20, 20)`"
)
DIGITS, USPS, MNIST = "transfer_mnist_mnist", "transfer_mnist_usps", "transfer_usps_mnist"
GAP = "What decides these figures: the "
SELF = ("multitask", "five-layers", "multitask+five-layers", "empirical")
FOLDED = ("alignment", "folds+five-layers", "folds+five-layers", "folds")

# Page, its title, and its tables: title, result file, and what makes the table of it.
PAGES = {
    "transfer": (
        "Transfer from noisy rows",
        [
            (
                "Noise-aware transfer, MNIST to MNIST: 9,000 digits, 100 labels",
                DIGITS,
                transfers.main_table("mnist-mnist"),
            ),
            (
                "Noise-aware transfer, MNIST to USPS, 100 labels",
                USPS,
                transfers.main_table("mnist-usps"),
            ),
            (
                "Noise-aware transfer, USPS to MNIST, 100 labels",
                MNIST,
                transfers.main_table("usps-mnist"),
            ),
            (
                "Noise-aware transfer, USPS to MNIST, 100 to 500 labels",
                MNIST,
                transfers.labels_table,
            ),
            (
                "Noise-aware transfer, human activity: ten people to twenty, 5 labels a class",
                "transfer_activity",
                transfers.main_table("activity"),
            ),
            (
                "Noise-aware transfer, Office+Caltech with SURF features",
                "transfer_office",
                transfers.main_table("office"),
            ),
            (
                "The papers' strategies, 60,000 MNIST digits to 9,000 with 100 labels",
                DIGITS,
                transfers.mnist_five_layers,
            ),
            (
                'The papers\' strategies, MNIST to MNIST, "multitask" by itself',
                DIGITS,
                transfers.mnist_variant(*SELF, "With its default inference"),
            ),
            (
                "The papers' strategies, MNIST to MNIST, folds",
                DIGITS,
                transfers.mnist_variant(*FOLDED, FOLDS),
            ),
            (GAP + "target's self-training", "transfer_gap", transfers.self_training),
            (GAP + "test digits", "transfer_blocks", transfers.test_digits),
            ("The papers' strategies, MNIST to USPS", USPS, transfers.usps("default")),
            ("The papers' strategies, USPS to MNIST", MNIST, transfers.usps("five-layers")),
            (
                "The papers' strategies, MNIST to USPS, folds",
                USPS,
                transfers.usps("folds", "folds", LONGER),
            ),
            (
                "The papers' strategies, USPS to MNIST, folds",
                MNIST,
                transfers.usps("folds+five-layers", "folds", LONGER),
            ),
            ("The papers' strategies and open peers, Office+Caltech", "office", transfers.office),
        ],
    ),
    "models": (
        "Models of images and signals, private or not",
        [
            ("All of MNIST, defaults", "mnist", measured.mnist),
            ("9,000/1,000 splits of 10,000 MNIST digits", "mnist_split", measured.mnist_split),
            (
                "Private training, 9,000 MNIST digits, δ = 1e-5, d = 1",
                "private_digits",
                measured.private_digits,
            ),
            (
                "Deep fuzzy classifier, 9,000/1,000 splits of MNIST digits",
                "fuzzy_digits",
                measured.fuzzy_digits,
            ),
            ("All of MNIST with noise on the test digits", "test_noise", measured.test_noise),
            (
                "Deep fuzzy classifier, accuracy against ε and δ",
                "fuzzy_privacy",
                measured.fuzzy_privacy,
            ),
            ("Human activity, five people left out", "human_activity", measured.human_activity),
        ],
    ),
    "tables": (
        "Releases of tables",
        [
            (
                "Whole records of six tables, from the source alone; other packages",
                "tables_peers",
                statistics.tables_peers,
            ),
            (
                "Whole records of six tables, with few labels of the target",
                "statistics_tables",
                statistics.never_below,
            ),
            ("Records of six tables, with few labels or none", "records", records.tables),
        ],
    ),
    "targets": (
        "Targets that differ, several owners, calibration",
        [
            ("Three hospitals and few labels for a fourth", "hospitals", desk.hospitals),
            ("Targets that differ from their source", "shift", shift.tables),
            ("Merged releases against one of all rows", "merging", merging.tables),
            ("What releases claim, and what is so", "calibration", desk.calibration),
        ],
    ),
    "owners": (
        "What owners learn before and after a release",
        [
            ("What the columns of a release are known to be", "columns", desk.columns),
            ("Private evaluation of a model", "evaluation", desk.evaluation),
            ("The additive model", "additive", desk.additive),
            ("Bounds and categories found behind noise", "bounds", desk.bounds),
            ("Synthetic rows of releases", "synthetic", desk.synthetic),
            ("Oriented gradients of images", "gradients", desk.gradients),
            ("What releases are worth, planned and reached", "planning", desk.planned),
            ("Records with other columns at the target", "records_columns", records.columns),
        ],
    ),
    "images": (
        "Releases of images and signals",
        [
            (
                "Whole records of human activity, ten people to twenty",
                "statistics_activity",
                statistics.releases(
                    "Each draw divides the people anew; labels of a class; δ = 1e-5."
                ),
            ),
            (
                "Whole records of 60,000 MNIST digits",
                "statistics_mnist",
                statistics.releases(
                    "Clean test digits; the transfer has 200 of them, of which 10 are labelled; "
                    "δ = 1e-5."
                ),
            ),
            (
                "What unlabelled rows and few labels add to a release of images or sensors",
                "adaptation",
                statistics.adaptation,
            ),
        ],
    ),
    "networks": (
        "Private networks, encryption, federations",
        [
            ("Private networks on all of MNIST", "neural", measured.networks),
            ("Local models combined under encryption", "secure", measured.combination),
            ("A federation of four hospitals", "federation", measured.federation),
            ("One noise for all owners, or one each", "federation_noise", measured.one_noise),
        ],
    ),
    "privacy": (
        "Noise, information, audits",
        [
            ("Noise on one core", "noise", measured.noise),
            ("What noise leaves to be known", "noise_information", measured.noise_information),
            ("What is left of sensitive columns", "leakage", measured.leakage),
            (
                "What releases are worth for a target",
                "transferability",
                measured.transferability,
            ),
            ("Several releases, and whole records", "accounting", measured.accounting),
            ("Membership inference on models that overfit", "attacks", measured.attacks),
            ("What audits detect of a claim of ε = 1", "audit_power", measured.audit_power),
            ("Audit of a whole source of statistics", "release_audit", measured.release_audit),
        ],
    ),
    "cost": (
        "Time and memory",
        [
            ("Memory of a prediction", "predict_memory", measured.predict_memory),
            ("Start-up and first prediction of tables", "startup", cost.startup),
            ("Memory of fits, 60,000 MNIST digits in single precision", "memory", cost.memory),
            ("Wide autoencoders against bare products, MNIST", "limits", cost.limits),
            ("Wide autoencoders of growing data", "growth", cost.growth),
            ("MNIST by skdp and by other models, one core", "digits_models", cost.digits_models),
            ("Sums over many rows", "statistics_scale", cost.statistics_scale),
            ("From Parquet files to sums", "statistics_scale", cost.feeds),
            ("The way to 10⁹ rows, on paper", "statistics_scale", cost.billion),
        ],
    ),
}


def section(title, name, make):
    record = load(name)
    how = f"`{record['command']}`, results/{name}.json, {_howto.made_at(record)}."
    return f"\n## {title}\n\n{make(record)}\n\n{how}\n"


def pages():
    """Return the text of each generated file, by its path."""
    found = {SITE / "which.md": f"# Which model, at which privacy level\n\n{_front.page()}"}
    for name, (title, sections) in PAGES.items():
        tables = [section(*each) for each in sections if exists(each[1])]
        found[SITE / f"{name}.md"] = f"# {title}\n" + "".join(tables)
    found[HERE / "README.md"] = f"# How to run the benchmarks\n\n{_howto.page()}"
    # A spread stays with its mean where lines are short.
    joined = "\N{NO-BREAK SPACE}±\N{NO-BREAK SPACE}"
    return {path: text.replace(" ± ", joined) for path, text in found.items()}


if __name__ == "__main__":
    for path, text in pages().items():
        path.write_text(text)
