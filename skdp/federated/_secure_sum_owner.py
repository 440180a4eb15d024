"""An owner in a secure sum: its keys, its answers, and its refusals."""

import os
from collections.abc import Callable
from threading import Lock
from typing import Any

from skdp.federated._masks import mask, new_key
from skdp.federated._secure_sum import SecureSum
from skdp.federated._transcript import ANSWER, KEY, Transcript
from skdp.privacy import PrivacyLedger
from skdp.secure import Identity, read_message, write_message
from skdp.source import StatisticsAccumulator


class SecureSumOwner:
    """Owner of private rows in a secure sum, in one process.

    It answers each round once, with the same rows, and repeats the same bytes for the same
    request. It refuses requests with too few owners, with owners outside the plan, without its
    own messages, or with other messages than it answered before, and reads no row for them. Its
    key is in memory only and deleted with the last answer: a process that ends before aborts the
    sum for all owners, and charges remain.

    Parameters
    ----------
    plan : SecureSum
        The plan, whose ``digest`` all owners have compared.

    identity : Identity
        The owner's identity.

    rows : StatisticsAccumulator, tuple or callable
        The owner's rows as they are when the owner joins: an accumulator from
        :meth:`SecureSum.accumulator`; for a plan with ``model="gradients"``, a tuple of X and y,
        and groups if people are protected. A function without arguments that returns these is
        called for the first valid request.

    ledger : PrivacyLedger, str or path-like
        The privacy ledger of the rows. The first answer is charged; its guarantee includes all
        later ones.

    random_state : int or None, default=None
        For tests. A seed warns: whoever knows it can remove the owner's part of the noise.

    Raises
    ------
    ValueError
        If the identity is not in the plan.

    See Also
    --------
    SecureSum : The plan and the steps of a secure sum.

    Examples
    --------
    >>> from skdp.privacy import PrivacyLedger
    >>> from skdp.datasets import load_heart_disease
    >>> from skdp.federated import SecureSum, SecureSumOwner
    >>> from skdp.secure import Identity
    >>> heart = load_heart_disease()
    >>> wards = [Identity.generate(name) for name in ("ward 1", "ward 2")]
    >>> plan = SecureSum.create(heart.schema, [ward.public for ward in wards])
    >>> owners = []
    >>> for ward, half in zip(wards, (slice(0, 400), slice(400, None))):
    ...     rows = plan.accumulator()
    ...     rows.add(heart.data[half], heart.target[half])
    ...     owners.append(SecureSumOwner(plan, ward, rows, ledger=PrivacyLedger(1.0, 1e-5)))
    >>> owners[0]  # doctest: +NORMALIZE_WHITESPACE
    <SecureSumOwner 'ward 1' of <SecureSum of 2 owners, epsilon 1, delta 1e-05 per record, each at
    one owner, at most 1 colluding>>

    The examples of the methods use this owner.
    """

    def __init__(
        self,
        plan: SecureSum,
        identity: Identity,
        rows: StatisticsAccumulator | tuple[Any, ...] | Callable[[], Any],
        *,
        ledger: PrivacyLedger | str | os.PathLike[str],
        random_state: int | None = None,
    ):
        if identity.public not in plan.owners:
            raise ValueError(
                f"The 'identity' parameter of SecureSumOwner, {identity.name!r}, is not an owner "
                "in this plan. Use the name and key in the plan."
            )
        if not isinstance(ledger, PrivacyLedger):
            ledger = PrivacyLedger.open(ledger)
        self.plan = plan
        self.identity = identity
        self.rows = rows
        self.ledger = ledger
        self.random_state = random_state
        self._private, self._public = new_key()
        # The public key, and the answers.
        self._sent: list[bytes] = []
        # Exact rows, from the first answer to the last, and what is asked of them.
        self._rows: Any = None
        self._sums: Any = None
        self._lock = Lock()

    def join(self, *, disjoint: bool = False) -> bytes:
        """Return the message by which the owner joins and agrees to the plan.

        It contains a new public key, signed with the digest of the plan. Nothing is charged.

        Parameters
        ----------
        disjoint : bool, default=False
            As in the plan: True if all owners agree that nobody has rows at two of them.

        Returns
        -------
        message : bytes
            For the organizer; the same at each call.

        Raises
        ------
        ValueError
            If it differs from the plan, or the rows do not fit the plan, are none, or too many.

        Examples
        --------
        >>> owners[0].join() == owners[0].join()
        True
        """
        if disjoint is not self.plan.disjoint:
            raise ValueError(
                f"The 'disjoint' parameter of SecureSumOwner.join must be {self.plan.disjoint}, "
                f"as in the plan, got {disjoint!r:.100}. True means that nobody has rows at two "
                "owners; otherwise ask for another plan."
            )
        with self._lock:
            if not self._sent:
                if not callable(self.rows):  # before anybody is charged
                    self._rows = self._read()
                key = write_message(KEY, self.plan, self.identity, [self._public], key_id="")
                self._sent.append(key)
            return self._sent[0]

    def answer(self, request: bytes) -> bytes:
        """Return the owner's masked answer to a request; the first one charges the ledger.

        Parameters
        ----------
        request : bytes
            From :meth:`SecureSum.combine`.

        Returns
        -------
        message : bytes
            Signed; looks like uniform noise without the answers of all other owners.

        Raises
        ------
        ValueError
            If the request does not fit the plan or what the owner has sent before; no row is
            read then. Or if the rows do not fit the plan, or are too many. Nothing is charged.

        BudgetExceededError
            If the ledger does not allow it; no noise is drawn.

        Examples
        --------
        >>> request = plan.combine([owner.join() for owner in owners])
        >>> answers = [owner.answer(request) for owner in owners]
        >>> len(answers[0]) < 1000, owners[0].ledger.total.epsilon
        (True, 1.0)
        """
        transcript = Transcript(self.plan, [request])
        number = len(transcript.totals)
        if transcript.next_round is None:
            raise ValueError(
                "The 'request' parameter has the answers of all rounds. Combine them into the "
                "release with SecureSum.combine."
            )
        with self._lock:
            if transcript.message_of(self.identity.name) not in self._sent[number : number + 1]:
                raise ValueError(
                    f"The 'request' parameter lacks the messages of {self.identity.name!r}, or "
                    "has others. Join first, and ask for a request with it; a new process needs a "
                    "new secure sum."
                )
            if len(self._sent) == number + 1:
                self._sent.append(self._answer(transcript))
            message = self._sent[number + 1]
        read_message(message, ANSWER, self.plan, transcript.context)
        return message

    def _answer(self, transcript):
        """Return a new answer; checks come before the charge, and rows come last."""
        if self._sums is None:
            self._sums = self.plan.sums(len(transcript.owners), self.random_state)
        keys, asked = transcript.public_keys, transcript.next_round
        masks = mask(self._private, keys, self.identity.name, transcript.context, asked.size)
        if self._rows is None:
            self._rows = self._read()
        answer = self._sums.answer(
            transcript.totals,
            self._rows,
            masks,
            ledger=self.ledger,
            name=f"secure sum {self.plan.digest[:12]}",
        )
        if asked.is_last:  # whoever reads the key later could remove the masks
            self._private = self._rows = None
        parts = [answer.astype("<u8").tobytes()]
        return write_message(ANSWER, self.plan, self.identity, parts, key_id=transcript.context)

    def _read(self):
        """Return exact rows, in which no later row counts."""
        rows = self.rows() if callable(self.rows) else self.rows
        return self.plan.sums(len(self.plan.owners)).exact(rows)

    def __repr__(self) -> str:
        return f"<SecureSumOwner {self.identity.name!r} of {self.plan!r}>"
