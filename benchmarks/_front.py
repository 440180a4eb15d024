"""The page that compares: which model at which privacy level, against which peer."""

from collections import Counter

import _shift_tables as shift
from _comparisons import OUTCOMES
from _plan import ALONE, DPSGD, LEVELS, NONE, PLAN, file_of
from _table import Values, exists, first_variant, level_name, load, pick, table
from _transfer_tables import FIRST, NOISE_AWARE, usual

TITLES = {
    "mnist-mnist": "MNIST → MNIST, 100 labels",
    "activity": "human activity, 5 labels a class",
    "office": "Office+Caltech, 3 labels a class",
    "mnist-usps": "MNIST → USPS, 100 labels",
    "usps-mnist": "USPS → MNIST, 100 labels",
}
SHOWN = ("8", "1", "0.1", "record 8", "record 1")
ROWS = {name: usual(name, load(file_of(name))["rows"]) for name in PLAN}
MEAN = "{:.1f ±} %"


def ours(name, level, model="noise_aware"):
    return pick(ROWS[name], level=level, model=model, variant="default")


def papers(name, level):
    """The better of the papers' strategies on average, and its name."""
    found = {m: first_variant(ROWS[name], FIRST[m], model=m, level=level)[0] for m in FIRST}
    found = {model: values for model, values in found.items() if values}
    best = max(found, key=lambda model: found[model].mean, default="")
    return found.get(best, Values()), best


def alone(name, level):
    """Accuracies of the release by itself."""
    return pick(ROWS[name], level=level, model=ALONE, variant=NOISE_AWARE)


def network(name, level):
    """Accuracies of the network that DP-SGD releases: the same for every draw of labels."""
    return pick(ROWS[name], level=level, model=ALONE, variant=DPSGD, draw=0)


def weight(name, level):
    rows = pick(ROWS[name], "source_weight", level=level, model="noise_aware")
    return Values(rounds[-1] for rounds in rows).mean


def _marked(values, best):
    if not values:
        return "–"
    text = f"{MEAN.format(values)} ({len(values)})"
    return f"**{text}**" if values.mean == best else text


def best_models():
    body = []
    for name, title in TITLES.items():
        for level in SHOWN:
            values, strategy = papers(name, level)
            found = [ours(name, NONE), alone(name, level), ours(name, level), values]
            found += [network(name, level), ours(name, level, DPSGD)]
            best = max(values.mean for values in found if values)
            cells = [_marked(values, best) for values in found]
            cells[3] += f" {strategy}"
            body.append([title if level == SHOWN[0] else "", level_name(level), *cells])
    header = ["transfer", "privacy of the source", "target alone", ALONE, "noise-aware"]
    header += ["the papers' better strategy", f"{DPSGD}, released", f"{DPSGD}, tuned"]
    return table(header, body)


def claim(text, holds):
    """Return a sentence of advice, or nothing where the figures contradict it."""
    if not holds:
        print(f"the results no longer support, and the page leaves out: {text}")
    return f"- {text}\n" if holds else ""


def advice():
    cells = [(name, level) for name in PLAN for level in LEVELS[1:]]
    cells = [cell for cell in cells if ours(*cell) and papers(*cell)[0]]
    return (
        _default(cells)
        + _elements()
        + _frequencies()
        + _papers(cells)
        + _records()
        + _other_features()
        + _shift()
        + _few_labels()
    )


def shown(name, level=NONE):
    return MEAN.format(ours(name, level))


def _gain(name, level):
    return ours(name, level).mean - ours(name, NONE).mean


def _default(cells):
    return claim(
        '**Take the default, `strategy="noise_aware"`.** At every level of every transfer its '
        "mean is at least that of the target alone, to a tenth of a point.",
        min(_gain(*cell) for cell in cells) > -0.05,
    )


def _elements():
    return claim(
        "**A source with the target's features helps from about ε = 1 for an element.** At ε = 8 "
        f"human activity rises from {shown('activity')} (target alone) to "
        f"{shown('activity', '8')}, Office+Caltech from {shown('office')} to "
        f"{shown('office', '8')}, MNIST from {shown('mnist-mnist')} to "
        f"{shown('mnist-mnist', '8')}; at ε = 1 they reach {shown('activity', '1')}, "
        f"{shown('office', '1')} and {shown('mnist-mnist', '1')}. Where the two sides are alike "
        f"and noise is small (MNIST, ε = 8), the source alone is as good: "
        f"{alone('mnist-mnist', '8'):.1f ±} %.",
        all(_gain(name, "8") > 1.5 for name in ("activity", "office", "mnist-mnist")),
    )


def _frequencies():
    return claim(
        "**At ε = 0.1 for an element noise leaves hardly anything of the features**: the source's "
        f"weight is {weight('mnist-mnist', '0.1'):.2f} (MNIST), {weight('activity', '0.1'):.2f} "
        f"(activity) and {weight('office', '0.1'):.2f} (Office+Caltech). What is gained then "
        f"({_gain('mnist-mnist', '0.1'):.1f}, {_gain('activity', '0.1'):.1f} and "
        f"{_gain('office', '0.1'):.1f} points) comes mostly from the class frequencies in the "
        "release, which its guarantee does not cover.",
        all(weight(name, "0.1") < 0.05 for name in ("mnist-mnist", "activity", "office")),
    )


def _papers(cells):
    ahead = [
        f"{TITLES[name].partition(',')[0]} at {level_name(level)} "
        f"({papers(name, level)[0]:.1f ±} % against {shown(name, level)})"
        for name, level in cells
        if papers(name, level)[0].mean > ours(name, level).mean
    ]
    return claim(
        '**The papers\' strategies** ("alignment", "multitask") have a higher mean in '
        f"{len(ahead)} of {len(cells)} comparisons: {'; '.join(ahead)}. In the others "
        "noise-aware transfer is ahead.",
        0 < len(ahead) < 4,
    )


def _statistics(name, **cell):
    return pick(load(f"statistics_{name}")["rows"], **cell)


def _records():
    digits, level = {"model": "source"}, "record 8"
    pixels = _statistics("mnist", case="pixels", level=8.0, **digits)
    gradients = _statistics("mnist", case="oriented gradients", level=8.0, **digits)
    people = _statistics("activity", model="transfer", level=1.0, labels=5)
    peer = network("activity", "record 1").mean
    return claim(
        "**For whole records, hand out statistics** (`DPStatisticsSource`), not noisy rows: at "
        f"ε = 8 for a record the source alone gets {pixels:.1f ±} % of MNIST right, and "
        f"{gradients:.1f ±} % by public oriented gradients (DP-SGD with convolutions "
        f"{network('mnist-mnist', level):.1f ±} %, noisy rows "
        f"{alone('mnist-mnist', level):.1f ±} %); at ε = 1 human activity with 5 labels a "
        f"class reaches {people:.1f ±} % (DP-SGD {peer:.1f} %, noisy rows "
        f"{shown('activity', 'record 1')}). The label is protected too. On six tables statistics "
        "are ahead of all peers on average, see below.",
        gradients.mean > network("mnist-mnist", level).mean and people.mean > peer,
    )


def _other_features():
    names = ("mnist-usps", "usps-mnist")
    return claim(
        "**A source with other features (USPS and MNIST) adds nothing but class frequencies**: "
        f"its weight is 0 at every level. The target alone reaches {shown(names[0])} on USPS and "
        f"{shown(names[1])} on MNIST; spend no privacy.",
        all(weight(name, level) < 0.005 for name in names for level in LEVELS[1:]),
    )


def _few_labels():
    svm = pick(load("office")["rows"], model="SVM-t").mean
    return claim(
        "**Compare with a plain classifier of the target's few labels**: on Office+Caltech a "
        f"linear SVM reaches {svm:.1f} % over 20 trials of each pair, as much as noise-aware "
        f"transfer at ε = 0.1 ({shown('office', '0.1')}, two trials).",
        abs(svm - ours("office", "0.1").mean) < 2,
    )


def _shift():
    found = shift.cells(load("shift")["rows"], "log_loss") if exists("shift") else []
    stratified = [cell for cell in found if cell.place["variant"] == "stratified"]
    (won, lost), (few_won, few_lost) = map(_won_and_lost, (found, stratified))
    others = len(found) - len(stratified)
    return claim(
        "**Where the target differs from its source, learn from release and labels together, and "
        "label rows at random.** On hospitals and tables split by a column, with no label, 10 or "
        "30 at random, or all, the log loss is better than that of the better of the two alone "
        f"in {won - few_won} of {others} cells, and worse in {lost - few_lost}; with as many "
        f"labels of each class, which say nothing of frequencies, in {few_won} and {few_lost} of "
        f"{len(stratified)}. Where frequencies are known, give them as `class_prior`.",
        won - few_won > lost - few_lost,
    )


def _won_and_lost(found):
    outcomes = Counter(cell.outcome() for cell in found)
    return outcomes[OUTCOMES[0]], outcomes[OUTCOMES[2]]


def page():
    return (
        "Accuracy on test rows of the target, mean ± standard deviation, number of runs in "
        "brackets: draws of the labels (of Office+Caltech 12 pairs of domains, so that its "
        "spread is mostly between pairs). δ = 1e-5, sensitivity 1; labels of the source are not "
        'private. "Element": one entry of one row is protected, by the optimal noise; "record": a '
        "whole row, by Gaussian noise or DP-SGD. The best mean of a line is bold; differences "
        'smaller than the spread say little. "Source alone" is the release by itself, "released" '
        'the network by itself, "tuned" the same trained further on the target\'s labels.\n\n'
        + best_models()
        + "\n\n"
        + advice()
    )
