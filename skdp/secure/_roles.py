"""The roles of a session: key holder, participant and server, and all of them in one process."""

import os
import secrets
from collections.abc import Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, Self

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted

from skdp.secure._backends import make_backend
from skdp.secure._identity import Identity
from skdp.secure._messages import read_message, write_message
from skdp.secure._scale import ScoreScale, class_scores
from skdp.secure._session import Session
from skdp.utils._files import PRIVATE, write_whole
from skdp.utils._frames import as_frame


class _Role:
    """A party of a session."""

    _role: str

    def __init__(self, session: Session, identity: Identity):
        if identity.public not in session.parties(self._role):
            raise ValueError(
                f"The 'identity' of {type(self).__name__}, {identity.name!r}, is not a "
                f"{self._role} of this session. Use the name and key in the session."
            )
        self.session = session
        self.identity = identity

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.identity.name!r} of {self.session!r}>"


class KeyHolder(_Role):
    """Role that generates the keys and decrypts only the class of each query.

    Never send it the participants' ciphertexts, which it could decrypt, and never send the secret
    key to the server.

    Parameters
    ----------
    session : Session
        The agreed session.

    identity : Identity
        The key holder's identity.

    Examples
    --------
    >>> from skdp.secure import Identity, KeyHolder, ScoreScale, Session
    >>> holder, server, *wards = map(Identity.generate, ["holder", "server", "a", "b"])
    >>> session = Session.create(
    ...     [0, 1], ScoreScale(0, 1), holder.public, server.public,
    ...     [ward.public for ward in wards], backend="plain",
    ... )
    >>> secret_key, evaluation_keys = KeyHolder(session, holder).generate_keys()
    >>> type(secret_key)
    <class 'bytes'>
    """

    _role = "key holder"

    def generate_keys(self) -> tuple[bytes, bytes]:
        """Return a new secret key, and the evaluation keys of the server.

        Returns
        -------
        secret_key : bytes
            Signed, **not encrypted**. Send it to the participants over confidential channels, and
            never to the server. :meth:`save_secret_key` writes it to a file that other users
            cannot read.

        evaluation_keys : bytes
            Signed; for the server, which can compute but not decrypt with them.

        Examples
        --------
        >>> from skdp.secure import Identity, KeyHolder, Participant, ScoreScale, Server, Session
        >>> holder, cloud, *wards = map(Identity.generate, ["holder", "cloud", "a", "b"])
        >>> session = Session.create(
        ...     ["no", "yes"], ScoreScale(0, 1), holder.public, cloud.public,
        ...     [ward.public for ward in wards], backend="plain",
        ... )
        >>> key_holder = KeyHolder(session, holder)
        >>> secret_key, evaluation_keys = key_holder.generate_keys()
        >>> type(evaluation_keys)
        <class 'bytes'>
        """
        backend = make_backend(self.session.backend)
        secret, evaluation = backend.generate(self.session.circuit)
        key_id = secrets.token_hex(16)
        return tuple(
            write_message(kind, self.session, self.identity, [content], key_id=key_id)
            for kind, content in (("secret key", secret), ("evaluation keys", evaluation))
        )

    def save_secret_key(self, path: str | os.PathLike[str], secret_key: bytes) -> None:
        """Write the secret key to a new file that only this user may read.

        Parameters
        ----------
        path : str or path-like
            A file that does not exist yet.

        secret_key : bytes
            From :meth:`generate_keys`.

        Raises
        ------
        FileExistsError
            If the file exists.

        Examples
        --------
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> from skdp.secure import Identity, KeyHolder, Participant, ScoreScale, Server, Session
        >>> holder, cloud, *wards = map(Identity.generate, ["holder", "cloud", "a", "b"])
        >>> session = Session.create(
        ...     ["no", "yes"], ScoreScale(0, 1), holder.public, cloud.public,
        ...     [ward.public for ward in wards], backend="plain",
        ... )
        >>> key_holder = KeyHolder(session, holder)
        >>> secret_key, evaluation_keys = key_holder.generate_keys()
        >>> with TemporaryDirectory() as folder:
        ...     key_holder.save_secret_key(Path(folder, "secret.key"), secret_key)
        """
        read_message(secret_key, "secret key", self.session)
        with write_whole(path, overwrite=False, mode=PRIVATE) as file:
            file.write(secret_key)

    def decrypt(self, result: bytes, secret_key: bytes, query_ids: Sequence[str]) -> np.ndarray:
        """Return the class of each query.

        Parameters
        ----------
        result : bytes
            Output of :meth:`Server.combine`.

        secret_key : bytes
            From :meth:`generate_keys`.

        query_ids : sequence of str
            IDs of the queries; an answer to other queries is refused.

        Returns
        -------
        labels : ndarray of shape (n_queries,)
            Labels among the session's classes.

        Raises
        ------
        ValueError
            If the bytes are not the server's answer to these queries in this session, with
            these keys.

        Examples
        --------
        >>> from skdp.secure import Identity, KeyHolder, Participant, ScoreScale, Server, Session
        >>> holder, cloud, *wards = map(Identity.generate, ["holder", "cloud", "a", "b"])
        >>> session = Session.create(
        ...     ["no", "yes"], ScoreScale(0, 1), holder.public, cloud.public,
        ...     [ward.public for ward in wards], backend="plain",
        ... )
        >>> key_holder = KeyHolder(session, holder)
        >>> secret_key, evaluation_keys = key_holder.generate_keys()
        >>> server = Server(session, cloud, evaluation_keys)
        >>> participants = [Participant(session, ward, secret_key) for ward in wards]
        >>> messages = [
        ...     participant.encrypt([[0.3, 0.7]], classes=["no", "yes"], query_ids=["query 1"])
        ...     for participant in participants
        ... ]
        >>> result = server.combine(messages)
        >>> key_holder.decrypt(result, secret_key, ["query 1"]).tolist()
        ['yes']
        """
        query_ids = _check_ids(query_ids)
        client, key_id = _client(self.session, secret_key)
        answer = read_message(result, "classes", self.session, key_id)
        if answer.query_ids != query_ids or len(answer.parts) != len(query_ids):
            raise ValueError(
                "The server's message answers other queries than 'query_ids', or in another "
                "order. Ask the server for the answer to these."
            )
        classes = np.array(self.session.classes)
        with _library_faults(answer.sender):
            indices = client.decrypt(answer.parts)
        if any(index not in range(len(classes)) for index in indices):
            raise ValueError(
                "The server's message decrypts to no class of the session: it was not computed by "
                "the session's circuit. Ask the server to compute it again."
            )
        return classes[indices]


class Participant(_Role):
    """Role that rounds the scores of a local model to the public scale and encrypts them.

    Parameters
    ----------
    session : Session
        The agreed session.

    identity : Identity
        The participant's identity.

    secret_key : bytes
        From :meth:`KeyHolder.generate_keys`. The encryption is symmetric: participants could
        decrypt each other's ciphertexts, so channels to the server must be confidential.

    Examples
    --------
    >>> from skdp.secure import Identity, KeyHolder, Participant, ScoreScale, Session
    >>> holder, server, *wards = map(Identity.generate, ["holder", "server", "a", "b"])
    >>> session = Session.create(
    ...     [0, 1], ScoreScale(0, 1), holder.public, server.public,
    ...     [ward.public for ward in wards], backend="plain",
    ... )
    >>> secret_key, _ = KeyHolder(session, holder).generate_keys()
    >>> participant = Participant(session, wards[0], secret_key)
    >>> message = participant.encrypt([[0.2, 0.8]], classes=[0, 1], query_ids=["patient 7"])
    """

    _role = "participant"

    def __init__(self, session: Session, identity: Identity, secret_key: bytes):
        super().__init__(session, identity)
        self._client, self._key_id = _client(session, secret_key)

    def encrypt(self, scores: ArrayLike, *, classes: ArrayLike, query_ids: Sequence[str]) -> bytes:
        """Return encrypted scores, for the server.

        Parameters
        ----------
        scores : array-like of shape (n_queries, n_classes)
            Scores, for instance from :func:`class_scores`.

        classes : array-like of shape (n_classes,)
            Labels of the columns of the scores, the ``classes_`` of the local model; they must
            be the session's, in the same order.

        query_ids : sequence of str
            One ID per query, never used before in this session, and the same for all
            participants. The server sees them.

        Returns
        -------
        message : bytes
            Signed.

        Raises
        ------
        ValueError
            If the classes or the numbers of queries differ.

        Examples
        --------
        >>> from skdp.secure import Identity, KeyHolder, Participant, ScoreScale, Server, Session
        >>> holder, cloud, *wards = map(Identity.generate, ["holder", "cloud", "a", "b"])
        >>> session = Session.create(
        ...     ["no", "yes"], ScoreScale(0, 1), holder.public, cloud.public,
        ...     [ward.public for ward in wards], backend="plain",
        ... )
        >>> key_holder = KeyHolder(session, holder)
        >>> secret_key, evaluation_keys = key_holder.generate_keys()
        >>> participant = Participant(session, wards[0], secret_key)
        >>> message = participant.encrypt([[0.3, 0.7]], classes=["no", "yes"], query_ids=["7"])
        >>> type(message)
        <class 'bytes'>
        """
        query_ids = _check_ids(query_ids)
        if np.asarray(classes).tolist() != self.session.classes:
            raise ValueError(
                f"The classes of participant {self.identity.name!r} are not the session's "
                f"{self.session.classes!r} in this order. Fit all local models on these classes, "
                "and put their scores in this order."
            )
        dissimilarities = self.session.scale.dissimilarities(scores)
        if dissimilarities.shape != (len(query_ids), len(self.session.classes)):
            raise ValueError(
                f"The 'scores' parameter must have the shape (n_queries, n_classes) = "
                f"({len(query_ids)}, {len(self.session.classes)}), got {dissimilarities.shape}."
            )
        position = self.session.participants.index(self.identity.public)
        parts = self._client.encrypt(position, dissimilarities)
        return write_message(
            "scores", self.session, self.identity, parts, query_ids, key_id=self._key_id
        )


class Server(_Role):
    """Role that computes on ciphertexts, without the secret key and without any score.

    Parameters
    ----------
    session : Session
        The agreed session.

    identity : Identity
        The server's identity.

    evaluation_keys : bytes
        From :meth:`KeyHolder.generate_keys`.

    n_jobs : int or None, default=None
        Number of processes; each has a copy of the keys and computes one query at a time.
        ``None`` means 1 unless in a :obj:`joblib.parallel_config` context.

    Examples
    --------
    >>> from skdp.secure import Identity, KeyHolder, Participant, ScoreScale, Server, Session
    >>> holder, cloud, *wards = map(Identity.generate, ["holder", "cloud", "a", "b"])
    >>> session = Session.create(
    ...     ["no", "yes"], ScoreScale(0, 1), holder.public, cloud.public,
    ...     [ward.public for ward in wards], backend="plain",
    ... )
    >>> secret_key, evaluation_keys = KeyHolder(session, holder).generate_keys()
    >>> ids, classes = ["query 1"], ["no", "yes"]
    >>> messages = [
    ...     Participant(session, ward, secret_key).encrypt(scores, classes=classes, query_ids=ids)
    ...     for ward, scores in zip(wards, ([[0.3, 0.7]], [[0.9, 0.1]]))
    ... ]
    >>> result = Server(session, cloud, evaluation_keys).combine(messages)
    >>> KeyHolder(session, holder).decrypt(result, secret_key, ids).tolist()
    ['no']
    """

    _role = "server"

    def __init__(
        self,
        session: Session,
        identity: Identity,
        evaluation_keys: bytes,
        n_jobs: int | None = None,
    ):
        super().__init__(session, identity)
        self._keys, self._key_id = _read_keys(evaluation_keys, "evaluation keys", session)
        self.n_jobs = n_jobs
        with _library_faults(session.key_holder.name):
            self._evaluator = make_backend(session.backend).evaluator(session.circuit, self._keys)

    def combine(self, messages: Sequence[bytes]) -> bytes:
        """Return the encrypted class of each query.

        Parameters
        ----------
        messages : list of bytes
            One from each participant, in any order, on the same queries.

        Returns
        -------
        result : bytes
            Signed; for the key holder.

        Raises
        ------
        ValueError
            If a message was not made by a participant of this session with the server's keys,
            a message is missing or duplicated, or messages are on different queries.

        Examples
        --------
        >>> from skdp.secure import Identity, KeyHolder, Participant, ScoreScale, Server, Session
        >>> holder, cloud, *wards = map(Identity.generate, ["holder", "cloud", "a", "b"])
        >>> session = Session.create(
        ...     ["no", "yes"], ScoreScale(0, 1), holder.public, cloud.public,
        ...     [ward.public for ward in wards], backend="plain",
        ... )
        >>> key_holder = KeyHolder(session, holder)
        >>> secret_key, evaluation_keys = key_holder.generate_keys()
        >>> server = Server(session, cloud, evaluation_keys)
        >>> participants = [Participant(session, ward, secret_key) for ward in wards]
        >>> messages = [
        ...     participant.encrypt([[0.3, 0.7]], classes=["no", "yes"], query_ids=["query 1"])
        ...     for participant in participants
        ... ]
        >>> result = server.combine(messages)
        >>> type(result)
        <class 'bytes'>
        """
        names = [party.name for party in self.session.participants]
        received, ids = {}, []
        for message in messages:
            sender, parts, query_ids, _ = read_message(
                message, "scores", self.session, self._key_id
            )
            if sender in received:
                raise ValueError(
                    f"There are two messages of participant {sender!r}. Pass one of each."
                )
            if len(parts) != len(query_ids):
                raise ValueError(
                    f"The message of participant {sender!r} has {len(parts)} ciphertexts for "
                    f"{len(query_ids)} queries. Ask {sender!r} to encrypt them again."
                )
            received[sender] = parts
            ids.append(query_ids)
        missing = [name for name in names if name not in received]
        if missing:
            raise ValueError(
                f"Messages of {len(missing)} participants are missing, such as "
                f"{missing[:5]}. Pass one of each."
            )
        if any(query_ids != ids[0] for query_ids in ids):
            raise ValueError(
                "The participants' messages are on different queries, or in different orders. "
                "Combine messages with the same query_ids."
            )
        columns = list(zip(*(received[name] for name in names), strict=True))
        with _library_faults("a participant"):
            results = self._evaluate(columns)
        return write_message(
            "classes", self.session, self.identity, results, ids[0], key_id=self._key_id
        )

    def _evaluate(self, columns):
        n_jobs = min(effective_n_jobs(self.n_jobs), len(columns))
        if n_jobs < 2:
            return [self._evaluator.evaluate(column) for column in columns]
        # The library holds the interpreter's lock while it computes, so threads would not run in
        # parallel. Each process receives the keys once.
        shares = [columns[start::n_jobs] for start in range(n_jobs)]
        answers = Parallel(n_jobs=n_jobs)(
            delayed(_evaluate_share)(self.session.backend, self.session.circuit, self._keys, share)
            for share in shares
        )
        results: list = [None] * len(columns)
        for start, share in enumerate(answers):
            results[start::n_jobs] = share
        return results


def _evaluate_share(backend, circuit, keys, columns):
    evaluator = _process_evaluator(backend, circuit, keys)
    return [evaluator.evaluate(column) for column in columns]


@lru_cache(maxsize=1)
def _process_evaluator(backend, circuit, keys):
    """Return the evaluator of this process, cached so that keys are unpacked only once."""
    return make_backend(backend).evaluator(circuit, keys)


def _client(session, secret_key):
    """Return the client that encrypts and decrypts, and the ID of the keys."""
    secret, key_id = _read_keys(secret_key, "secret key", session)
    with _library_faults(session.key_holder.name):
        return make_backend(session.backend).client(session.circuit, secret), key_id


def _read_keys(message, kind, session):
    """Return the keys in a message, and their ID.

    ``read_message`` refuses messages that are unsigned, of another session or the wrong party.
    """
    sender, parts, _, key_id = read_message(message, kind, session)
    if len(parts) != 1:
        raise ValueError(
            f"The message with {kind!r} has {len(parts)} parts, not one. Ask {sender!r} for a new "
            "one."
        )
    return parts[0], key_id


@contextmanager
def _library_faults(sender):
    """Report errors of the library in reading signed bytes as errors of their sender."""
    try:
        yield
    except RuntimeError as error:
        raise ValueError(
            f"The signed bytes of {sender!r} do not fit the session's circuit ({error}). Ask for "
            "new ones."
        ) from error


def _check_ids(query_ids):
    ids = [] if isinstance(query_ids, str) else list(query_ids)
    texts = bool(ids) and all(isinstance(query_id, str) for query_id in ids)
    if not texts or len(set(ids)) < len(ids):
        raise ValueError(
            "The 'query_ids' parameter must be a sequence of different strings, one per query."
        )
    return ids


class SecureCombination(ClassifierMixin, BaseEstimator):
    """Simulate the secure combination of fitted local models in one process.

    The estimator generates keys, encrypts, combines and decrypts with the messages of a real
    session. It **protects nothing**, because one process has all models and keys. Use it to
    measure the accuracy and the cost of a combination before setting up :class:`Session`,
    :class:`KeyHolder`, :class:`Participant` and :class:`Server`.

    Parameters
    ----------
    estimators : list of object
        At least two fitted classifiers on the same classes. :func:`sklearn.base.clone`, and
        hence cross-validation, resets their fit unless each is wrapped in a
        :class:`~sklearn.frozen.FrozenEstimator`.

    scale : tuple of (float, float), default=(0.0, 1.0)
        Public range of the scores; larger ones are likelier. See :class:`ScoreScale`.

    method : {"auto", "decision_function", "predict_proba"}, default="auto"
        Method that computes the scores; see :func:`class_scores`.

    backend : {"plain", "fhe"}, default="plain"
        "plain" has no encryption.

    n_jobs : int or None, default=None
        Number of processes of the server; see :class:`Server`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.

    session_ : Session
        The simulated session.

    n_features_in_ : int
        Number of features of the local models. Defined only if they have it.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import LogisticRegression
    >>> from skdp.secure import SecureCombination
    >>> X, y = load_iris(return_X_y=True)
    >>> wards = [LogisticRegression(max_iter=500).fit(X[i::3], y[i::3]) for i in range(3)]
    >>> combination = SecureCombination(wards).fit()
    >>> combination.predict(X[:3]).tolist()
    [0, 0, 0]
    >>> combination.session_
    <Session of 3 participants and 3 classes, backend 'plain' (NO ENCRYPTION)>
    """

    classes_: np.ndarray
    session_: Session
    n_features_in_: int

    def __init__(
        self,
        estimators: Sequence[Any],
        *,
        scale: tuple[float, float] = (0.0, 1.0),
        method: str = "auto",
        backend: str = "plain",
        n_jobs: int | None = None,
    ):
        self.estimators = estimators
        self.scale = scale
        self.method = method
        self.backend = backend
        self.n_jobs = n_jobs

    def fit(self, X: Any = None, y: Any = None) -> Self:
        """Create a session and its keys; nothing is learned.

        Parameters
        ----------
        X, y : object, default=None
            Ignored, present for API consistency: the estimators are already fitted.

        Returns
        -------
        self : object
            Ready for queries.

        Raises
        ------
        ValueError
            If estimators are fewer than two, or their classes differ.

        sklearn.exceptions.NotFittedError
            If an estimator is not fitted.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from sklearn.linear_model import LogisticRegression
        >>> from skdp.secure import SecureCombination
        >>> X, y = load_iris(return_X_y=True)
        >>> wards = [LogisticRegression(max_iter=500).fit(X[i::3], y[i::3]) for i in range(3)]
        >>> SecureCombination(wards).fit().classes_
        array([0, 1, 2])
        """
        estimators = list(self.estimators)
        if len(estimators) < 2:
            raise ValueError(
                "The 'estimators' parameter of SecureCombination must hold at least two fitted "
                f"classifiers, got {len(estimators)}."
            )
        for estimator in estimators:
            check_is_fitted(estimator)
        names = ["key holder", "server", *(f"participant {i}" for i in range(len(estimators)))]
        holder, server, *others = map(Identity.generate, names)
        first = estimators[0]
        for position, estimator in enumerate(estimators):
            if not np.array_equal(estimator.classes_, first.classes_):
                raise ValueError(
                    f"estimators[{position}] and estimators[0] have different classes. Fit all on "
                    "the same classes."
                )
        self.session_ = Session.create(
            first.classes_,
            ScoreScale(*self.scale),
            holder.public,
            server.public,
            [other.public for other in others],
            backend=self.backend,
        )
        self.classes_ = np.array(self.session_.classes)
        if hasattr(first, "n_features_in_"):
            self.n_features_in_ = first.n_features_in_
        self._holder = KeyHolder(self.session_, holder)
        self._secret_key, evaluation_keys = self._holder.generate_keys()
        self._participants = [
            Participant(self.session_, other, self._secret_key) for other in others
        ]
        self._server = Server(self.session_, server, evaluation_keys, self.n_jobs)
        return self

    def predict(self, X: ArrayLike) -> np.ndarray:
        """Return the class of each query, with the messages of all roles.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features)
            Queries, as for the estimators.

        Returns
        -------
        y : ndarray of shape (n_queries,)
            Class labels.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from sklearn.linear_model import LogisticRegression
        >>> from skdp.secure import SecureCombination
        >>> X, y = load_iris(return_X_y=True)
        >>> wards = [LogisticRegression(max_iter=500).fit(X[i::3], y[i::3]) for i in range(3)]
        >>> bool((SecureCombination(wards).fit().predict(X) == y).mean() > 0.9)
        True
        """
        check_is_fitted(self)
        X, messages, ids = as_frame(X), [], []
        for estimator, participant in zip(self.estimators, self._participants, strict=True):
            scores = class_scores(estimator, X, self.method)
            ids = [str(position) for position in range(len(scores))]
            messages.append(participant.encrypt(scores, classes=estimator.classes_, query_ids=ids))
        return self._holder.decrypt(self._server.combine(messages), self._secret_key, ids)
