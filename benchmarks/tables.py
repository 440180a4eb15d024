"""Write the pages of tables, and README.md of this folder, from the result files alone.

python benchmarks/tables.py
"""

import _audit_tables as audits
import _calibration_tables as calibration
import _desk_tables as desk
import _federation_tables as federation
import _front
import _howto
import _information_tables as information
import _merging_tables as merging
import _model_tables as models
import _neural_tables as networks
import _records_tables as records
import _scale_tables as scale
import _secure_tables as secure
import _shift_tables as shift
import _statistics_tables as statistics
import _sums_tables as sums
import _transfer_tables as transfers
import _variant_tables as variants
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

# Page, its title, and its tables: title, result file, and what makes the table.
PAGES = {
    "transfer": (
        "Transfer from noisy rows",
        [
            (
                "Noise-aware transfer, MNIST to MNIST: 9,000 digits, 100 labels",
                DIGITS,
                lambda: transfers.main_table("mnist-mnist"),
            ),
            (
                "Noise-aware transfer, MNIST to USPS, 100 labels",
                USPS,
                lambda: transfers.main_table("mnist-usps"),
            ),
            (
                "Noise-aware transfer, USPS to MNIST, 100 labels",
                MNIST,
                lambda: transfers.main_table("usps-mnist"),
            ),
            (
                "Noise-aware transfer, USPS to MNIST, 100 to 500 labels",
                MNIST,
                transfers.labels_table,
            ),
            (
                "Noise-aware transfer, human activity: ten people to twenty, 5 labels a class",
                "transfer_activity",
                lambda: transfers.main_table("activity"),
            ),
            (
                "Noise-aware transfer, Office+Caltech with SURF features",
                "transfer_office",
                lambda: transfers.main_table("office"),
            ),
            (
                "The papers' strategies, 60,000 MNIST digits to 9,000 with 100 labels",
                DIGITS,
                variants.mnist_five_layers,
            ),
            (
                'The papers\' strategies, MNIST to MNIST, "multitask" by itself',
                DIGITS,
                lambda: variants.mnist_variant(
                    "multitask",
                    "five-layers",
                    "multitask+five-layers",
                    "empirical",
                    "With its default inference",
                ),
            ),
            (
                "The papers' strategies, MNIST to MNIST, folds",
                DIGITS,
                lambda: variants.mnist_variant(
                    "alignment", "folds+five-layers", "folds+five-layers", "folds", FOLDS
                ),
            ),
            (GAP + "target's self-training", "transfer_gap", variants.self_training),
            (GAP + "test digits", "transfer_blocks", variants.test_digits),
            (
                "The papers' strategies, MNIST to USPS",
                USPS,
                lambda: variants.usps("mnist-usps", "default"),
            ),
            (
                "The papers' strategies, USPS to MNIST",
                MNIST,
                lambda: variants.usps("usps-mnist", "five-layers"),
            ),
            (
                "The papers' strategies, MNIST to USPS, folds",
                USPS,
                lambda: variants.usps("mnist-usps", "folds", "folds", LONGER),
            ),
            (
                "The papers' strategies, USPS to MNIST, folds",
                MNIST,
                lambda: variants.usps("usps-mnist", "folds+five-layers", "folds", LONGER),
            ),
            ("The papers' strategies and open peers, Office+Caltech", "office", variants.office),
        ],
    ),
    "models": (
        "Models of images and signals, private or not",
        [
            ("All of MNIST, defaults", "mnist", models.mnist),
            ("9,000/1,000 splits of 10,000 MNIST digits", "mnist_split", models.mnist_split),
            (
                "Private training, 9,000 MNIST digits, δ = 1e-5, d = 1",
                "private_digits",
                models.private_digits,
            ),
            (
                "Deep fuzzy classifier, 9,000/1,000 splits of MNIST digits",
                "fuzzy_digits",
                models.fuzzy_digits,
            ),
            ("All of MNIST with noise on the test digits", "test_noise", models.test_noise),
            (
                "Deep fuzzy classifier, accuracy against ε and δ",
                "fuzzy_privacy",
                models.fuzzy_privacy,
            ),
            ("Human activity, five people left out", "human_activity", models.human_activity),
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
                lambda: statistics.never_below(
                    "Area under the ROC curve on the target's test rows, mean and standard "
                    "deviation over draws, each with its own splits, labels and noise; δ = 1e-5."
                ),
            ),
            ("Records of six tables, with few labels or none", "records", records.tables),
        ],
    ),
    "targets": (
        "Targets that differ, several owners, calibration",
        [
            ("Three hospitals and few labels for a fourth", "hospitals", shift.hospitals),
            ("Targets that differ from their source", "shift", shift.tables),
            ("Merged releases against one of all rows", "merging", merging.tables),
            ("What releases claim, and what is so", "calibration", calibration.tables),
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
            ("What releases are worth, planned and reached", "planning", desk.planning),
            ("Records with other columns at the target", "records_columns", records.columns),
        ],
    ),
    "images": (
        "Releases of images and signals",
        [
            (
                "Whole records of human activity, ten people to twenty",
                "statistics_activity",
                lambda: statistics.releases(
                    "activity", "Each draw divides the people anew; labels of a class; δ = 1e-5."
                ),
            ),
            (
                "Whole records of 60,000 MNIST digits",
                "statistics_mnist",
                lambda: statistics.releases(
                    "mnist",
                    "Clean test digits; the transfer has 200 of them, of which 10 are labelled; "
                    "δ = 1e-5.",
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
            ("Private networks on all of MNIST", "neural", networks.neural),
            ("Local models combined under encryption", "secure", secure.combination),
            ("A federation of four hospitals", "federation", federation.processes),
            ("One noise for all owners, or one each", "federation_noise", federation.one_noise),
        ],
    ),
    "privacy": (
        "Noise, information, audits",
        [
            ("Noise on one core", "noise", models.noise),
            ("What noise leaves to be known", "noise_information", information.noise_information),
            ("What is left of sensitive columns", "leakage", information.leakage),
            (
                "What releases are worth for a target",
                "transferability",
                information.transferability,
            ),
            ("Several releases, and whole records", "accounting", models.accounting),
            ("Membership inference on models that overfit", "attacks", models.attacks),
            ("What audits detect of a claim of ε = 1", "audit_power", audits.audit_power),
            ("Audit of a whole source of statistics", "release_audit", audits.release_audit),
        ],
    ),
    "cost": (
        "Time and memory",
        [
            ("Memory of a prediction", "predict_memory", models.predict_memory),
            ("Start-up and first prediction of tables", "startup", scale.startup),
            ("Memory of fits, 60,000 MNIST digits in single precision", "memory", scale.memory),
            ("Wide autoencoders against bare products, MNIST", "limits", scale.limits),
            ("Wide autoencoders of growing data", "growth", scale.growth),
            ("MNIST by skdp and by other models, one core", "digits_models", scale.digits_models),
            ("Sums over many rows", "statistics_scale", sums.statistics_scale),
            ("From Parquet files to sums", "statistics_scale", sums.feeds),
            ("The way to 10⁹ rows, on paper", "statistics_scale", sums.billion),
        ],
    ),
}


def section(title, name, make):
    record = load(name)
    how = f"`{record['command']}`, results/{name}.json, {_howto.made_at(record)}."
    return f"\n## {title}\n\n{make()}\n\n{how}\n"


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
