"""The public plan of one release of several owners' rows with the noise of one."""

import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import isfinite
from numbers import Real
from typing import Any, ClassVar, Self

from skdp.federated._transcript import Transcript
from skdp.privacy import PrivacyGuarantee
from skdp.release import Release
from skdp.secure import Agreement, PublicIdentity, check_distinct, check_nonce
from skdp.source import DPStatisticsSource, JointSums, StatisticsAccumulator
from skdp.tabular import Schema, as_schema


@dataclass(frozen=True)
class SecureSum(Agreement):
    r"""Plan of one release of the rows of several owners, who hide their sums from each other.

    Merged releases have the noise of every owner. Here the owners' sums are added first, and the
    result has the noise of **one** release, however many owners take part. Nobody sees an owner's
    sums: each owner adds part of the noise, and uniform masks that cancel only in the sum of all
    answers.

    With S owners of whom at most t collude, each adds discrete Gaussian noise of variance

    .. math:: \frac{σ^2}{S - t},

    where σ is the noise of one release, so that the noise of the other owners suffices (Kairouz,
    Liu and Steinke, 2021).

    **Steps.** An organizer makes a plan with :meth:`create`, and the owners compare its
    ``digest``. Each makes a :class:`SecureSumOwner`, whose ``join`` agrees to the plan and its
    ``disjoint``. :meth:`combine` makes a request from these messages; each owner answers it;
    ``combine`` makes the next request from the request and its answers; and so on, until
    ``combine`` returns the release. Messages are bytes, signed by their owners. Combining needs no
    secret, and anybody with the messages can repeat it.

    With ``model="linear"`` owners answer two requests. With ``model="gradients"`` they answer one
    more for each step of the descent, at most 200, and one for the table of scores. An answer to
    a step has one number for each function of the columns. The steps share the budget of one
    release, so noise and charge do not grow.

    **Assumptions.** Owners follow the protocol, but at most t of them may reveal everything they
    know. Whoever combines the messages may do so too, and may lie about who takes part.
    Masks are secret as far as X25519, HKDF-SHA256 and ChaCha20 are. An owner who sends wrong sums
    can spoil the release, as with any other protocol for sums. If an owner does not answer, the
    sum cannot be unmasked: begin a new one with the others, which charges all of them again. An
    owner has at most 2\ :sup:`28`/S rows, or people, and refuses to answer with more.

    Parameters
    ----------
    schema : Schema
        The public schema of all tables, with the list of classes.

    owners : list of PublicIdentity
        Who may take part, at least two.

    epsilon, delta : float
        The guarantee of the release, for a record or person of any owner.

    model : {"linear", "gradients"}
        What is learned, see :class:`~skdp.DPStatisticsSource`.

    privacy_unit : {"record", "group"}
        One row with its label, or one person with all rows.

    n_colluding : int
        t ≥ 1, as every owner knows its own noise. The noise of the release grows by
        :math:`\sqrt{S/(S - t)}`.

    least_owners : int
        How many owners must take part: every owner refuses with fewer. More than t.

    disjoint : bool
        With ``privacy_unit="group"``, whether nobody has rows at two owners. Otherwise the noise
        is larger by the number of owners, as one person's rows may change the sums of all. With
        "record" it has no effect: each record is at one owner, as the guarantee says.

    radius : float
        Largest norm of an encoded row.

    shares : dict of str to float
        Fractions of the budget of the queries.

    nonce : str
        32 random hexadecimal digits, which make each plan a session of its own.

    Attributes
    ----------
    digest : str
        Hexadecimal SHA-256 digest of the plan.

    Raises
    ------
    ValueError
        If the parameters do not fit together.

    See Also
    --------
    SecureSumOwner : What an owner does.
    skdp.Release.merge : Merges releases that exist, each with its own noise.

    References
    ----------
    Bonawitz, K. et al., "Practical secure aggregation for privacy-preserving machine learning",
    CCS 2017.

    Kairouz, P., Liu, Z. and Steinke, T., "The distributed discrete Gaussian mechanism for
    federated learning with secure aggregation", ICML 2021.

    Examples
    --------
    >>> from skdp.privacy import PrivacyLedger
    >>> from skdp.datasets import load_heart_disease
    >>> from skdp.federated import SecureSum, SecureSumOwner
    >>> from skdp.secure import Identity
    >>> heart = load_heart_disease()
    >>> wards = [Identity.generate(name) for name in ("ward 1", "ward 2", "ward 3")]
    >>> plan = SecureSum.create(heart.schema, [ward.public for ward in wards], epsilon=1.0)
    >>> owners = []
    >>> for i, ward in enumerate(wards):  # each owner's own
    ...     rows = plan.accumulator()
    ...     rows.add(heart.data[i::3], heart.target[i::3])
    ...     owners.append(SecureSumOwner(plan, ward, rows, ledger=PrivacyLedger(1.0, 1e-5)))
    >>> request = plan.combine([owner.join() for owner in owners])
    >>> for _ in range(2):
    ...     answers = [owner.answer(request) for owner in owners]
    ...     request = plan.combine([request, *answers])
    >>> request  # the release
    Release(... rows, 2 classes, 34 features, epsilon 1, delta 1e-05 per labeled record, ...)
    """

    schema: Any
    owners: list[PublicIdentity]
    epsilon: float
    delta: float
    model: str
    privacy_unit: str
    n_colluding: int
    least_owners: int
    disjoint: bool
    radius: float
    shares: dict[str, float]
    nonce: str

    _format: ClassVar[str] = "skdp secure sum"

    def __post_init__(self) -> None:
        if not all(isinstance(owner, PublicIdentity) for owner in self.owners):
            raise ValueError(
                "The 'owners' parameter of SecureSum must be a list of PublicIdentity. Collect "
                "the 'public' attribute of each owner's Identity."
            )
        check_distinct("SecureSum", self.owners)
        check_nonce("SecureSum", self.nonce)
        counts = (self.n_colluding, self.least_owners)
        whole = all(type(count) is int for count in counts)
        if not whole or not 1 <= self.n_colluding < self.least_owners <= len(self.owners):
            raise ValueError(
                "The parameters of SecureSum must be whole numbers with 1 <= 'n_colluding' < "
                "'least_owners' <= the number of owners, got "
                f"{self.n_colluding!r}, {self.least_owners!r} and {len(self.owners)} owners. Each "
                "owner knows its own noise, hence 1 or more."
            )
        if type(self.disjoint) is not bool:
            raise ValueError(
                f"The 'disjoint' parameter of SecureSum must be True or False, got "
                f"{self.disjoint!r}."
            )
        if not isinstance(self.epsilon, Real) or not isfinite(self.epsilon):
            raise ValueError(
                f"The 'epsilon' parameter of SecureSum must be a finite number, got "
                f"{self.epsilon!r}. An owner's sums need noise."
            )
        sums = self.sums(len(self.owners))
        ours = {"radius": sums.radius, "shares": sums.fractions}
        for name, value in ours.items():
            if getattr(self, name) != value:
                raise ValueError(
                    f"The {name!r} of this SecureSum are {getattr(self, name)!r}, not "
                    f"{value!r}: it was made by another version of skdp. Use the same everywhere."
                )

    def __repr__(self) -> str:
        unit = "record, each at one owner" if self.privacy_unit == "record" else "person"
        if self.privacy_unit == "group":
            unit += ", nobody at two owners" if self.disjoint else ", at any number of owners"
        return (
            f"<SecureSum of {len(self.owners)} owners, epsilon {self.epsilon:g}, delta "
            f"{self.delta:g} per {unit}, at most {self.n_colluding} colluding>"
        )

    @classmethod
    def create(
        cls,
        schema: Any,
        owners: Sequence[PublicIdentity],
        *,
        epsilon: float = 1.0,
        delta: float = 1e-5,
        model: str = "linear",
        privacy_unit: str = "record",
        n_colluding: int = 1,
        least_owners: int | None = None,
        disjoint: bool = False,
    ) -> Self:
        """Return a new plan.

        Parameters
        ----------
        schema : Schema, mapping, str or path-like
            The public schema, in any form that :class:`~skdp.TabularEncoder` takes.

        owners, epsilon, delta, model, privacy_unit, n_colluding, disjoint
            See :class:`SecureSum`.

        least_owners : int or None, default=None
            How many owners must take part. None: all of them.

        Returns
        -------
        plan : SecureSum

        Raises
        ------
        ValueError
            If the parameters do not fit together, or the schema has no classes.

        Examples
        --------
        >>> from skdp.datasets import load_heart_disease
        >>> from skdp.federated import SecureSum
        >>> from skdp.secure import Identity
        >>> wards = [Identity.generate(name).public for name in ("ward 1", "ward 2", "ward 3")]
        >>> SecureSum.create(load_heart_disease().schema, wards, epsilon=2.0)
        <SecureSum of 3 owners, epsilon 2, delta 1e-05 per record, each at one owner, at most 1...
        """
        schema, members = as_schema(schema), list(owners)
        source = _source(epsilon, delta, schema, model, privacy_unit)
        sums = JointSums(source, 2, 1, disjoint=True)  # of any number; see what the plan checks
        least = len(members) if least_owners is None else least_owners
        return cls(
            schema=schema,
            owners=members,
            epsilon=float(epsilon),
            delta=float(delta),
            model=model,
            privacy_unit=privacy_unit,
            n_colluding=n_colluding,
            least_owners=least,
            disjoint=disjoint,
            radius=sums.radius,
            shares=sums.fractions,
            nonce=secrets.token_hex(16),
        )

    @classmethod
    def _read(cls, fields: dict[str, Any]) -> Self:
        fields["schema"] = Schema.from_json(fields["schema"])  # never the name of a file
        fields["owners"] = [PublicIdentity(**owner) for owner in fields["owners"]]
        return cls(**fields)

    def _content(self):
        # Text, in which columns keep their order.
        return {**super()._content(), "schema": self.schema.to_json()}

    def parties(self, role: str) -> list[PublicIdentity]:
        """Return the parties with a role.

        Parameters
        ----------
        role : {"owner"}
            The only one.

        Returns
        -------
        parties : list of PublicIdentity

        Examples
        --------
        >>> from skdp.datasets import load_heart_disease
        >>> from skdp.federated import SecureSum
        >>> from skdp.secure import Identity
        >>> wards = [Identity.generate(name).public for name in ("ward 1", "ward 2")]
        >>> plan = SecureSum.create(load_heart_disease().schema, wards)
        >>> [party.name for party in plan.parties("owner")]
        ['ward 1', 'ward 2']
        """
        return {"owner": self.owners}.get(role, [])

    def source(self, random_state: int | None = None) -> DPStatisticsSource:
        """Return a source with the plan's parameters, which alone would have the same guarantee.

        Parameters
        ----------
        random_state : int or None, default=None
            A seed warns: whoever knows it can remove an owner's part of the noise.

        Returns
        -------
        source : DPStatisticsSource

        Examples
        --------
        >>> from skdp.datasets import load_heart_disease
        >>> from skdp.federated import SecureSum
        >>> from skdp.secure import Identity
        >>> wards = [Identity.generate(name).public for name in ("ward 1", "ward 2")]
        >>> SecureSum.create(load_heart_disease().schema, wards).source().model
        'linear'
        """
        settings = self.epsilon, self.delta, self.schema, self.model, self.privacy_unit
        return _source(*settings, random_state)

    def accumulator(self) -> StatisticsAccumulator:
        """Return an empty accumulator for the rows of an owner, which must stay with it.

        Only for ``model="linear"``.

        Returns
        -------
        accumulator : StatisticsAccumulator

        Examples
        --------
        >>> from skdp.datasets import load_heart_disease
        >>> from skdp.federated import SecureSum
        >>> from skdp.secure import Identity
        >>> heart = load_heart_disease()
        >>> wards = [Identity.generate(name).public for name in ("ward 1", "ward 2")]
        >>> accumulator = SecureSum.create(heart.schema, wards).accumulator()
        >>> accumulator.add(heart.data, heart.target)
        """
        return self.source().accumulator()

    def guarantee(self, n_owners: int | None = None) -> PrivacyGuarantee:
        """Return the guarantee of the release, which each owner's ledger is charged.

        Parameters
        ----------
        n_owners : int or None, default=None
            How many take part. None: all.

        Returns
        -------
        guarantee : PrivacyGuarantee

        Examples
        --------
        >>> from skdp.datasets import load_heart_disease
        >>> from skdp.federated import SecureSum
        >>> from skdp.secure import Identity
        >>> wards = [Identity.generate(name).public for name in ("ward 1", "ward 2")]
        >>> SecureSum.create(load_heart_disease().schema, wards).guarantee().assumes[:46]
        'that at most 1 of the 2 owners reveal what the'
        """
        return self.sums(len(self.owners) if n_owners is None else n_owners).guarantee

    def sums(self, n_owners: int, random_state: int | None = None) -> JointSums:
        """Return what several owners add up to; for :meth:`combine` and :class:`SecureSumOwner`.

        Parameters
        ----------
        n_owners : int
            How many take part.

        random_state : int or None, default=None
            See :meth:`source`.

        Returns
        -------
        sums : JointSums
        """
        if random_state is None and n_owners in self._known_sums:
            return self._known_sums[n_owners]
        t = self.n_colluding
        sums = JointSums(
            self.source(random_state),
            n_owners,
            t,
            disjoint=self.disjoint,
            assumes=f"that at most {t} of the {n_owners} owners reveal what they know, or add "
            "less noise than agreed; that X25519, HKDF-SHA256 and ChaCha20 keep the masks secret",
        )
        if random_state is None:
            self._known_sums[n_owners] = sums
        return sums

    @cached_property
    def _known_sums(self):
        """Return what was made for these numbers of owners: public, and slow to make."""
        return {}

    def combine(self, messages: Iterable[bytes]) -> bytes | Release:
        """Return what the owners answer next, or the release.

        Parameters
        ----------
        messages : iterable of bytes
            Messages of owners: keys, of at least ``least_owners``; or the last request and its
            answers, of all owners whose keys are in it. In any order.

        Returns
        -------
        request : bytes or Release
            A request for :meth:`SecureSumOwner.answer`, the same for all owners; with all
            answers to the last one, the release.

        Raises
        ------
        ValueError
            If messages are missing, which names their owners, or one is not of this plan, is
            altered, or was made for other messages.

        Warns
        -----
        UserWarning
            When the release may not separate the classes.

        Examples
        --------
        >>> from skdp.privacy import PrivacyLedger
        >>> from skdp.datasets import load_heart_disease
        >>> from skdp.federated import SecureSum, SecureSumOwner
        >>> from skdp.secure import Identity
        >>> wards = [Identity.generate(name) for name in ("ward 1", "ward 2")]
        >>> plan = SecureSum.create(load_heart_disease().schema, [w.public for w in wards])
        >>> one = SecureSumOwner(plan, wards[0], plan.accumulator, ledger=PrivacyLedger())
        >>> plan.combine([one.join()])
        Traceback (most recent call last):
        ...
        ValueError: Only 1 of at least 2 owners have joined. Missing: 'ward 2'. ...
        """
        transcript = Transcript(self, messages)
        if transcript.next_round is not None:
            return transcript.content
        return transcript.sums.release(transcript.totals)


def _source(epsilon, delta, schema, model, privacy_unit, random_state=None):
    """Return the source with which a single owner would make the release of a plan."""
    return DPStatisticsSource(
        *(epsilon, delta),
        encoder=schema,
        model=model,
        privacy_unit=privacy_unit,
        random_state=random_state,
    )
