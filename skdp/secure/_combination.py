"""All roles in one process, to try a combination out."""

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from skdp.secure._identity import Identity
from skdp.secure._roles import KeyHolder, Participant, Server
from skdp.secure._scale import ScoreScale, class_scores
from skdp.secure._session import Session


class SecureCombination(ClassifierMixin, BaseEstimator):
    """Combine fitted local models as the parties of a session would, in one process.

    It makes keys, encrypts, combines and decrypts, with all messages that go between processes
    elsewhere, and so **protects nothing**: one process has all models and keys. It shows what a
    combination answers and costs before parties set up :class:`Session`, :class:`KeyHolder`,
    :class:`Participant` and :class:`Server`.

    Parameters
    ----------
    estimators : list of object
        Fitted classifiers on the same classes, at least two. :func:`sklearn.base.clone` forgets
        their fit, as cross-validation does, unless each is in a
        :class:`~sklearn.frozen.FrozenEstimator`.

    scale : tuple of (float, float), default=(0.0, 1.0)
        Public range of the scores, which are the likelier the larger; see :class:`ScoreScale`.

    method : {"auto", "decision_function", "predict_proba"}, default="auto"
        Which scores; see :func:`class_scores`.

    backend : {"plain", "fhe"}, default="plain"
        "plain" has no encryption.

    n_jobs : int or None, default=None
        Processes of the server; see :class:`Server`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.

    session_ : Session
        What the parties agreed on.

    n_features_in_ : int
        Number of features of the local models. Defined only where they have one.

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

    def __init__(
        self, estimators, *, scale=(0.0, 1.0), method="auto", backend="plain", n_jobs=None
    ):
        self.estimators = estimators
        self.scale = scale
        self.method = method
        self.backend = backend
        self.n_jobs = n_jobs

    def fit(self, X=None, y=None):
        """Make a session and its keys; nothing is learned.

        Parameters
        ----------
        X, y : object, default=None
            Ignored, here by convention: the estimators are fitted.

        Returns
        -------
        self : object
            Ready for queries.

        Raises
        ------
        ValueError
            When estimators are not fitted, or their classes differ.
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

    def predict(self, X):
        """Return the class of each query, by way of all roles.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features)
            Queries, as the estimators take them.

        Returns
        -------
        y : ndarray of shape (n_queries,)
            Class labels.
        """
        check_is_fitted(self)
        messages, ids = [], []
        for estimator, participant in zip(self.estimators, self._participants, strict=True):
            scores = class_scores(estimator, X, self.method)
            ids = [str(position) for position in range(len(scores))]
            messages.append(participant.encrypt(scores, classes=estimator.classes_, query_ids=ids))
        return self._holder.decrypt(self._server.combine(messages), self._secret_key, ids)
