"""The privacy guarantee that goes with everything made from noisy data."""

from dataclasses import dataclass, replace
from functools import partial
from math import inf
from numbers import Real

from skdp.privacy._accounting import (
    PrivacyLoss,
    any_of,
    composed_delta,
    composed_epsilon,
    contradict,
    sound_losses,
    understate,
)
from skdp.privacy._checks import MOST_USES, check_choice, check_count, check_real, check_text
from skdp.privacy._composition import gaussian_distance
from skdp.privacy._neighbours import (
    RELATIONS,
    UNITS,
    check_relation,
    common_step,
    describe_neighbours,
    describe_replaced,
    group_delta,
    replaces_at_will,
)


class PrivacyLeakWarning(UserWarning):
    """A setting that weakens or voids the privacy guarantee.

    Raised as a warning when noise could be recomputed and removed by somebody else (a
    guessable integer seed), when no noise is added at all (an infinite ε), or when bounds
    are learned from the private data.
    """


@dataclass(frozen=True)
class PrivacyGuarantee:
    r"""What is guaranteed, for which unit and which values.

    An immutable value made by a noise transformer when it is fitted; it holds for **one**
    noisy copy of the data. :meth:`compose` and ``+`` give the guarantee of several copies,
    :meth:`to_record` what one for single elements means for a whole row, :meth:`to_value` what it
    means for a value of a table that is encoded as several elements, and
    :meth:`to_replace_one` what one for a record that may be missing means for a record that may
    be another one. Their ``epsilon`` and ``delta`` come from closed forms:

    .. math::
       kε \text{ and } 1 - (1 - δ)^k \text{ in general}, \qquad
       Δ \to \sqrt{k}\,Δ \text{ at the same } δ \text{ for Gaussian noise,}

    the latter being exact. :meth:`epsilon_at` and :meth:`delta_at` are tight for the others
    too: exactly for pure mechanisms of one ε, otherwise by privacy-loss distributions, whose
    numerical error is added; below δ = 1e-11 it may be most of the bound, which warns.

    Parameters
    ----------
    mechanism : str
        Name of the noise distribution, or of the whole mechanism where it adds none.

    epsilon, delta : float
        The privacy-loss bound ε and its slack δ, for one ``unit``: an event may be e^ε
        times as likely for one neighbour as for the other, plus δ.

    sensitivity : float or None
        Largest change of one element between two neighbours, in the units of the data. None
        where it may take any value within its bounds.

    n_features : int
        Number of elements in a record.

    covers : str
        What the guarantee is about.

    excludes : str
        What it does not protect.

    unit : str, default="element"
        What two neighbouring data sets differ in: one entry ("element"), one value of a table that
        is encoded as several entries ("value"), one whole row ("record"), one label ("label"), one
        whole row and its label ("labelled record"), or all rows of one group, those of one person,
        and their labels ("group").

    losses : tuple of PrivacyLoss, default=()
        The mechanisms behind it, with independent noise for each element where the unit is
        one. Empty where only ε and δ are known, and nothing of how elements are perturbed.

    relation : {"replace-one", "add/remove"}, default="replace-one"
        How they differ in it. One unit has other values, and the number of rows is the same
        and public (of a group, which may have another number of rows, the number of groups);
        or one of the data sets has one labelled record, or one group, that the other has not,
        so that the number of rows is private too.

    Raises
    ------
    ValueError
        When it is no guarantee that a mechanism could have: ε negative or NaN, δ outside [0, 1],
        an unknown unit, no text where a text belongs, elements that are added or removed. A
        file is checked in the same way.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from skdp.noise import OptimalDPNoise
    >>> X, y = load_iris(return_X_y=True)
    >>> guarantee = OptimalDPNoise(epsilon=0.5, delta=0.0, sensitivity=8.0).fit(X).guarantee_
    >>> guarantee.epsilon, guarantee.to_record().epsilon, guarantee.compose(3).epsilon
    (0.5, 2.0, 1.5)
    >>> print(guarantee)
    (0.5, 0)-differential privacy per element, by the optimal noise
      neighbours: two data matrices that differ in one element by at most 8
      a record:   (2, 0), all 4 elements of a row free to move by 8 each
      covers:     the features of every row that transform returns
      excludes:   labels, and the number of rows and of rows per class
    """

    mechanism: str
    epsilon: float
    delta: float
    sensitivity: float | None
    n_features: int
    covers: str
    excludes: str
    unit: str = "element"
    losses: tuple = ()
    relation: str = "replace-one"

    def __post_init__(self):
        real = partial(check_real, "PrivacyGuarantee")
        text = partial(check_text, "PrivacyGuarantee")
        d = self.sensitivity
        fields = {
            "mechanism": text("mechanism", self.mechanism),
            "epsilon": real("epsilon", self.epsilon, 0, inf),
            "delta": real("delta", self.delta, 0, 1),
            "sensitivity": d if d is None else self._check_sensitivity(),
            "n_features": check_count("PrivacyGuarantee", "n_features", self.n_features),
            "covers": text("covers", self.covers),
            "excludes": text("excludes", self.excludes),
            "unit": check_choice("PrivacyGuarantee", "unit", self.unit, UNITS),
            "losses": tuple(_make_loss(loss) for loss in _listed(self.losses)),
            "relation": check_choice("PrivacyGuarantee", "relation", self.relation, RELATIONS),
        }
        for name, value in fields.items():
            object.__setattr__(self, name, value)
        check_relation(self.unit, self.relation, self.sensitivity)

    def _check_sensitivity(self):
        ends = {"open_low": True, "open_high": True}
        return check_real("PrivacyGuarantee", "sensitivity", self.sensitivity, 0, inf, **ends)

    def check_losses(self):
        """Check that the mechanisms behind it amount to no more than it states, and not to less.

        A sum of closed forms may be loose, and a statement careful: it is composed as stated.
        An ε of more than ten times what they need at any δ is refused. A release and a
        :class:`PrivacyLedger` check both of every guarantee they get. Closed forms decide nearly
        always; where they do not, and dp-accounting is not installed, the statement is taken for
        true.

        Raises
        ------
        ValueError
            When they amount to more, to clearly less, or are too many to find out.

        Examples
        --------
        >>> from dataclasses import replace
        >>> from skdp.noise import OptimalDPNoise
        >>> guarantee = OptimalDPNoise(epsilon=2.0).fit([[0.0, 1.0]]).guarantee_
        >>> guarantee.check_losses()
        >>> replace(guarantee, epsilon=0.1).check_losses()
        Traceback (most recent call last):
        ...
        ValueError: The 'losses' of PrivacyGuarantee amount to more than epsilon=0.1 and ...
        """
        if contradict(self.losses, self.epsilon, self.delta):
            raise ValueError(
                "The 'losses' of PrivacyGuarantee amount to more than "
                f"epsilon={self.epsilon:g} and delta={self.delta:g}. State what they amount to."
            )
        if understate(self.losses, self.epsilon):
            raise ValueError(
                "The 'losses' of PrivacyGuarantee amount to far less than "
                f"epsilon={self.epsilon:g} at every delta: they are not those of its mechanism. "
                "State what they amount to, or leave them out."
            )

    def to_record(self, n_features=None):
        r"""Return the guarantee for a whole record, all of whose elements may change.

        Noise that is independent for each element, as ``losses`` say, composes like k
        releases. Where there are none, group privacy holds whatever the mechanism: kε with

        .. math:: δ\,\frac{e^{kε} - 1}{e^ε - 1},

        which at most ε is soon above 1 and then guarantees nothing; with δ = 0 it is kε too.

        Parameters
        ----------
        n_features : int, default=None
            Elements in a record. By default, that of the data.

        Returns
        -------
        guarantee : PrivacyGuarantee
            With ``unit="record"``; itself where its unit is neither an element nor a value.

        Raises
        ------
        ValueError
            When ``n_features`` is out of range, or the unit is a value of a table, of which it is
            not known how many elements a record has.
        """
        if self.unit == "value":
            raise ValueError(
                "A guarantee per value of a table does not say what a record has. Take that of "
                "the encoded rows: release_.guarantee.to_record()."
            )
        if self.unit != "element":
            return self
        n_features = self.n_features if n_features is None else n_features
        record = self._moving(n_features, "n_features")
        return replace(record, unit="record", n_features=int(n_features))

    def to_value(self, n_elements):
        r"""Return the guarantee for one value of a table, whose change moves several elements.

        Where categories are encoded as indicators, another category moves two of them; so does
        a value that goes missing (:attr:`TabularEncoder.elements_per_change_
        <skdp.TabularEncoder>`). These compose as the elements of a record do, see
        :meth:`to_record`.

        Parameters
        ----------
        n_elements : int
            Elements of an encoded row that one value moves at most.

        Returns
        -------
        guarantee : PrivacyGuarantee
            With ``unit="value"``; itself where its unit is no element.

        Examples
        --------
        >>> from skdp.noise import OptimalDPNoise
        >>> noise = OptimalDPNoise(epsilon=2.0, bounds=(0, 1)).fit([[0.0, 1.0, 0.0]])
        >>> print(noise.guarantee_.to_value(2))
        (4, 0)-differential privacy per value, by the optimal noise
          neighbours: two tables that differ in one value, anywhere within the bounds
          covers:     the features of every row that transform returns
          excludes:   labels, and the number of rows and of rows per class
        """
        if self.unit != "element":
            return self
        return replace(self._moving(n_elements, "n_elements"), unit="value")

    def _moving(self, k, name):
        """Return the guarantee for k elements of a row that move at once."""
        moving = self._repeat(k, name)
        if self.losses:
            return moving
        return replace(moving, delta=group_delta(self.epsilon, self.delta, k))

    def to_replace_one(self):
        r"""Return the guarantee between data sets in which one unit is replaced by another.

        To replace is to remove one and to add another: a change of two units. What is μ-private
        with Gaussian losses is 2μ-private then (Dong, Roth and Su, 2022, Theorem 2.14), and δ is
        kept; any other (ε, δ) becomes

        .. math:: (2ε,\ (1 + e^ε)\,δ).

        Both hold whatever the mechanism, and are upper bounds: noisy counts of classes change
        by √2 and not by 2 where one record is replaced.

        Returns
        -------
        guarantee : PrivacyGuarantee
            With ``relation="replace-one"``; itself where it has that relation already.

        Examples
        --------
        >>> from skdp.privacy import PrivacyGuarantee
        >>> what = {"unit": "labelled record", "relation": "add/remove"}
        >>> counts = PrivacyGuarantee("counts", 0.5, 0.0, None, 4, "counts", "nothing", **what)
        >>> print(counts)
        (0.5, 0)-differential privacy per labelled record, by counts
          neighbours: two data sets, one of which has one record (with its label) more
          replaced:   (1, 0), one record (with its label) in place of another
          covers:     counts
          excludes:   nothing
        >>> counts.to_replace_one().epsilon
        1.0
        """
        if self.relation == "replace-one":
            return self
        losses = self._sound_losses()
        epsilon, delta = 2 * self.epsilon, group_delta(self.epsilon, self.delta, 2)
        if gaussian_distance(losses) is None:
            losses = ()
        else:
            # The ratio of two probabilities is one of two ratios, each with its own slack.
            losses = tuple(
                replace(loss, parameter=2 * loss.parameter, slack=2 * loss.slack)
                for loss in losses
            )
            epsilon, delta = composed_epsilon(losses, self.delta), self.delta
        return replace(
            self,
            epsilon=max(epsilon, self.epsilon),
            delta=delta,
            losses=losses,
            relation="replace-one",
        )

    def compose(self, k):
        """Return what k releases by the same mechanism, of the same data, guarantee together.

        Parameters
        ----------
        k : int
            Number of releases.

        Returns
        -------
        guarantee : PrivacyGuarantee
        """
        return self._repeat(k, "k")

    def __add__(self, other):
        """Return what this release and another one of the same data guarantee together."""
        if not isinstance(other, PrivacyGuarantee):
            return NotImplemented
        if self.relation != other.relation:
            raise ValueError(
                f"Guarantees with relation={self.relation!r} and relation={other.relation!r} are "
                "about different neighbours and cannot be added. Bring both to "
                "replace-one by to_replace_one()."
            )
        at_will = replaces_at_will(self) or replaces_at_will(other)
        for name in ("unit",) if at_will else ("unit", "sensitivity", "n_features"):
            if getattr(self, name) != getattr(other, name):
                raise ValueError(
                    f"Guarantees with {name}={getattr(self, name)!r} and "
                    f"{name}={getattr(other, name)!r} are about different neighbours and "
                    "cannot be added. Keep an account for each, or bring elements to records with "
                    "to_record(), and these with their labels to record_guarantee()."
                )
        known = self.losses and other.losses
        losses = self._sound_losses() + other._sound_losses() if known else ()
        if gaussian_distance(losses) is None:
            epsilon, delta = self.epsilon + other.epsilon, min(1.0, self.delta + other.delta)
        else:
            delta = max(self.delta, other.delta)
            # At the larger δ, one of them alone may need less than it states at its own.
            epsilon = max(self.epsilon, other.epsilon, composed_epsilon(losses, delta))
        return replace(
            self,
            mechanism=_join(self.mechanism, other.mechanism, " + "),
            epsilon=epsilon,
            delta=delta,
            covers=_join(self.covers, other.covers, "; "),
            excludes=_join(self.excludes, other.excludes, "; "),
            losses=losses,
            **common_step(self, other),
        )

    def epsilon_at(self, delta):
        """Return the least ε that holds at a given δ.

        Parameters
        ----------
        delta : float
            In [0, 1).

        Returns
        -------
        epsilon : float
            Infinite where no ε holds at this δ.

        Raises
        ------
        ImportError
            When this takes a privacy-loss distribution and dp-accounting is not installed.

        ValueError
            When the argument is out of range, or the mechanisms are too many or too extreme for
            such a distribution.
        """
        if not _is_number(delta) or not 0 <= delta < 1:
            raise ValueError(f"The 'delta' parameter must be in [0, 1), got {delta!r}.")
        found = float(composed_epsilon(self._known_losses(), delta))
        # What is stated holds too, and rounding must not make δ fall short of itself.
        return min(found, self.epsilon) if delta >= self.delta else found

    def delta_at(self, epsilon):
        """Return the least δ that holds at a given ε.

        Parameters
        ----------
        epsilon : float
            ≥ 0.

        Returns
        -------
        delta : float

        Raises
        ------
        ImportError
            When this takes a privacy-loss distribution and dp-accounting is not installed.

        ValueError
            When the argument is out of range, or the mechanisms are too many or too extreme for
            such a distribution.
        """
        if not _is_number(epsilon) or not epsilon >= 0:
            raise ValueError(f"The 'epsilon' parameter must be >= 0, got {epsilon!r}.")
        found = float(composed_delta(self._known_losses(), epsilon))
        return min(found, self.delta) if epsilon >= self.epsilon else found

    def _known_losses(self):
        return self._sound_losses() or (PrivacyLoss("pure", self.epsilon, self.delta),)

    def _sound_losses(self):
        return sound_losses(self.losses, self.epsilon, self.delta)

    def _repeat(self, k, name):
        number = float(k) if isinstance(k, Real) else 0.0
        if not (1 <= number <= MOST_USES and number == int(number)):
            raise ValueError(
                f"The {name!r} parameter must be a whole number from 1 to 2^53, got {k!r}."
            )
        k = int(number)
        if k == 1:
            return self
        losses = tuple(replace(loss, count=k * loss.count) for loss in self._sound_losses())
        if gaussian_distance(losses) is None:
            epsilon, delta = k * self.epsilon, any_of(k, self.delta)
        else:
            epsilon, delta = composed_epsilon(losses, self.delta), self.delta
            epsilon = max(epsilon, self.epsilon)
        return replace(self, epsilon=epsilon, delta=delta, losses=losses)

    @property
    def neighbours(self):
        """The neighbouring relation, as a text."""
        return describe_neighbours(self)

    @property
    def _means(self):
        features = self.unit in {"element", "value", "record"}
        return f"the {self.mechanism} noise" if features else self.mechanism

    def __str__(self):
        text = (
            f"({self.epsilon:g}, {self.delta:g})-differential privacy per {self.unit}, "
            f"by {self._means}\n"
            f"  neighbours: {self.neighbours}\n"
        )
        if self.unit == "element":
            record = self.to_record()
            step = "within the bounds" if self.sensitivity is None else f"by {self.sensitivity:g}"
            text += (
                f"  a record:   ({record.epsilon:g}, {record.delta:g}), all "
                f"{self.n_features} elements of a row free to move {step} each\n"
            )
        if self.relation == "add/remove":
            text += describe_replaced(self, self.to_replace_one())
        return text + f"  covers:     {self.covers}\n  excludes:   {self.excludes}"


def _is_number(value):
    return isinstance(value, Real) and not isinstance(value, bool)


def _listed(losses):
    if not isinstance(losses, list | tuple):
        raise ValueError(
            "The 'losses' of PrivacyGuarantee must be a tuple of PrivacyLoss, got a "
            f"{type(losses).__name__}."
        )
    return losses


def _make_loss(loss):
    """Return a loss; a file brings a dict."""
    if isinstance(loss, PrivacyLoss):
        return loss
    try:
        return PrivacyLoss(**loss)
    except TypeError as error:
        raise ValueError(
            "The 'losses' of PrivacyGuarantee must be a tuple of PrivacyLoss, or of dicts of its "
            f"fields, got a {type(loss).__name__} ({error})."
        ) from error


def _join(first, second, separator):
    return first if first == second else f"{first}{separator}{second}"
