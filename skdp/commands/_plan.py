"""``skdp plan``: estimate the accuracy of a release before spending budget."""

import re
import shlex
from math import inf, isinf
from textwrap import wrap

from skdp.commands._arguments import add_plot, between, checked_plot, drawn, read_schema
from skdp.commands._predict import class_shares
from skdp.source import plan_release
from skdp.utils._frames import text_width

NAME = "plan"
HELP = """Estimate how accurate releases of a table will be.

example:
  skdp plan schema.json --rows 500 2000 --class-prior died=0.1 --class-prior home=0.9 --goal 0.8
  skdp plan stay.json --rows 5000 --outcome-interval 2 12 --goal 0.25 --effects 0.3
  skdp plan followup.json --rows 300 --owners 4 --event-share 0.2 --plot plan.png

No rows are read and no budget is spent: tables are simulated from the schema and size alone.
Guess from published models how well the columns predict the outcome: AUC for classes
(weak 0.65, moderate 0.75, strong 0.85), R² for numbers (0.1, 0.3, 0.5), concordance for times
(0.6, 0.7, 0.8)."""

# How errors of a plan name its parameters.
_PARAMETER = re.compile(r"[Tt]he '(\w+)' parameter of plan_release")


def add_arguments(parser):
    """Add the arguments of the command."""
    parser.add_argument("schema", metavar="SCHEMA", help="public schema with an outcome (.json)")
    parser.add_argument(
        "--rows",
        required=True,
        nargs="+",
        type=_whole,
        metavar="N",
        help="numbers of records, or people, of an owner",
    )
    parser.add_argument(
        "--owners",
        dest="n_owners",
        type=_whole,
        default=1,
        metavar="N",
        help="owners whose releases are merged (default: 1)",
    )
    _add_spread(parser)
    parser.add_argument(
        "--model",
        choices=("auto", "linear", "gradients", "mixtures", "logistic"),
        default="auto",
        metavar="MODEL",
        help="auto (default, as skdp release), linear (faster)",
    )
    parser.add_argument(
        "--epsilon",
        nargs="+",
        type=between(0, inf, "1 is a usual choice, smaller is more private"),
        default=[0.1, 0.3, 1.0, 3.0, 10.0],
        metavar="E",
        help="privacy losses (default: 0.1 0.3 1 3 10)",
    )
    parser.add_argument(
        "--effects",
        nargs="+",
        type=_effect,
        default=["weak", "moderate", "strong"],
        metavar="AUC",
        help="AUC, R² or c; weak, moderate, strong (default)",
    )
    parser.add_argument(
        "--goal",
        type=between(0, 1, "0.8 is one"),
        metavar="NUMBER",
        help="AUC, R² or c: print the epsilon and rows needed",
    )
    add_plot(parser, "the plan")


def _add_spread(parser):
    """Add one option per kind of outcome for its distribution."""
    spread = parser.add_argument_group("distribution of the outcome, a public guess")
    spread.add_argument(
        "--class-prior",
        metavar="CLASS=SHARE",
        action="append",
        help="share; once per class, one may be omitted",
    )
    spread.add_argument(
        "--outcome-interval",
        nargs=2,
        type=float,
        metavar=("LOW", "HIGH"),
        help="numbers: two thirds of them lie between",
    )
    spread.add_argument(
        "--event-share",
        type=between(0, 1, "0.3 is one"),
        metavar="SHARE",
        help="times: share with the event by the horizon",
    )


def _whole(text):
    return int(text) if text.isdecimal() else text  # which the plan refuses, by its name


def _effect(text):
    try:
        return float(text)
    except ValueError:
        return text


_FIGURES = {"class": "an AUC", "number": "an R²", "event": "a concordance"}


def run(arguments, note):
    """Simulate and return the expected accuracy."""
    target = checked_plot(arguments)
    schema = read_schema(arguments.schema, with_outcome=True)
    prior = arguments.class_prior
    if schema.outcome.groups:
        _require_prior(arguments, schema.classes)
        prior = class_shares(schema.classes, prior)
    note("simulating tables and their releases")
    try:
        plan = plan_release(
            schema,
            arguments.rows,
            prior,
            arguments.epsilon,
            effects=arguments.effects,
            outcome_interval=arguments.outcome_interval,
            event_share=arguments.event_share,
            model=arguments.model,
            n_owners=arguments.n_owners,
            random_state=0,
        )
    except ValueError as error:
        raise ValueError(_PARAMETER.sub(_option, str(error))) from None
    lines = plan.summary().split("\n")
    if arguments.goal is not None:
        lines += _needed(plan, _FIGURES[schema.outcome.kind], arguments.goal)
    lines += drawn(plan.plot, target, arguments)
    return "\n".join(part for line in lines for part in _wrapped(line))


def _wrapped(line):
    """Return a line wrapped to the terminal."""
    return wrap(line, text_width(100), subsequent_indent=" " * 4, break_on_hyphens=False)


def _require_prior(arguments, classes):
    """Raise ValueError with an example if the distribution of the outcome is not given."""
    given = arguments.class_prior, arguments.outcome_interval, arguments.event_share
    if given == (None, None, None):
        example = shlex.quote(f"{classes[0]}=0.1")
        raise ValueError(
            "--class-prior is missing; accuracy depends on it. Pass a public guess of the share "
            f"of each class: --class-prior {example}."
        )


def _option(match):
    """Return the option for a parameter of a plan."""
    name = {"n_rows": "rows", "n_owners": "owners"}.get(match[1], match[1])
    return f"--{name.replace('_', '-')}"


def _needed(plan, name, wanted):
    """Return lines about what an AUC, R² or concordance needs."""
    lines = []
    for (effects, n_rows), epsilon in plan.epsilon_needed(wanted).items():
        needed = "more epsilon than planned" if isinf(epsilon) else f"about epsilon {epsilon:.2g}"
        lines.append(
            f"For {name} of {wanted:g} with effects {effects!r}, {n_rows:,} rows need {needed}."
        )
    for (effects, epsilon), n_rows in plan.rows_needed(wanted).items():
        if not isinf(n_rows) and plan.table["n_rows"].nunique() > 1:
            lines.append(
                f"With epsilon {epsilon:g} and effects {effects!r} it needs about {n_rows:,.0f} "
                "rows."
            )
    for (effects, n_rows), chances in plan.chance(wanted).groupby(level=[0, 1], sort=False):
        at_levels = (f"{100 * p:.0f}% at epsilon {e:g}" for (*_, e), p in chances.items())
        lines.append(
            f"A release with effects {effects!r} and {n_rows:,} rows reaches it with probability "
            f"{', '.join(at_levels)}."
        )
    return lines
