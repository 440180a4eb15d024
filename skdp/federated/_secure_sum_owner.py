"""An owner in a secure sum: its keys, its answers, and what it refuses to answer."""

import os
from pathlib import Path

from skdp.federated._masks import mask, new_key
from skdp.federated._secure_sum import SecureSum
from skdp.federated._transcript import ANSWERS, KEY, Transcript
from skdp.privacy import PrivacyLedger
from skdp.secure import Identity, read_message, write_message
from skdp.source import StatisticsAccumulator
from skdp.utils._files import PRIVATE, locked, write_whole

# Seconds to wait for another process that answers for the same owner (rule of thumb).
_PATIENCE = 600.0


class SecureSumOwner:
    """Owner of private rows in a secure sum.

    It answers each round once: what it has sent is in its folder, and is sent again, unchanged,
    to the same request. It refuses requests with fewer owners than the plan demands, with owners
    who are not of the plan, without its own messages, or with other messages than those it has
    answered. A crashed process continues where it was.

    Parameters
    ----------
    plan : SecureSum
        The plan, whose ``digest`` all owners have compared.

    identity : Identity
        The owner's.

    folder : str or path-like
        A folder for this plan alone, which only its owner may read: it has a private key until the
        last answer is sent. Made if there is none.

    ledger : PrivacyLedger, str or path-like
        The privacy ledger of the rows, charged with the first answer. The second answer belongs to
        the same guarantee.

    random_state : int or None, default=None
        For tests. A seed warns: whoever knows it can remove the owner's part of the noise.

    Raises
    ------
    ValueError
        If the identity is not of the plan.

    See Also
    --------
    SecureSum : The plan, and the course of a secure sum.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from skdp.privacy import PrivacyLedger
    >>> from skdp.datasets import load_heart_disease
    >>> from skdp.federated import SecureSum, SecureSumOwner
    >>> from skdp.secure import Identity
    >>> wards = [Identity.generate(name) for name in ("ward 1", "ward 2")]
    >>> plan = SecureSum.create(load_heart_disease().schema, [ward.public for ward in wards])
    >>> with TemporaryDirectory() as folder:
    ...     owner = SecureSumOwner(plan, wards[0], folder, ledger=PrivacyLedger(1.0, 1e-5))
    ...     owner.join() == owner.join()
    True
    """

    def __init__(
        self,
        plan: SecureSum,
        identity: Identity,
        folder: str | os.PathLike[str],
        *,
        ledger: PrivacyLedger | str | os.PathLike[str],
        random_state: int | None = None,
    ):
        if identity.public not in plan.owners:
            raise ValueError(
                f"The 'identity' parameter of SecureSumOwner, {identity.name!r}, is no owner of "
                "this plan. Its name and key must be those of the plan."
            )
        if not isinstance(ledger, PrivacyLedger):
            ledger = PrivacyLedger.open(ledger)
        self.plan = plan
        self.identity = identity
        self.folder = Path(folder)
        self.ledger = ledger
        self.random_state = random_state

    def join(self) -> bytes:
        """Return the message by which the owner joins, and agrees to the plan.

        It holds a new public key, signed together with the digest of the plan. No rows are read,
        and nothing is charged.

        Returns
        -------
        message : bytes
            For whoever combines the messages; the same at each call.

        Raises
        ------
        ValueError
            If the folder was used for another plan, or by another owner.

        Examples
        --------
        >>> from tempfile import TemporaryDirectory
        >>> from skdp.privacy import PrivacyLedger
        >>> from skdp.datasets import load_heart_disease
        >>> from skdp.federated import SecureSum, SecureSumOwner
        >>> from skdp.secure import Identity
        >>> wards = [Identity.generate(name) for name in ("ward 1", "ward 2")]
        >>> plan = SecureSum.create(load_heart_disease().schema, [ward.public for ward in wards])
        >>> with TemporaryDirectory() as folder:
        ...     owner = SecureSumOwner(plan, wards[0], folder, ledger=PrivacyLedger(1.0, 1e-5))
        ...     type(owner.join())
        <class 'bytes'>
        """
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with self._locked():
            path = self._path(KEY)
            if not path.exists():
                self._forget_key()  # of a process that died in between
                private, public = new_key()
                with write_whole(self._private, overwrite=False, mode=PRIVATE) as file:
                    file.write(private)
                message = write_message(KEY, self.plan, self.identity, [public], key_id="")
                with write_whole(path, overwrite=False, mode=PRIVATE) as file:
                    file.write(message)
            message = path.read_bytes()
            sender = read_message(message, KEY, self.plan).sender  # not of another plan
            if sender != self.identity.name:
                raise ValueError(
                    f"{str(self.folder)!r} is the folder of {sender!r}, not of "
                    f"{self.identity.name!r}. Give each owner a folder of its own."
                )
            return message

    def answer(self, request: bytes, accumulator: StatisticsAccumulator) -> bytes:
        """Return the owner's masked answer to a request; charges the ledger in the first round.

        Parameters
        ----------
        request : bytes
            From :meth:`SecureSum.combine`.

        accumulator : StatisticsAccumulator
            Of the owner's rows, from :meth:`SecureSum.accumulator`; the same rows in both rounds.

        Returns
        -------
        message : bytes
            Signed; uniform noise to whoever lacks the answer of any other owner.

        Raises
        ------
        ValueError
            If the request is not one that the plan allows, or differs from what the owner has
            sent and answered before. Nothing is charged.

        BudgetExceededError
            When the ledger does not allow it; no noise is drawn.

        Examples
        --------
        >>> from tempfile import TemporaryDirectory
        >>> from skdp.privacy import PrivacyLedger
        >>> from skdp.datasets import load_heart_disease
        >>> from skdp.federated import SecureSum, SecureSumOwner
        >>> from skdp.secure import Identity
        >>> heart = load_heart_disease()
        >>> wards = [Identity.generate(name) for name in ("ward 1", "ward 2")]
        >>> plan = SecureSum.create(heart.schema, [ward.public for ward in wards])
        >>> folders = [TemporaryDirectory() for _ in wards]
        >>> owners = [
        ...     SecureSumOwner(plan, ward, folder.name, ledger=PrivacyLedger(1.0, 1e-5))
        ...     for ward, folder in zip(wards, folders)
        ... ]
        >>> request = plan.combine([owner.join() for owner in owners])
        >>> accumulator = plan.accumulator()
        >>> accumulator.add(heart.data[:100], heart.target[:100])
        >>> len(owners[0].answer(request, accumulator)) < 1000
        True
        >>> for folder in folders:
        ...     folder.cleanup()
        """
        transcript = Transcript(self.plan, [request])
        number = len(transcript.answers)
        if number == len(ANSWERS):
            raise ValueError(
                "The 'request' parameter has the answers of all rounds. Combine them into the "
                "release by SecureSum.combine."
            )
        if not self._path(KEY).exists():
            raise ValueError(
                f"{self.identity.name!r} has not joined: there is no key in {str(self.folder)!r}. "
                "Join first, and ask for a request with that message."
            )
        with self._locked():
            self._check_own(transcript)
            path = self._path(ANSWERS[number])
            if not path.exists():
                self._write_answer(transcript, accumulator, path)
            if number + 1 == len(ANSWERS):
                self._forget_key()  # whoever reads it later could remove the masks
            message = path.read_bytes()
            read_message(message, ANSWERS[number], self.plan, transcript.context)
            return message

    def _write_answer(self, transcript, accumulator, path):
        """Write an answer into the folder; nothing that can fail follows the charge."""
        number = len(transcript.answers)
        if not self._private.exists():
            raise ValueError(
                f"The private key in {str(self.folder)!r} is gone, without which "
                f"{self.identity.name!r} cannot answer. Begin a new secure sum."
            )
        masks = mask(
            self._private.read_bytes(),
            transcript.public_keys,
            self.identity.name,
            transcript.context,
            transcript.sums.size(number),
        )
        sums = self.plan.sums(len(transcript.owners), self.random_state)
        with write_whole(path, overwrite=False, mode=PRIVATE) as file:
            answer = sums.answer(
                transcript.totals,
                accumulator,
                masks,
                ledger=self.ledger,
                name=f"secure sum {self.plan.digest[:12]}",
            )
            message = write_message(
                ANSWERS[number],
                self.plan,
                self.identity,
                [answer.astype("<u8").tobytes()],
                key_id=transcript.context,
            )
            file.write(message)

    def _check_own(self, transcript):
        """Raise ValueError unless a transcript has exactly what this owner has sent."""
        name = self.identity.name
        sent = [self._path(kind) for kind in (KEY, *ANSWERS)][: len(transcript.answers) + 1]
        same = name in transcript.owners and all(
            path.exists() and path.read_bytes() == transcript.message_of(name, number)
            for number, path in enumerate(sent)
        )
        if not same:
            raise ValueError(
                f"The 'request' parameter lacks what {name!r} has sent, as it is in "
                f"{str(self.folder)!r}, or has something else. Ask for a request with it."
            )

    def _path(self, kind):
        """Return the file of the owner's message of a kind."""
        return self.folder / f"{kind.replace(' ', '-')}.msg"

    @property
    def _private(self):
        return self.folder / "private.key"

    def _forget_key(self):
        """Delete the private key, also what a process left that died while it wrote it."""
        for path in self.folder.glob(f"*{self._private.name}*"):
            path.unlink(missing_ok=True)

    def _locked(self):
        return locked(self.folder / "lock", _PATIENCE)

    def __repr__(self) -> str:
        return f"<SecureSumOwner {self.identity.name!r} of {self.plan!r}>"
