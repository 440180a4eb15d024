"""The privacy guarantee that goes with everything made from noisy data, and how several join."""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache, partial, reduce
from math import exp, expm1, inf, log, log1p
from numbers import Real

from numpy.typing import ArrayLike

from skdp.privacy._composition import composed_delta, composed_epsilon
from skdp.privacy._information import InformationBound, information_bound_of
from skdp.privacy._mechanisms import (
    MOST_USES,
    Mechanism,
    check_choice,
    check_count,
    check_real,
    check_text,
)
from skdp.utils._html import definitions

# Key in files of each attribute. Files of these keys exist: none may be changed.
_FILE_KEYS = {
    "mechanism": "mechanism",
    "mechanisms": "mechanisms",
    "sensitivity": "sensitivity",
    "n_features": "n_features",
    "covers": "covers",
    "excludes": "excludes",
    "unit": "unit",
    "relation": "relation",
}
# The same of each of its mechanisms.
_MECHANISM_FILE_KEYS = {
    "kind": "kind",
    "epsilon": "epsilon",
    "delta": "delta",
    "count": "count",
    "n_elements": "n_elements",
    "squared_distance": "squared_distance",
    "slack": "slack",
    "cut": "cut",
}
# Greatest argument of exp that float64 holds, rounded down.
_MOST_EXPONENT = 700.0
# Steps in which the best ε is sought by golden sections: the interval shrinks to some 3e-7.
_N_STEPS = 45
_GOLDEN = (5**0.5 - 1) / 2
UNITS = ("element", "value", "record", "label", "labelled record", "group")
RELATIONS = ("replace-one", "add/remove")
# Units that hold all of a record, its label too, each with its name in a sentence. Only these can
# be added or removed: what is left without one of the others is no data set.
WHOLE = {
    "labelled record": "one record (with its label)",
    "group": "one group of rows (one person)",
}


class PrivacyLeakWarning(UserWarning):
    """A setting that weakens or voids the privacy guarantee.

    Raised as a warning when noise could be recomputed and removed by somebody else (a
    guessable integer seed), when no noise is added at all (an infinite ε), or when bounds
    are learned from the private data.

    Examples
    --------
    >>> import warnings
    >>> from skdp import OptimalDPNoise
    >>> with warnings.catch_warnings(record=True) as found:
    ...     warnings.simplefilter("always")
    ...     noise = OptimalDPNoise(random_state=0).fit([[0.2, 0.8]])
    >>> found[0].category.__name__
    'PrivacyLeakWarning'
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

    mechanisms : sequence of Mechanism
        What was done to the data, as far as accounting needs it. Where only ε and δ are known,
        it is one of the kind "any". Gaussian ones alone are kept as the one that they amount to.

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

    relation : {"replace-one", "add/remove"}, default="replace-one"
        How they differ in it. One unit has other values, and the number of rows is the same
        and public (of a group, which may have another number of rows, the number of groups);
        or one of the data sets has one labelled record, or one group, that the other has not,
        so that the number of rows is private too.

    Attributes
    ----------
    epsilon, delta : float
        The privacy-loss bound ε and its slack δ, for one ``unit``: an event may be e^ε
        times as likely for one neighbour as for the other, plus δ. Sums of what the mechanisms
        state.

    neighbours : str
        The neighbouring relation.

    Raises
    ------
    ValueError
        When it is no guarantee that a mechanism could have: one that amounts to more than it
        states, an unknown unit, no text where a text belongs, elements that are added or removed.

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
    mechanisms: Sequence[Mechanism]
    sensitivity: float | None
    n_features: int
    covers: str
    excludes: str
    unit: str = "element"
    relation: str = "replace-one"

    def __post_init__(self) -> None:
        text = partial(check_text, "PrivacyGuarantee")
        ends = {"open_low": True, "open_high": True}
        d = self.sensitivity
        if d is not None:
            d = check_real("PrivacyGuarantee", "sensitivity", d, 0, inf, **ends)
        fields = {
            "mechanism": text("mechanism", self.mechanism),
            "mechanisms": _as_mechanisms(self.mechanisms),
            "sensitivity": d,
            "n_features": check_count("PrivacyGuarantee", "n_features", self.n_features),
            "covers": text("covers", self.covers),
            "excludes": text("excludes", self.excludes),
            "unit": check_choice("PrivacyGuarantee", "unit", self.unit, UNITS),
            "relation": check_choice("PrivacyGuarantee", "relation", self.relation, RELATIONS),
        }
        for name, value in fields.items():
            object.__setattr__(self, name, value)
        if self.relation != "replace-one":
            self._check_added_or_removed()

    def _check_added_or_removed(self):
        if self.unit not in WHOLE:
            raise ValueError(
                f"The 'relation' of PrivacyGuarantee is {self.relation!r} with "
                f"unit={self.unit!r}, which can only be replaced. Use "
                f"unit={' or unit='.join(map(repr, WHOLE))}."
            )
        if self.sensitivity is not None:
            raise ValueError(
                "The 'sensitivity' of PrivacyGuarantee must be None with "
                f"relation={self.relation!r}, got {self.sensitivity:g}: what is added or removed "
                "may have any values."
            )

    @property
    def epsilon(self) -> float:
        """The privacy-loss bound ε, by closed forms."""
        return float(sum(each.total_epsilon for each in self.mechanisms))

    @property
    def delta(self) -> float:
        """The slack δ at that ε."""
        return min(1.0, float(sum(each.total_delta for each in self.mechanisms)))

    @property
    def gaussian_distance(self) -> float | None:
        """Sensitivity/σ of the Gaussian mechanism that it is; None where it is none."""
        first = self.mechanisms[0]
        return first.parameter if first.kind == "gaussian" and len(self.mechanisms) == 1 else None

    def to_record(self, n_features: int | None = None) -> "PrivacyGuarantee":
        r"""Return the guarantee for a whole record, all of whose elements may change.

        Noise that is independent for each element composes like k releases. Where a mechanism
        may be "any", group privacy holds: kε with

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

        Examples
        --------
        >>> from skdp import OptimalDPNoise
        >>> guarantee = OptimalDPNoise(epsilon=0.5).fit([[0.2, 0.8, 0.5]]).guarantee_
        >>> guarantee.to_record().epsilon, guarantee.to_record(n_features=2).epsilon
        (1.5, 1.0)
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

    def to_value(self, n_elements: int) -> "PrivacyGuarantee":
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
        if all(each.kind != "any" for each in self.mechanisms):
            return moving
        delta = _group_delta(self.epsilon, self.delta, k)
        return replace(self, mechanisms=(Mechanism("any", k * self.epsilon, delta),))

    def to_replace_one(self) -> "PrivacyGuarantee":
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
        >>> from skdp.privacy import Mechanism, PrivacyGuarantee
        >>> what = {"unit": "labelled record", "relation": "add/remove"}
        >>> laplace = [Mechanism("laplace", 0.5)]
        >>> counts = PrivacyGuarantee("counts", laplace, None, 4, "counts", "nothing", **what)
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
        if self.gaussian_distance is None:
            delta = _group_delta(self.epsilon, self.delta, 2)
            replaced = Mechanism("any", 2 * self.epsilon, delta)
        else:
            replaced = self.mechanisms[0].double()
        return replace(self, mechanisms=(replaced,), relation="replace-one")

    def compose(self, k: int) -> "PrivacyGuarantee":
        """Return what k releases by the same mechanism, of the same data, guarantee together.

        Parameters
        ----------
        k : int
            Number of releases.

        Returns
        -------
        guarantee : PrivacyGuarantee

        Examples
        --------
        >>> from skdp import GaussianDPNoise, OptimalDPNoise
        >>> OptimalDPNoise(epsilon=0.5).fit([[0.2, 0.8]]).guarantee_.compose(4).epsilon
        2.0
        >>> gaussian = GaussianDPNoise(epsilon=0.5, delta=1e-5).fit([[0.2, 0.8]]).guarantee_
        >>> round(gaussian.compose(4).epsilon, 2)  # Gaussian noise composes to less
        1.07
        """
        return self._repeat(k, "k")

    def __add__(self, other: object) -> "PrivacyGuarantee":
        """Return what this release and another one of the same data guarantee together."""
        if not isinstance(other, PrivacyGuarantee):
            return NotImplemented
        if self.relation != other.relation:
            raise ValueError(
                f"Guarantees with relation={self.relation!r} and relation={other.relation!r} are "
                "about different neighbours and cannot be added. Bring both to "
                "replace-one by to_replace_one()."
            )
        at_will = self._replaces_at_will or other._replaces_at_will
        for name in ("unit",) if at_will else ("unit", "sensitivity", "n_features"):
            if getattr(self, name) != getattr(other, name):
                raise ValueError(
                    f"Guarantees with {name}={getattr(self, name)!r} and "
                    f"{name}={getattr(other, name)!r} are about different neighbours and "
                    "cannot be added. Keep an account for each, or bring elements to records with "
                    "to_record(), and these with their labels to record_guarantee()."
                )
        return replace(
            self,
            mechanism=_join(self.mechanism, other.mechanism, " + "),
            mechanisms=(*self.mechanisms, *other.mechanisms),
            covers=_join(self.covers, other.covers, "; "),
            excludes=_join(self.excludes, other.excludes, "; "),
            **self._common_step(other),
        )

    @property
    def _replaces_at_will(self):
        """Whether it is about whole records that may become any others.

        It then holds for neighbours of every smaller step too, and does not depend on how many
        columns a record has.
        """
        return self.unit in WHOLE and self.sensitivity is None

    def _common_step(self, other):
        """Return how far a record may move where both hold, as fields of their sum."""
        if self._replaces_at_will and other._replaces_at_will:
            return {"sensitivity": None, "n_features": max(self.n_features, other.n_features)}
        narrower = other if self._replaces_at_will else self
        return {"sensitivity": narrower.sensitivity, "n_features": narrower.n_features}

    def epsilon_at(self, delta: float) -> float:
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

        Examples
        --------
        >>> from skdp import GaussianDPNoise
        >>> guarantee = GaussianDPNoise(epsilon=1.0, delta=1e-5).fit([[0.2, 0.8]]).guarantee_
        >>> round(guarantee.epsilon_at(1e-5), 3), round(guarantee.epsilon_at(1e-9), 3)
        (1.0, 1.502)
        """
        if not _is_number(delta) or not 0 <= delta < 1:
            raise ValueError(f"The 'delta' parameter must be in [0, 1), got {delta!r}.")
        found = float(composed_epsilon(self.mechanisms, delta))
        # What is stated holds too, and rounding must not make δ fall short of itself.
        return min(found, self.epsilon) if delta >= self.delta else found

    def delta_at(self, epsilon: float) -> float:
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

        Examples
        --------
        >>> from skdp import GaussianDPNoise
        >>> guarantee = GaussianDPNoise(epsilon=1.0, delta=1e-5).fit([[0.2, 0.8]]).guarantee_
        >>> f"{guarantee.delta_at(1.0):.1e}, {guarantee.delta_at(0.5):.1e}"
        '1.0e-05, 4.1e-03'
        """
        if not _is_number(epsilon) or not epsilon >= 0:
            raise ValueError(f"The 'epsilon' parameter must be >= 0, got {epsilon!r}.")
        found = float(composed_delta(self.mechanisms, epsilon))
        return min(found, self.delta) if epsilon >= self.epsilon else found

    def best_guess(self, prior: float = 0.5) -> float:
        r"""Return how often somebody is right, at most, who guesses which neighbour was used.

        Somebody who knows everything else, and holds one of the two neighbours (the unit is there,
        or it is the first of two versions) for the true one with probability π, is right with

        .. math:: 1 - π + π\,δ(\log\tfrac{1 - π}{π}), \qquad π \le \tfrac12,

        at most, and π and 1 − π change places beyond. Here δ(ε) is that of :meth:`delta_at`, so
        that the bound is as tight: for Gaussian noise it is reached, and is Φ(μ/2) at even odds.
        Where only ε and δ are known it is (e^ε + δ)/(1 + e^ε) then (Kairouz, Oh and Viswanath,
        2015); that is used too where the privacy loss cannot be composed.

        Parameters
        ----------
        prior : float, default=0.5
            Probability π before the release is seen, above 0 and below 1.

        Returns
        -------
        probability : float
            An upper bound. Without the release it is the larger one of π and 1 − π.

        Raises
        ------
        ValueError
            When the argument is out of range.

        See Also
        --------
        precision_at : What says more where π is small, and always guessing "no" is mostly right.

        Examples
        --------
        >>> from skdp.privacy import Mechanism, PrivacyGuarantee
        >>> what = {"unit": "labelled record", "relation": "add/remove"}
        >>> noise = [Mechanism("gaussian", 2.0, 1e-5)]
        >>> sums = PrivacyGuarantee("noisy sums", noise, None, 4, "sums", "nothing", **what)
        >>> round(sums.best_guess(), 4), round(sums.to_replace_one().best_guess(), 4)
        (0.599, 0.692)
        >>> stated = [Mechanism("any", 2.0, 1e-5)]
        >>> whatever = PrivacyGuarantee("a mechanism", stated, None, 4, "sums", "nothing", **what)
        >>> round(whatever.best_guess(), 4)
        0.8808
        """
        prior = _check_prior(prior, 1.0)
        less, more = sorted([prior, 1 - prior])
        return min(1.0, more + less * _least_delta(self._known, log(more / less)))

    def precision_at(self, prior: float) -> float:
        r"""Return how many are named rightly, at most, by who names as many as there are.

        Of many candidates a share π is in the data. Somebody who knows everything else names a
        share π of them, those whom the release points to most. Of these at most

        .. math:: \min_{ε \ge 0} \frac{δ(ε) + o\,e^ε}{1 + o\,e^ε}, \qquad o = \frac{π}{1 - π}

        are in the data, and this share of those in the data is found: precision and recall are
        equal where the numbers are. It follows from TPR ≤ δ(ε) + e^ε FPR for every ε and
        π TPR + (1 − π) FPR = π. It is exact where δ(ε) is, for the best tests of the two
        neighbours are all that is needed. With δ = 0 it is what Bayes' rule allows the odds to
        rise to, o e^ε. At even odds it equals :meth:`best_guess`.

        Parameters
        ----------
        prior : float
            The share π, above 0 and at most 1/2; also the probability of the first of two
            versions of a unit that is replaced.

        Returns
        -------
        precision : float
            An upper bound. Without the release it is π.

        Raises
        ------
        ValueError
            When the argument is out of range.

        Examples
        --------
        Of 100 candidates one is in the data, and one is named:

        >>> from skdp.privacy import Mechanism, PrivacyGuarantee
        >>> what = {"unit": "labelled record", "relation": "add/remove"}
        >>> noise = [Mechanism("gaussian", 2.0, 1e-5)]
        >>> sums = PrivacyGuarantee("noisy sums", noise, None, 4, "sums", "nothing", **what)
        >>> round(sums.precision_at(0.01), 4)
        0.0333
        """
        return _precision(self._known, _check_prior(prior, 0.5))

    def information_bound(self, prior: ArrayLike | None = None) -> InformationBound:
        r"""Return how much what is released says about one unit, at most.

        The mutual information I(S; T) of the unit S and all that is released, T, for somebody who
        knows all other data: by how much T lowers the entropy of what such a person knows of S.
        Mechanisms add up, each by the bound of its kind:

        - pure ones of ε, :math:`C(ε) = Z - 1 - \log Z` with :math:`Z = ε/(1 - e^{-ε})`, for every
          prior; no smaller bound holds for all ε-private mechanisms and priors. It is ε²/8 for
          small ε, and less than ε tanh(ε/2), which bounds the divergence of two neighbours (Bun
          and Steinke, 2016);
        - Gaussian noise of sensitivity/σ = μ, :math:`\tfrac12 \log(1 + μ^2/4)` for an element,
          to which noise is added itself, and for two values, otherwise :math:`μ^2/4`, whatever
          the number of noisy values is;
        - what shows the data with probability δ, and is ε-private otherwise,
          :math:`(1 - δ)\,C(ε) + δ H(S)`, for Laplace noise with a point mass and any prior, and
          for every mechanism between two values;
        - any other (ε, δ) over k values, :math:`C(2ε) + h(δ) + δ \log k` with h the entropy of one
          binary answer.

        The entropy H(S) of the prior is a bound too, and the least one is returned.

        With ``relation="add/remove"`` S is whether the unit is in the data, and log 2 is a bound.
        What is said of its values, given that it is there, has the bound of
        ``to_replace_one().information_bound()``.

        Parameters
        ----------
        prior : array-like of shape (n_values,), default=None
            Probabilities of the values that the unit may have, given all other data; with
            ``relation="add/remove"`` two, that it is there and that it is not. By default any
            prior, over any number of values: the bound is infinite then where δ > 0, Gaussian
            noise and "add/remove" apart.

        Returns
        -------
        bound : InformationBound
            ``nats`` and ``bits``; also what it is about, what it follows from and what it assumes.

        Raises
        ------
        ValueError
            When ``prior`` is no list of probabilities, or not of two with "add/remove".

        See Also
        --------
        best_guess : The same question, answered by how often a guess is right.

        Examples
        --------
        >>> from skdp.privacy import Mechanism, PrivacyGuarantee
        >>> what = {"unit": "labelled record", "relation": "add/remove"}
        >>> noise = [Mechanism("gaussian", 2.0, 1e-5)]
        >>> sums = PrivacyGuarantee("noisy sums", noise, None, 4, "sums", "nothing", **what)
        >>> print(sums.information_bound())
        It says at most 0.044 bits (0.0305 nats) about whether the record with its label is in ...
        >>> round(sums.to_replace_one().information_bound().bits, 3)
        0.363
        """
        return information_bound_of(self, prior)

    @property
    def _known(self):
        """What is known of the privacy loss: the mechanisms, and what they state together."""
        return self.mechanisms, Mechanism("any", self.epsilon, self.delta)

    def _repeat(self, k, name):
        number = float(k) if isinstance(k, Real) else 0.0
        if not (1 <= number <= MOST_USES and number == int(number)):
            raise ValueError(
                f"The {name!r} parameter must be a whole number from 1 to 2^53, got {k!r}."
            )
        k = int(number)
        if k == 1:
            return self
        return replace(self, mechanisms=tuple(each.repeat(k) for each in self.mechanisms))

    @property
    def neighbours(self) -> str:
        """The neighbouring relation, as a text."""
        unit, d = self.unit, self.sensitivity
        if self.relation == "add/remove":
            return f"two data sets, one of which has {WHOLE[unit]} more"
        if unit == "label":
            return "two lists of labels that differ in one label"
        if unit == "group":
            return f"two data sets that differ in {WHOLE[unit]}, in its labels too"
        where = unit if unit in {"element", "value"} else "record"
        if d is None:
            how = ", anywhere within the bounds"
        else:
            how = f"{'' if unit == 'element' else ', each element'} by at most {d:g}"
        label = ", and in its label" if unit == "labelled record" else ""
        what = "tables" if unit == "value" else "data matrices"
        return f"two {what} that differ in one {where}{how}{label}"

    @property
    def _means(self):
        features = self.unit in {"element", "value", "record"}
        return f"the {self.mechanism} noise" if features else self.mechanism

    def _facts(self):
        """Yield what is to be said, each with its name."""
        yield (
            "guarantee",
            f"({self.epsilon:g}, {self.delta:g})-differential privacy per {self.unit}, "
            f"by {self._means}",
        )
        yield "neighbours", self.neighbours
        if self.unit == "element":
            record = self.to_record()
            step = "within the bounds" if self.sensitivity is None else f"by {self.sensitivity:g}"
            yield (
                "a record",
                f"({record.epsilon:g}, {record.delta:g}), all "
                f"{self.n_features} elements of a row free to move {step} each",
            )
        if self.relation == "add/remove":
            replaced = self.to_replace_one()
            yield (
                "replaced",
                f"({replaced.epsilon:g}, {replaced.delta:g}), {WHOLE[self.unit]} in "
                "place of another",
            )
        yield "covers", self.covers
        yield "excludes", self.excludes

    def __str__(self) -> str:
        (_, first), *others = self._facts()
        return "\n".join([first, *(f"  {name + ':':<12}{text}" for name, text in others)])

    def _repr_html_(self):
        return definitions(self._facts())


def _least_delta(known, epsilon):
    """Return the least δ that is known to hold, without a warning of its last digits."""
    mechanisms, stated = known
    bound = composed_delta([stated], epsilon)
    if mechanisms != (stated,):
        with suppress(ImportError, ValueError):  # else what is stated is all that is known
            bound = min(bound, composed_delta(mechanisms, epsilon, warns=False))
    return float(bound)


@lru_cache(maxsize=256)  # a summary, a page and a notebook ask for the same
def _precision(known, prior):
    odds = prior / (1 - prior)

    def wrong(epsilon):
        """Return the logarithm of the share that is named wrongly, at least."""
        delta = _least_delta(known, epsilon)
        return log1p(-delta) - log1p(odds * exp(epsilon)) if delta < 1 else -inf

    # (1 − δ)/(1 + o e^ε) has one peak, for δ is convex in e^ε. Left of it, it may be 0.
    low, high = 0.0, _MOST_EXPONENT
    first, second = high - _GOLDEN * high, _GOLDEN * high
    at_first, at_second = wrong(first), wrong(second)
    best = max(map(wrong, [0.0, min(known[1].epsilon, _MOST_EXPONENT)]))
    for _ in range(_N_STEPS):
        best = max(best, at_first, at_second)
        if at_first == -inf or at_first < at_second:
            low, first, at_first = first, second, at_second
            second = low + _GOLDEN * (high - low)
            at_second = wrong(second)
        else:
            high, second, at_second = second, first, at_first
            first = high - _GOLDEN * (high - low)
            at_first = wrong(first)
    return min(1.0, -expm1(best))


def _check_prior(prior, most):
    if not _is_number(prior) or not (0 < prior <= most and prior < 1):
        allowed = "above 0 and below 1" if most == 1 else f"above 0 and at most {most:g}"
        raise ValueError(
            f"The 'prior' parameter must be {allowed}, got {prior!r}. State the probability of "
            "the rarer case."
        )
    return float(prior)


def _group_delta(epsilon, delta, k):
    """Return δ of k changes one after the other: δ + e^ε δ + … + e^{(k − 1)ε} δ, at most 1."""
    if delta == 0:
        return 0.0
    if k * epsilon > _MOST_EXPONENT:
        return 1.0
    return min(1.0, delta * (expm1(k * epsilon) / expm1(epsilon) if epsilon else k))


def _is_number(value):
    return isinstance(value, Real) and not isinstance(value, bool)


def _as_mechanisms(given):
    """Return mechanisms as a tuple. Gaussian ones alone are one."""
    listed = isinstance(given, list | tuple) and len(given) > 0
    if not listed or not all(isinstance(each, Mechanism) for each in given):
        raise ValueError(
            "The 'mechanisms' of PrivacyGuarantee must be a sequence of Mechanism, at least one, "
            f"got a {type(given).__name__}."
        )
    mechanisms = tuple(given)
    if all(each.kind == "gaussian" for each in mechanisms):
        mechanisms = (reduce(Mechanism.merge, mechanisms),)
    return mechanisms


def _join(first, second, separator):
    return first if first == second else f"{first}{separator}{second}"


def pack_guarantee(guarantee):
    """Return what a file says of a guarantee, a JSON-serialisable dict."""
    stored = {key: getattr(guarantee, own) for own, key in _FILE_KEYS.items()}
    stored[_FILE_KEYS["mechanisms"]] = [
        {key: getattr(each, own) for own, key in _MECHANISM_FILE_KEYS.items()}
        for each in guarantee.mechanisms
    ]
    return stored


def unpack_guarantee(stored):
    """Return the guarantee of which a file says this.

    Raises
    ------
    ValueError
        When keys are missing or unknown, or it is no guarantee that a mechanism could have.
    """
    fields = _fields_of("PrivacyGuarantee", stored, _FILE_KEYS)
    if isinstance(fields["mechanisms"], list):
        fields["mechanisms"] = [
            Mechanism(**_fields_of("Mechanism", each, _MECHANISM_FILE_KEYS))
            for each in fields["mechanisms"]
        ]
    return PrivacyGuarantee(**fields)


def _fields_of(owner, stored, keys):
    known = set(keys.values())
    if not isinstance(stored, dict) or set(stored) != known:
        got = sorted(map(str, stored)) if isinstance(stored, dict) else type(stored).__name__
        raise ValueError(
            f"The {owner} of a file must have the keys {sorted(known)}, got {got!r:.200}. Ask "
            "for a file that skdp wrote."
        )
    return {own: stored[key] for own, key in keys.items()}


def joint_guarantee(guarantees: Iterable[PrivacyGuarantee | None]) -> PrivacyGuarantee | None:
    """Return what holds for the owner of any one of several disjoint data sets.

    Each data set went through its own mechanism once, so nothing adds up: the largest ε and
    δ and the smallest sensitivity hold for everybody (parallel composition). None where one
    of the data sets has no guarantee at all, or they are about different units or different
    neighbouring relations.

    Parameters
    ----------
    guarantees : iterable of PrivacyGuarantee or None
        One for each data set; no person's data may be in two of them.

    Returns
    -------
    guarantee : PrivacyGuarantee or None
        The weakest of each number.

    Examples
    --------
    >>> from skdp.noise import OptimalDPNoise, StaircaseDPNoise
    >>> from skdp.privacy import joint_guarantee
    >>> first = OptimalDPNoise(epsilon=0.5).fit([[0.0, 1.0]]).guarantee_
    >>> second = StaircaseDPNoise(epsilon=2.0).fit([[0.0, 1.0]]).guarantee_
    >>> joint = joint_guarantee([first, second])
    >>> joint.epsilon, joint.mechanism
    (2.0, 'optimal/staircase')
    """
    given = list(guarantees)
    known = [guarantee for guarantee in given if guarantee is not None]
    if not known or len(known) < len(given):
        return None
    first = known[0]
    if all(guarantee == first for guarantee in known):
        return first
    steps = [g.sensitivity for g in known if g.sensitivity is not None]
    units = {(g.unit, g.relation) for g in known}
    if len(units) > 1 or len(steps) not in (0, len(known)):
        return None
    # The worst mechanism of that ε and δ: where all treat elements independently, so does it.
    independent = all(each.kind != "any" for g in known for each in g.mechanisms)
    epsilon, delta = max(g.epsilon for g in known), max(g.delta for g in known)
    return replace(
        first,
        mechanism="/".join(sorted({g.mechanism for g in known})),
        mechanisms=(Mechanism("pure" if independent else "any", epsilon, delta),),
        sensitivity=min(steps, default=None),
        n_features=max(g.n_features for g in known),
        covers="; or ".join(dict.fromkeys(g.covers for g in known)),
        excludes="; ".join(dict.fromkeys(g.excludes for g in known)),
    )


def record_guarantee(
    guarantee: PrivacyGuarantee | None,
    label_guarantee: PrivacyGuarantee | None,
    n_elements: int | None = None,
) -> PrivacyGuarantee | None:
    """Return what features and label of a record are guaranteed together.

    Somebody whose whole row is private, with its label, is covered by neither guarantee alone:
    two neighbours may differ in all elements of one row *and* in its label. Both mechanisms
    draw their own noise, so they add up by basic composition: (ε of a record + ε of a label,
    δ of a record + δ of a label), with the record's from :meth:`PrivacyGuarantee.to_record`,
    which is exact for Gaussian noise.

    Parameters
    ----------
    guarantee : PrivacyGuarantee or None
        Of the features, per element or per record; or of features and labels together, per
        labelled record or per group, as statistics of both have it.

    label_guarantee : PrivacyGuarantee or None
        Of the labels; None in the latter case, which has them already.

    n_elements : int or None, default=None
        How many elements of a row one record moves at most, with a guarantee per element: of
        indicators of one category no more than two change. None stands for all of them.

    Returns
    -------
    joint : PrivacyGuarantee or None
        With ``unit="labelled record"``; ``guarantee`` itself where it is about labels too. None
        where either is None otherwise: what is released as it is has no guarantee, and neither
        has a record with it.

    Raises
    ------
    ValueError
        When the guarantees are about other units, or both of them about the labels.

    Examples
    --------
    >>> from skdp import OptimalDPNoise, RandomizedResponse
    >>> from skdp.privacy import record_guarantee
    >>> features = OptimalDPNoise(2.0, 0.0, privacy_unit="record").fit([[0.0, 1.0]]).guarantee_
    >>> labels = RandomizedResponse(1.0).fit([0, 1]).guarantee_
    >>> joint = record_guarantee(features, labels)
    >>> joint.epsilon, joint.delta, joint.unit
    (3.0, 0.0, 'labelled record')
    """
    if guarantee is not None and guarantee.unit in WHOLE:
        if label_guarantee is not None:
            raise ValueError(
                f"The 'label_guarantee' parameter must be None with a guarantee per "
                f"{guarantee.unit}, which is about its labels too. Labels that are released again "
                "are a release of their own: add it in a PrivacyLedger."
            )
        return guarantee
    for name, given, units in (
        ("guarantee", guarantee, ("element", "record")),
        ("label_guarantee", label_guarantee, ("label",)),
    ):
        if given is not None and given.unit not in units:
            raise ValueError(
                f"The {name!r} parameter must be per {' or '.join(units)}, got one per "
                f"{given.unit}."
            )
    if guarantee is None or label_guarantee is None:
        return None
    record = replace(guarantee.to_record(n_elements), n_features=guarantee.n_features)
    labels = replace(
        label_guarantee,
        unit="record",
        sensitivity=record.sensitivity,
        n_features=record.n_features,
    )
    return replace(
        record + labels,
        unit="labelled record",
        mechanism=f"the {guarantee.mechanism} noise and {label_guarantee.mechanism}",
        covers=f"{guarantee.covers}, and {label_guarantee.covers}",
        excludes=f"apart from each other, {guarantee.excludes}; {label_guarantee.excludes}",
    )
