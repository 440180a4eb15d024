"""Statements about a release in plain words, for the people responsible for it."""

from math import ceil, floor, inf, log10
from textwrap import wrap

from skdp.privacy import UNITS, WHOLE, PrivacyLeakWarning
from skdp.release._frame import (
    elements_per_record,
    elements_per_value,
    value_guarantee,
)
from skdp.utils._frames import text_width
from skdp.utils._html import as_html as escaped
from skdp.utils._html import definitions
from skdp.utils._validation import inline
from skdp.utils._warnings import warn

# Of lines of the summary at most, in characters: as in terminals and in this code.
_WIDTH = 88
# Probability of the rarer case, for which trade-offs are stated in addition to even odds.
RARE = 0.01

# Advice to a target for a release that may not predict anything.
TARGET_ADVICE = (
    "The rows of {which} may be too few, or its outcome not written as the schema says: ask its "
    "owner."
)


def as_text(release):
    """Return the statements about a release below their questions, see ``Release.summary``."""
    width = text_width(_WIDTH) - 2
    sections = ["\n".join(wrap(repr(release), width))]
    for title, text in statements(release).items():
        lines, wrapped = text.split("\n"), [title]
        for line in lines:
            hanging = " " * (len(line) - len(line.lstrip()) + 2) if len(lines) > 1 else ""
            wrapped += wrap(line, width, subsequent_indent=hanging, break_on_hyphens=False)
        sections.append("\n  ".join(wrapped))
    return "\n\n".join(sections)


def as_html(release):
    """Return the statements about a release as a table that a notebook unfolds."""
    return (
        f"<details open><summary><b>{escaped(repr(release))}</b></summary>"
        f"{definitions(statements(release).items())}</details>"
    )


def statements(release):
    """Return the questions of a data-protection officer about a release, with answers."""
    guarantee = release.guarantee
    added, noun = guarantee.relation == "add/remove", f"the {guarantee.noun}"
    answers = {
        "What is in the file": _contents(release),
        "Which numbers": "\n".join(release.model.contents()),
        "What is protected": f"{UNITS[guarantee.unit].protects} {_number_of_rows(added, noun)}",
        "How well": f"{_how_well(guarantee)} {large_delta(release)}".rstrip(),
        "To cite": inline(guarantee.sentence),
        "If it is known to be there": _replaced(guarantee) if added else "",
        "One value of the table": _value(release),
        "A whole record": _whole_record(release),
        "Labels": _labels(release),
        "A record with its label": _together(release),
        "Covered": inline(guarantee.covers) + ".",
        "Not covered": inline(guarantee.excludes) + ".",
        "What it assumes": inline(guarantee.assumes) + "." if guarantee.assumes else "",
        "What must hold": _conditions(release),
        "Columns": "\n".join(_columns(release)),
        "What came out": "\n".join(result_lines(release)) or "nothing that can be summed up",
        "For experts": "\n".join(map(inline, str(guarantee).split("\n"))),
    }
    return {question: answer for question, answer in answers.items() if answer}


def _conditions(release):
    """Return the conditions of the guarantee."""
    noisy = () if release.encoder is None else tuple(map(inline, release.encoder.noisy_names))
    exception = ""
    if noisy:
        exception = (
            f" The exceptions are {', '.join(noisy)}: noisy queries of the rows found what the "
            "schema says of them (quantile_bounds, skdp bounds). The figures here do not count "
            "what those queries cost. The ledger has an entry of its own for it."
        )
    return (
        f"Nobody looked at the rows to choose columns, bounds, categories and "
        f"{release.outcome.public}. Nothing else was released from the same rows: each further "
        "release adds to the loss, and a ledger keeps the account. Whatever anybody computes from "
        "the file adds nothing."
        f"{exception}"
    )


def result_lines(release):
    """Return lines about the results, which are noisy and may be shown."""
    return release.model.result_lines(release)


def large_delta(release):
    """Return a sentence if δ is not below 1 over the noisy number of rows, otherwise ""."""
    guarantee, moments = release.guarantee, release.moments
    if guarantee.relation != "add/remove" or moments is None:
        return ""
    n = float(moments.class_counts.sum())
    if n * guarantee.delta < 1:
        return ""
    return (
        f"delta = {guarantee.delta:g} is above 1/n for about {n:,.0f} {guarantee.counted} (a "
        "noisy count). A delta this large would even allow publishing one of them. Use a delta "
        f"far below 1/n, such as {10.0 ** floor(log10(0.1 / n)):g}; noise grows slowly as "
        "delta falls."
    )


def warn_of_doubt(release, advice=""):
    """Warn if noisy numbers show that a release may predict nothing.

    ``advice`` is for targets. Without it, for the owner, warn of a δ above 1/n too.
    """
    if not advice and large_delta(release):
        warn(large_delta(release), PrivacyLeakWarning)
    doubt = release.model.doubt()
    if doubt:
        warn(f"{doubt} {advice or release.model.prediction.advice}")


def trade_off(guarantee, noun=None):
    """Return the success of an attacker who knows everything else, in a few sentences."""
    noun = noun or f"the {guarantee.noun}"
    if guarantee.relation == "add/remove":
        which, rare = f"whether {noun} is in the data", f"{noun} is in the data"
    else:
        which = f"which of two versions of {noun} is in the data"
        rare = "the first of the two is in the data"
    return (
        f"Suppose that an attacker knows everything else and guesses {which}. If both answers are "
        "equally likely, the guess is right in 50% of cases without the file, and in at most "
        f"{_percent(guarantee.best_guess())} with it. If {rare} in only 1 of 100 cases, and the "
        "attacker picks 1 case in 100, then 1% of the picks are right without the file, and at "
        f"most {_percent(guarantee.precision_at(RARE))} with it. {_bits(guarantee, noun)}"
    )


def _bits(guarantee, noun):
    """Return an upper bound of the information about one unit."""
    bits = guarantee.information_bound()
    what = f"whether {noun} is in the data" if guarantee.relation == "add/remove" else noun
    if bits == inf:
        why = "epsilon is infinite" if guarantee.epsilon == inf else "delta is above 0"
        return f"The bits that the file reveals about {what} have no general bound, as {why}."
    digits = max(1 - floor(log10(max(bits, 1e-9))), 0)  # two significant ones, rounded up
    shown = ceil(bits * 10**digits * (1 - 1e-12)) / 10**digits
    return f"The file reveals at most {shown:,.10g} bits about {what}."


def _contents(release):
    columns = f"{release.n_features} columns"
    if release.encoder is not None:
        columns = f"{len(release.encoder.names)} columns ({release.n_features} when encoded)"
    left_out = release.guarantee.n_features - release.n_features
    more = f" {left_out} other features were left out, and the guarantee covers them too."
    return (
        "No rows and no code: noisy numbers that were computed from the rows, and what is "
        f"public: {columns}, and {release.outcome.contents}."
        f"{more if left_out else ''}"
    )


def _number_of_rows(added, noun):
    if not added:
        return "The number of rows is not protected."
    return f"Also protected: whether {noun} is in the data at all, and the number of rows."


def _how_well(guarantee):
    if guarantee.epsilon == inf:
        return "Not at all: epsilon is infinite, so no noise was added."
    slack = f", delta = {guarantee.delta:g}" if guarantee.delta else ""
    _, sign, why = guarantee.mechanism.partition(" (less than ")  # of merged releases
    note = f"{sign}{why}"
    return f"epsilon = {guarantee.epsilon:g}{slack}{note}. {trade_off(guarantee)}"


def _replaced(guarantee):
    replaced = guarantee.to_replace_one()
    if replaced.epsilon == inf:
        return "Nothing is protected."
    return f"{_numbers(replaced)}. {trade_off(replaced)}"


def _value(release):
    """Return the statement about a value of a table that is encoded as several elements."""
    value = value_guarantee(release.guarantee, release.encoder)
    if value is release.guarantee:
        return ""
    k = elements_per_value(release.encoder)
    return f"{_numbers(value)}: it moves {k} encoded element{'s' * (k > 1)} at most."


def _whole_record(release):
    if release.guarantee.unit != "element":
        return ""
    p = release.guarantee.n_features
    n = elements_per_record(release.encoder, p)
    record = release.guarantee.to_record(n)
    what = f"All {p} values of a row together"
    if release.encoder is not None:
        what = f"A row of the table, which moves at most {n} of {p} encoded elements"
    return f"{what}: {_numbers(record)}. {trade_off(record, 'the row')}"


def _labels(release):
    if release.guarantee.unit in WHOLE:
        return "Protected together with the columns."
    guarantee = release.label_guarantee
    if guarantee is None:
        return "Not protected: the source used them as they are."
    return f"Protected by themselves: {_numbers(guarantee)}. {trade_off(guarantee)}"


def _together(release):
    """Return the joint guarantee of features and labels that have separate guarantees."""
    both = release.record_guarantee
    if both is release.guarantee:
        return ""
    if both is None:
        return "No guarantee, because labels are not protected."
    return f"{_numbers(both)}, for all features of a row and its label."


def _columns(release):
    """Return a line for each column."""
    if release.encoder is not None:
        return [line.strip() for line in release.encoder.summary().split("\n")[1:]]
    if release.feature_names is not None:
        return [f"{name!r}: numeric" for name in release.feature_names.tolist()]
    return [f"{release.n_features} numeric columns without names"]


def _numbers(guarantee):
    return f"epsilon = {guarantee.epsilon:g}, delta = {guarantee.delta:g}"


def _percent(share):
    """Return a share as a percentage, rounded upwards, as an upper bound."""
    return f"{ceil(share * 10_000 - 1e-9) / 100:g}%"
