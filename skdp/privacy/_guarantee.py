"""Privacy guarantees, their composition and their conversion."""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache, partial, reduce
from math import exp, expm1, inf, log, log1p
from numbers import Real

from skdp.privacy._composition import composed_delta, composed_epsilon, information_bound_of
from skdp.privacy._gaussian import MOST_EXPONENT
from skdp.privacy._mechanisms import (
    MOST_USES,
    Mechanism,
    check_choice,
    check_count,
    check_real,
    check_text,
)
from skdp.utils._html import definitions

# The attributes that files hold, by the names of their keys. Files with these keys exist: do not
# change them.
_FILE_KEYS = (
    *("mechanism", "mechanisms", "sensitivity", "n_features", "covers", "excludes", "unit"),
    *("relation", "assumes"),
)
_MECHANISM_FILE_KEYS = (
    *("kind", "epsilon", "delta", "count", "n_elements", "squared_distance", "slack", "cut"),
)
RELATIONS = ("replace-one", "add/remove")


@dataclass(frozen=True)
class Unit:
    """Descriptions of what a guarantee protects, for several texts."""

    noun: str  # a single one, in short
    protects: str  # a sentence
    # The plural of whole records with their labels. Only these can be added or removed: a data
    # set cannot lose other units. And one of them, in full.
    several: str | None = None
    one: str | None = None


_VALUE = Unit(
    "value", "One single value of one row. A whole row is protected far less; see below."
)
UNITS = {
    "element": _VALUE,
    "value": _VALUE,
    "record": Unit("row", "One row with all its columns, but not its label."),
    "label": Unit("label", "The label of one row, and nothing else in it."),
    "labeled record": Unit(
        "record",
        "One record: all columns of one row, and its label.",
        "whole records",
        "one record (with its label)",
    ),
    "group": Unit(
        "person",
        "One person: all rows of a person, with their labels.",
        "whole people",
        "one group of rows (one person)",
    ),
}
WHOLE = frozenset(name for name, unit in UNITS.items() if unit.several)


class PrivacyLeakWarning(UserWarning):
    """Warning about a setting that weakens or voids the privacy guarantee.

    Issued if others could recompute and remove the noise (a guessable integer seed), if no noise
    is added (an infinite ε), or if bounds are learned from the private data.

    Examples
    --------
    >>> import warnings
    >>> from skdp import OptimalDPNoise
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     noise = OptimalDPNoise(bounds=(0, 1), random_state=0).fit([[0.2, 0.8]])
    >>> caught[0].category.__name__
    'PrivacyLeakWarning'
    """


@dataclass(frozen=True)
class PrivacyGuarantee:
    r"""A differential-privacy guarantee: ε and δ, what they protect, and against which change.

    An immutable value: the ``guarantee_`` of fitted noise transformers and sources, also stored
    in each release. It holds for **one** noisy copy of the data; :meth:`compose` and ``+`` give
    the guarantee of several. :meth:`to_record` converts from elements to rows, :meth:`to_value`
    to values of a table that is encoded as several elements, and :meth:`to_replace_one` from
    added or removed records to replaced ones. ``epsilon`` and ``delta`` are closed forms,

    .. math::
       kε \text{ and } 1 - (1 - δ)^k \text{ in general}, \qquad
       Δ \to \sqrt{k}\,Δ \text{ at the same } δ \text{ for Gaussian noise,}

    of which the latter is exact. :meth:`epsilon_at` and :meth:`delta_at` are tight for other
    mechanisms too: exact for pure mechanisms of the same ε, otherwise from privacy-loss
    distributions, including the numerical error. Below δ = 1e-11 this error may be most of the
    bound, with a warning.

    Parameters
    ----------
    mechanism : str
        Name of the noise distribution, or of the whole mechanism if it adds no noise.

    mechanisms : sequence of Mechanism
        The mechanisms applied to the data, for accounting. If only ε and δ are known, one of the
        kind "any". Several Gaussian mechanisms are merged into one.

    sensitivity : float or None
        Largest change of one element between two neighbors, in the units of the data. None
        if it may take any value within its bounds.

    n_features : int
        Number of elements in a record.

    covers : str
        What the guarantee protects.

    excludes : str
        What it does not protect.

    unit : str, default="element"
        The unit in which two neighboring data sets differ: one entry ("element"), one value of a
        table that is encoded as several entries ("value"), one row ("record"), one label
        ("label"), one row and its label ("labeled record"), or all rows and labels of one group,
        such as a person ("group").

    relation : {"replace-one", "add/remove"}, default="replace-one"
        How neighbors differ. "replace-one": one unit has other values, and the number of rows
        (for groups, of groups) is the same and public. "add/remove": one of the data sets lacks
        one labeled record or one group; the number of rows is private too.

    assumes : str, default=""
        Assumptions besides the noise, such as how many parties may collude; empty without any.

    Attributes
    ----------
    epsilon, delta : float
        The privacy-loss bound ε and its slack δ, for one ``unit``: an event may be e^ε
        times as likely for one neighbor as for the other, plus δ. Sums over the mechanisms.

    neighbors : str
        The neighboring relation.

    Raises
    ------
    ValueError
        If no mechanism could have this guarantee: an unknown unit or relation, a parameter of the
        wrong type, or elements that are added or removed.

    References
    ----------
    Kumar, M. and Moser, B., "Differentially private transfer learning with conditionally
    deep autoencoders", Definitions 22 and 23, equation (113), for ``unit="element"``; SERUMS D3.1
    (2019), Definitions 2 and 3, equation (2.8).

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
      neighbors:  two data matrices that differ in one element by at most 8
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
    assumes: str = ""

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
            "assumes": text("assumes", self.assumes),
            "unit": check_choice("PrivacyGuarantee", "unit", self.unit, tuple(UNITS)),
            "relation": check_choice("PrivacyGuarantee", "relation", self.relation, RELATIONS),
        }
        for name, value in fields.items():
            object.__setattr__(self, name, value)
        if self.relation != "replace-one":
            self._check_added_or_removed()

    def _check_added_or_removed(self):
        if self.unit not in WHOLE:
            raise ValueError(
                f"The 'relation' of PrivacyGuarantee is {self.relation!r}, but "
                f"unit={self.unit!r} can only be replaced. Use "
                f"unit={' or unit='.join(map(repr, sorted(WHOLE, reverse=True)))}."
            )
        if self.sensitivity is not None:
            raise ValueError(
                "The 'sensitivity' of PrivacyGuarantee must be None with "
                f"relation={self.relation!r}, got {self.sensitivity:g}: a unit that is added or "
                "removed may have any values."
            )

    @property
    def epsilon(self) -> float:
        """The privacy-loss bound ε, by closed forms."""
        return float(sum(mechanism.total_epsilon for mechanism in self.mechanisms))

    @property
    def delta(self) -> float:
        """The slack δ at that ε."""
        return min(1.0, float(sum(mechanism.total_delta for mechanism in self.mechanisms)))

    @property
    def gaussian_distance(self) -> float | None:
        """Sensitivity/σ of a guarantee by Gaussian noise only; None for others."""
        first = self.mechanisms[0]
        return first.parameter if first.kind == "gaussian" and len(self.mechanisms) == 1 else None

    def to_record(self, n_features: int | None = None) -> "PrivacyGuarantee":
        r"""Return the guarantee for a whole record, all of whose elements may change.

        Independent noise on each of k elements composes like k releases. Mechanisms of the kind
        "any" have group privacy: kε with

        .. math:: δ\,\frac{e^{kε} - 1}{e^ε - 1},

        capped at 1, which guarantees nothing. With δ = 0 the result is kε.

        Parameters
        ----------
        n_features : int, default=None
            Number of elements in a record. Default: as in the data.

        Returns
        -------
        guarantee : PrivacyGuarantee
            With ``unit="record"``; unchanged unless its unit is an element or a value.

        Raises
        ------
        ValueError
            If ``n_features`` is out of range, or the unit is a value of a table, for which the
            number of elements of a record is unknown.

        Examples
        --------
        >>> from skdp import OptimalDPNoise
        >>> noise = OptimalDPNoise(epsilon=0.5, bounds=(0, 1))
        >>> guarantee = noise.fit([[0.2, 0.8, 0.5]]).guarantee_
        >>> guarantee.to_record().epsilon, guarantee.to_record(n_features=2).epsilon
        (1.5, 1.0)
        """
        if self.unit == "value":
            raise ValueError(
                "A guarantee per value of a table cannot be converted to one per record. Convert "
                "the guarantee of the encoded rows: release_.guarantee.to_record()."
            )
        if self.unit != "element":
            return self
        n_features = self.n_features if n_features is None else n_features
        record = self._moving(n_features, "n_features")
        return replace(record, unit="record", n_features=int(n_features))

    def to_value(self, n_elements: int) -> "PrivacyGuarantee":
        r"""Return the guarantee for one value of a table that is encoded as several elements.

        A change of a category that is encoded as indicators changes two of them, and so does a
        missing value (:attr:`TabularEncoder.elements_per_change_ <skdp.TabularEncoder>`). These
        compose as the elements of a record do; see :meth:`to_record`.

        Parameters
        ----------
        n_elements : int
            Largest number of elements of an encoded row that one changed value changes.

        Returns
        -------
        guarantee : PrivacyGuarantee
            With ``unit="value"``; unchanged unless its unit is an element.

        Raises
        ------
        ValueError
            If ``n_elements`` is out of range.

        Examples
        --------
        >>> from skdp.noise import OptimalDPNoise
        >>> noise = OptimalDPNoise(epsilon=2.0, bounds=(0, 1)).fit([[0.0, 1.0, 0.0]])
        >>> print(noise.guarantee_.to_value(2))
        (4, 0)-differential privacy per value, by the optimal noise
          neighbors:  two tables that differ in one value, anywhere within the bounds
          covers:     the features of every row that transform returns
          excludes:   labels, and the number of rows and of rows per class
        """
        if self.unit != "element":
            return self
        return replace(self._moving(n_elements, "n_elements"), unit="value")

    def _moving(self, k, name):
        """Return the guarantee for k elements of a row that change together."""
        moving = self._repeat(k, name)
        if all(mechanism.kind != "any" for mechanism in self.mechanisms):
            return moving
        delta = _group_delta(self.epsilon, self.delta, k)
        return replace(self, mechanisms=(Mechanism("any", k * self.epsilon, delta),))

    def to_replace_one(self) -> "PrivacyGuarantee":
        r"""Return the guarantee between data sets in which one unit is replaced by another.

        Replacing a unit means removing one and adding another. A μ-private mechanism with
        Gaussian losses is then 2μ-private at the same δ (Dong, Roth and Su, 2022, Theorem 2.14);
        any other (ε, δ) becomes

        .. math:: (2ε,\ (1 + e^ε)\,δ).

        Both are upper bounds for every mechanism: noisy counts of classes, for instance, change
        by √2, not by 2, if one record is replaced.

        Returns
        -------
        guarantee : PrivacyGuarantee
            With ``relation="replace-one"``; unchanged if it has this relation already.

        Examples
        --------
        >>> from skdp.privacy import Mechanism, PrivacyGuarantee
        >>> what = {"unit": "labeled record", "relation": "add/remove"}
        >>> laplace = [Mechanism("laplace", 0.5)]
        >>> counts = PrivacyGuarantee("counts", laplace, None, 4, "counts", "nothing", **what)
        >>> print(counts)
        (0.5, 0)-differential privacy per labeled record, by counts
          neighbors:  two data sets, one of which lacks one record (with its label) of the other
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
        """Return the joint guarantee of k releases of the same data by the same mechanism.

        Parameters
        ----------
        k : int
            Number of releases.

        Returns
        -------
        guarantee : PrivacyGuarantee

        Raises
        ------
        ValueError
            If ``k`` is not a whole number from 1 to 2^53.

        Examples
        --------
        >>> from skdp import GaussianDPNoise, OptimalDPNoise
        >>> optimal = OptimalDPNoise(epsilon=0.5, bounds=(0, 1)).fit([[0.2, 0.8]]).guarantee_
        >>> optimal.compose(4).epsilon
        2.0
        >>> gaussian = GaussianDPNoise(epsilon=0.5, bounds=(0, 1)).fit([[0.2, 0.8]]).guarantee_
        >>> round(gaussian.compose(4).epsilon, 2)  # Gaussian noise composes to less
        1.07
        """
        return self._repeat(k, "k")

    def __add__(self, other: object) -> "PrivacyGuarantee":
        """Return the joint guarantee of this release and another of the same data."""
        if not isinstance(other, PrivacyGuarantee):
            return NotImplemented
        if self.relation != other.relation:
            raise ValueError(
                f"Guarantees with relation={self.relation!r} and relation={other.relation!r} "
                "cannot be added because their neighbors differ. Convert both with "
                "to_replace_one()."
            )
        at_will = self._replaces_at_will or other._replaces_at_will
        for name in ("unit",) if at_will else ("unit", "sensitivity", "n_features"):
            if getattr(self, name) != getattr(other, name):
                raise ValueError(
                    f"Guarantees with {name}={getattr(self, name)!r} and "
                    f"{name}={getattr(other, name)!r} cannot be added because their neighbors "
                    "differ. Keep separate accounts, or convert elements with to_record() and "
                    "records with record_guarantee()."
                )
        return replace(
            self,
            mechanism=_join(self.mechanism, other.mechanism, " + "),
            mechanisms=(*self.mechanisms, *other.mechanisms),
            covers=_join(self.covers, other.covers, "; "),
            excludes=_join(self.excludes, other.excludes, "; "),
            assumes=_join(self.assumes, other.assumes, "; "),
            **self._common_step(other),
        )

    @property
    def _replaces_at_will(self):
        """Whether whole records may be replaced by any others.

        The guarantee then holds for smaller changes too, whatever the number of columns.
        """
        return self.unit in WHOLE and self.sensitivity is None

    def _common_step(self, other):
        """Return the change of a record against which both hold, as fields of their sum."""
        if self._replaces_at_will and other._replaces_at_will:
            return {"sensitivity": None, "n_features": max(self.n_features, other.n_features)}
        narrower = other if self._replaces_at_will else self
        return {"sensitivity": narrower.sensitivity, "n_features": narrower.n_features}

    def epsilon_at(self, delta: float) -> float:
        """Return the smallest ε that holds at a given δ.

        Parameters
        ----------
        delta : float
            In [0, 1).

        Returns
        -------
        epsilon : float
            Infinite if no ε holds at this δ.

        Raises
        ------
        ImportError
            If this needs a privacy-loss distribution and dp-accounting is not installed.

        ValueError
            If the argument is out of range, or the mechanisms are too many or too extreme for
            such a distribution.

        Warns
        -----
        UserWarning
            If δ is so small that the numerical error may be most of the bound.

        Examples
        --------
        >>> from skdp import GaussianDPNoise
        >>> guarantee = GaussianDPNoise(epsilon=1.0, bounds=(0, 1)).fit([[0.2, 0.8]]).guarantee_
        >>> round(guarantee.epsilon_at(1e-5), 3), round(guarantee.epsilon_at(1e-9), 3)
        (1.0, 1.502)
        """
        if not _is_number(delta) or not 0 <= delta < 1:
            raise ValueError(f"The 'delta' parameter must be in [0, 1), got {delta!r}. Use 1e-5.")
        epsilon = float(composed_epsilon(self.mechanisms, delta))
        # The stated ε holds too, and must be found at its own δ despite rounding.
        return min(epsilon, self.epsilon) if delta >= self.delta else epsilon

    def delta_at(self, epsilon: float) -> float:
        """Return the smallest δ that holds at a given ε.

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
            If this needs a privacy-loss distribution and dp-accounting is not installed.

        ValueError
            If the argument is out of range, or the mechanisms are too many or too extreme for
            such a distribution.

        Warns
        -----
        UserWarning
            If δ is so small that the numerical error may be most of the bound.

        Examples
        --------
        >>> from skdp import GaussianDPNoise
        >>> guarantee = GaussianDPNoise(epsilon=1.0, bounds=(0, 1)).fit([[0.2, 0.8]]).guarantee_
        >>> f"{guarantee.delta_at(1.0):.1e}, {guarantee.delta_at(0.5):.1e}"
        '1.0e-05, 4.1e-03'
        """
        if not _is_number(epsilon) or not epsilon >= 0:
            raise ValueError(f"The 'epsilon' parameter must be >= 0, got {epsilon!r}. Use 1.")
        delta = float(composed_delta(self.mechanisms, epsilon))
        return min(delta, self.delta) if epsilon >= self.epsilon else delta

    def best_guess(self, prior: float = 0.5) -> float:
        r"""Return the largest probability of guessing correctly which of two neighbors was used.

        Suppose that one of the two neighbors has the prior probability π: the unit is in the
        data, or it has the first of two versions. An adversary who knows all other data is right
        with a probability of at most

        .. math:: 1 - π + π\,δ(\log\tfrac{1 - π}{π}), \qquad π \le \tfrac12,

        and with π and 1 − π exchanged for π above ½. With δ(ε) from :meth:`delta_at`, the bound
        is as tight as that method: Gaussian noise attains it, Φ(μ/2) at even odds. If only ε and
        δ are known, or the privacy loss cannot be composed, it is (e^ε + δ)/(1 + e^ε) at even
        odds (Kairouz, Oh and Viswanath, 2015, Theorem 2.1).

        Parameters
        ----------
        prior : float, default=0.5
            Prior probability π, above 0 and below 1.

        Returns
        -------
        probability : float
            An upper bound. Without the release it would be the larger of π and 1 − π.

        Raises
        ------
        ValueError
            If the argument is out of range.

        See Also
        --------
        precision_at : More informative if π is small, when guessing "no" is mostly right.

        Examples
        --------
        >>> from skdp.privacy import Mechanism, PrivacyGuarantee
        >>> what = {"unit": "labeled record", "relation": "add/remove"}
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
        return min(1.0, more + less * _least_delta(self._stated, log(more / less)))

    def precision_at(self, prior: float) -> float:
        r"""Return the largest precision of membership inference at a given prevalence.

        Suppose a fraction π of many candidates is in the data, and an adversary who knows all
        other data names the fraction π that the release makes most likely. At most

        .. math:: \min_{ε \ge 0} \frac{δ(ε) + o\,e^ε}{1 + o\,e^ε}, \qquad o = \frac{π}{1 - π}

        of the named candidates are in the data. The adversary names as many as are members, so
        precision equals recall. The bound follows from TPR ≤ δ(ε) + e^ε FPR for every ε and
        π TPR + (1 − π) FPR = π. It is exact if δ(ε) is, since it depends only on the best tests
        between the two neighbors. With δ = 0 it corresponds to posterior odds of o e^ε. At even
        odds it equals :meth:`best_guess`.

        Parameters
        ----------
        prior : float
            The fraction π, above 0 and at most 1/2; or the prior probability of the first of two
            versions of a replaced unit.

        Returns
        -------
        precision : float
            An upper bound. Without the release it would be π.

        Raises
        ------
        ValueError
            If the argument is out of range.

        Examples
        --------
        Of 100 candidates one is in the data, and one is named:

        >>> from skdp.privacy import Mechanism, PrivacyGuarantee
        >>> what = {"unit": "labeled record", "relation": "add/remove"}
        >>> noise = [Mechanism("gaussian", 2.0, 1e-5)]
        >>> sums = PrivacyGuarantee("noisy sums", noise, None, 4, "sums", "nothing", **what)
        >>> round(sums.precision_at(0.01), 4)
        0.0333
        """
        return _precision(self._stated, _check_prior(prior, 0.5))

    def information_bound(self) -> float:
        r"""Return an upper bound on the bits that the release contains about one unit.

        The bound is on the mutual information I(S; T) of the unit S and all released output T,
        given all other data: how much an adversary's uncertainty shrinks, for any prior of the
        unit. The bounds of the mechanisms are added up:

        - For Gaussian noise of sensitivity/σ = μ, μ²/4 nats, and :math:`\tfrac12 \log(1 + μ^2/4)`
          about presence.
        - For pure mechanisms of ε, :math:`C(ε) = Z - 1 - \log Z` with
          :math:`Z = ε/(1 - e^{-ε})`, which is ε²/8 for small ε.
        - For other mechanisms with δ > 0 it is infinite, as a unit may have any number of values.

        With ``relation="add/remove"``, S is whether the unit is in the data, and one bit is a
        bound. Mechanisms with δ > 0 then count as showing the data with probability δ, and as
        ε-private otherwise (Kairouz, Oh and Viswanath, 2015, Theorem 2.1). For the values of a
        unit that is known to be in the data, use ``to_replace_one().information_bound()``.

        Returns
        -------
        bits : float
            Infinite if δ > 0, except for Gaussian noise and "add/remove".

        See Also
        --------
        best_guess : The largest probability of a correct guess.

        Examples
        --------
        >>> from skdp.privacy import Mechanism, PrivacyGuarantee
        >>> what = {"unit": "labeled record", "relation": "add/remove"}
        >>> noise = [Mechanism("gaussian", 2.0, 1e-5)]
        >>> sums = PrivacyGuarantee("noisy sums", noise, None, 4, "sums", "nothing", **what)
        >>> round(sums.information_bound(), 3), round(sums.to_replace_one().information_bound(), 3)
        (0.044, 0.363)
        """
        return information_bound_of(self.mechanisms, self.relation == "add/remove") / log(2)

    @property
    def _stated(self):
        """The mechanisms, and the ε and δ that they state together."""
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
        return replace(self, mechanisms=tuple(m.repeat(k) for m in self.mechanisms))

    @property
    def counted(self) -> str:
        """What noisy counts count: "people" if people are protected, otherwise "rows"."""
        return "people" if self.unit == "group" else "rows"

    @property
    def amount(self) -> str:
        """Its ε and δ, and what they protect, in a few words."""
        delta = f", delta {self.delta:g}" if self.delta else ""
        return f"epsilon {self.epsilon:g}{delta} per {self._protected}"

    @property
    def _protected(self):
        return "person" if self.unit == "group" else self.unit

    @property
    def noun(self) -> str:
        """str: the unit in one word, such as "person"."""
        return UNITS[self.unit].noun

    @property
    def sentence(self) -> str:
        """The guarantee in one sentence, to cite in a paper or to a data-protection officer.

        Examples
        --------
        >>> from skdp import OptimalDPNoise
        >>> noise = OptimalDPNoise(epsilon=0.5, bounds=(0, 1)).fit([[0.2, 0.8]])
        >>> print(noise.guarantee_.sentence)
        The release satisfies (0.5, 0)-differential privacy per element, by the optimal noise, ...
        """
        if self.epsilon == inf:
            return "The release has no guarantee: epsilon is infinite."
        assumes = f", assuming {self.assumes}" if self.assumes else ""
        return (
            f"The release satisfies ({self.epsilon:g}, {self.delta:g})-differential privacy per "
            f"{self._protected}, by {self._means}, where neighbors are {self.neighbors}{assumes}."
        )

    @property
    def neighbors(self) -> str:
        """The neighboring relation as text."""
        unit, d = self.unit, self.sensitivity
        if self.relation == "add/remove":
            return f"two data sets, one of which lacks {UNITS[unit].one} of the other"
        if unit == "label":
            return "two lists of labels that differ in one label"
        if unit == "group":
            return f"two data sets that differ in {UNITS[unit].one}, in its labels too"
        where = unit if unit in {"element", "value"} else "record"
        if d is None:
            how = ", anywhere within the bounds"
        else:
            how = f"{'' if unit == 'element' else ', each element'} by at most {d:g}"
        label = ", and in its label" if unit == "labeled record" else ""
        what = "tables" if unit == "value" else "data matrices"
        return f"two {what} that differ in one {where}{how}{label}"

    @property
    def _means(self):
        features = self.unit in {"element", "value", "record"}
        return f"the {self.mechanism} noise" if features else self.mechanism

    def _facts(self):
        """Yield the facts of a summary, each with its name."""
        yield (
            "guarantee",
            f"({self.epsilon:g}, {self.delta:g})-differential privacy per {self.unit}, "
            f"by {self._means}",
        )
        yield "neighbors", self.neighbors
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
                f"({replaced.epsilon:g}, {replaced.delta:g}), {UNITS[self.unit].one} in "
                "place of another",
            )
        yield "covers", self.covers
        yield "excludes", self.excludes
        if self.assumes:
            yield "assumes", self.assumes

    def __str__(self) -> str:
        (_, first), *others = self._facts()
        return "\n".join([first, *(f"  {name + ':':<12}{text}" for name, text in others)])

    def _repr_html_(self):
        return definitions(self._facts())


def below_sum(total, guarantees):
    """Return why a joint ε is less than the sum of its parts, in a few words, or ""."""
    parts = [guarantee.epsilon for guarantee in guarantees]
    if not parts or not total.epsilon < sum(parts) * (1 - 1e-9):
        return ""
    several = " + ".join(f"{part:g}" for part in parts)
    if len(parts) > 4:
        several = f"{sum(parts):g}, the sum of {len(parts)} releases"
    return f"less than {several}, because Gaussian losses add up by their squares"


def _least_delta(claims, epsilon):
    """Return the smallest δ that is known to hold, without a warning about its precision."""
    mechanisms, stated = claims
    bound = composed_delta([stated], epsilon)
    if mechanisms != (stated,):
        with suppress(ImportError, ValueError):  # then only the stated ε and δ are known
            bound = min(bound, composed_delta(mechanisms, epsilon, warns=False))
    return float(bound)


@lru_cache(maxsize=256)  # summaries and HTML representations repeat the same call
def _precision(claims, prior):
    odds = prior / (1 - prior)

    def wrong(epsilon):
        """Return the logarithm of a lower bound of 1 − precision."""
        delta = _least_delta(claims, epsilon)
        return log1p(-delta) - log1p(odds * exp(epsilon)) if delta < 1 else -inf

    # (1 − δ)/(1 + o e^ε) has one maximum, since δ is convex in e^ε. To its left it may be 0.
    low, high, golden = 0.0, MOST_EXPONENT, (5**0.5 - 1) / 2
    first, second = high - golden * high, golden * high
    at_first, at_second = wrong(first), wrong(second)
    best = max(map(wrong, [0.0, min(claims[1].epsilon, MOST_EXPONENT)]))
    for _ in range(45):  # the interval shrinks to some 3e-7
        best = max(best, at_first, at_second)
        if at_first == -inf or at_first < at_second:
            low, first, at_first = first, second, at_second
            second = low + golden * (high - low)
            at_second = wrong(second)
        else:
            high, second, at_second = second, first, at_first
            first = high - golden * (high - low)
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
    if k * epsilon > MOST_EXPONENT:
        return 1.0
    return min(1.0, delta * (expm1(k * epsilon) / expm1(epsilon) if epsilon else k))


def _is_number(value):
    return isinstance(value, Real) and not isinstance(value, bool)


def _as_mechanisms(given):
    """Return mechanisms as a tuple; several Gaussian ones are merged into one."""
    listed = isinstance(given, list | tuple) and len(given) > 0
    if not listed or not all(isinstance(mechanism, Mechanism) for mechanism in given):
        raise ValueError(
            "The 'mechanisms' of PrivacyGuarantee must be a nonempty sequence of Mechanism, "
            f"got a {type(given).__name__}."
        )
    mechanisms = tuple(given)
    if all(mechanism.kind == "gaussian" for mechanism in mechanisms):
        mechanisms = (reduce(Mechanism.merge, mechanisms),)
    return mechanisms


def _join(first, second, separator):
    return separator.join(dict.fromkeys(filter(None, [first, second])))


def pack_guarantee(guarantee):
    """Return a guarantee as a JSON-serializable dict."""
    stored = {key: getattr(guarantee, key) for key in _FILE_KEYS}
    if not guarantee.assumes:
        del stored["assumes"]
    stored["mechanisms"] = [
        {key: getattr(mechanism, key) for key in _MECHANISM_FILE_KEYS}
        for mechanism in guarantee.mechanisms
    ]
    return stored


def unpack_guarantee(stored):
    """Return the guarantee that :func:`pack_guarantee` stored, or raise ValueError."""
    if isinstance(stored, dict):
        stored = {"assumes": "", **stored}
    fields = _fields_of("PrivacyGuarantee", stored, _FILE_KEYS)
    if isinstance(fields["mechanisms"], list):
        fields["mechanisms"] = [
            Mechanism(**_fields_of("Mechanism", mechanism, _MECHANISM_FILE_KEYS))
            for mechanism in fields["mechanisms"]
        ]
    return PrivacyGuarantee(**fields)


def _fields_of(owner, stored, keys):
    if not isinstance(stored, dict) or set(stored) != set(keys):
        got = sorted(map(str, stored)) if isinstance(stored, dict) else type(stored).__name__
        raise ValueError(
            f"The {owner} of a file must have the keys {sorted(keys)}, got {got!r:.200}. Use a "
            "file written by skdp."
        )
    return {key: stored[key] for key in keys}


def joint_guarantee(guarantees: Iterable[PrivacyGuarantee | None]) -> PrivacyGuarantee | None:
    """Return a guarantee that holds for each of several disjoint data sets.

    Each data set was used once, by its own mechanism, so the guarantees do not add up: the
    largest ε and δ and the smallest sensitivity hold for all (parallel composition).

    Parameters
    ----------
    guarantees : iterable of PrivacyGuarantee or None
        One for each data set; no person's data may be in two of them.

    Returns
    -------
    guarantee : PrivacyGuarantee or None
        With the weakest value of each number. None if a data set has no guarantee, if units or
        neighboring relations differ, or if only some state a sensitivity.

    Examples
    --------
    >>> from skdp.noise import OptimalDPNoise, StaircaseDPNoise
    >>> from skdp.privacy import joint_guarantee
    >>> first = OptimalDPNoise(epsilon=0.5, bounds=(0, 1)).fit([[0.0, 1.0]]).guarantee_
    >>> second = StaircaseDPNoise(epsilon=2.0, bounds=(0, 1)).fit([[0.0, 1.0]]).guarantee_
    >>> joint = joint_guarantee([first, second])
    >>> joint.epsilon, joint.mechanism
    (2.0, 'optimal/staircase')
    """
    given = list(guarantees)
    stated = [guarantee for guarantee in given if guarantee is not None]
    if not stated or len(stated) < len(given):
        return None
    first = stated[0]
    if all(guarantee == first for guarantee in stated):
        return first
    steps = [g.sensitivity for g in stated if g.sensitivity is not None]
    units = {(g.unit, g.relation) for g in stated}
    if len(units) > 1 or len(steps) not in (0, len(stated)):
        return None
    # The worst mechanism of this ε and δ; it treats elements independently if all others do.
    independent = all(mechanism.kind != "any" for g in stated for mechanism in g.mechanisms)
    epsilon, delta = max(g.epsilon for g in stated), max(g.delta for g in stated)
    return replace(
        first,
        mechanism="/".join(sorted({g.mechanism for g in stated})),
        mechanisms=(Mechanism("pure" if independent else "any", epsilon, delta),),
        sensitivity=min(steps, default=None),
        n_features=max(g.n_features for g in stated),
        covers="; or ".join(dict.fromkeys(g.covers for g in stated)),
        excludes="; ".join(dict.fromkeys(g.excludes for g in stated)),
        assumes="; ".join(dict.fromkeys(g.assumes for g in stated if g.assumes)),
    )


def record_guarantee(
    guarantee: PrivacyGuarantee | None,
    label_guarantee: PrivacyGuarantee | None,
    n_elements: int | None = None,
) -> PrivacyGuarantee | None:
    """Return the joint guarantee of the features and the label of a record.

    Two neighbors may differ in all elements of one row *and* in its label, so neither guarantee
    alone covers a person's whole row. The noises are independent, so ε and δ of the record
    (:meth:`PrivacyGuarantee.to_record`, exact for Gaussian noise) and of the label add up.

    Parameters
    ----------
    guarantee : PrivacyGuarantee or None
        Guarantee of the features, per element or per record; or of features and labels, per
        labeled record or per group, as noisy statistics have.

    label_guarantee : PrivacyGuarantee or None
        Guarantee of the labels; None if ``guarantee`` includes them.

    n_elements : int or None, default=None
        With a guarantee per element, the largest number of elements that change with one
        record: at most two indicators of one category do. None for all elements.

    Returns
    -------
    joint : PrivacyGuarantee or None
        With ``unit="labeled record"``; ``guarantee`` itself if it includes labels. Otherwise
        None if either is None: unprotected features or labels leave the record unprotected.

    Raises
    ------
    ValueError
        If the units of the guarantees do not match, or both guarantees cover the labels.

    Examples
    --------
    >>> from skdp import OptimalDPNoise, RandomizedResponse
    >>> from skdp.privacy import record_guarantee
    >>> noise = OptimalDPNoise(2.0, bounds=(0, 1), privacy_unit="record")
    >>> features = noise.fit([[0.0, 1.0]]).guarantee_
    >>> labels = RandomizedResponse(1.0).fit([0, 1]).guarantee_
    >>> joint = record_guarantee(features, labels)
    >>> joint.epsilon, joint.delta, joint.unit
    (3.0, 0.0, 'labeled record')
    """
    if guarantee is not None and guarantee.unit in WHOLE:
        if label_guarantee is not None:
            raise ValueError(
                f"The 'label_guarantee' parameter must be None with a guarantee per "
                f"{guarantee.unit}, which includes its labels. Charge another release of labels "
                "separately to a PrivacyLedger."
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
        unit="labeled record",
        mechanism=f"the {guarantee.mechanism} noise and {label_guarantee.mechanism}",
        covers=f"{guarantee.covers}, and {label_guarantee.covers}",
        excludes=f"apart from each other, {guarantee.excludes}; {label_guarantee.excludes}",
    )
