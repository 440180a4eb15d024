"""Networks on perturbed inputs and labels: the adaptive Laplace mechanism, and two baselines."""

from copy import deepcopy
from numbers import Real

import numpy as np
import torch
from sklearn.utils.validation import check_is_fitted

from skdp.neural._accounts import PrivacyAccount
from skdp.neural._base import ROUNDING, PrivateNetworkClassifier
from skdp.neural._dpsgd import train_dpsgd
from skdp.neural._losses import label_coefficients, taylor_loss, taylor_probabilities
from skdp.neural._network import Network
from skdp.neural._perturbation import Perturbation
from skdp.neural._relevance import budget_shares, relevance_cost
from skdp.neural._training import Progress, calibrate, train
from skdp.utils._parallel import draw_seeds
from skdp.utils._sklearn import Interval, StrOptions

_SUMS = "sums over one batch of inputs and of coefficients"
_ROW = "a labelled record"


class AdaptiveLaplaceClassifier(PrivateNetworkClassifier):
    r"""Neural network on perturbed inputs and a perturbed loss: the adaptive Laplace mechanism.

    Phan et al. (2017) add Laplace noise to the inputs of the first layer, more to those that
    matter less, and to the coefficients of a polynomial loss, all once, so that the budget is
    said not to depend on the number of epochs. With d columns in [0, 1], batches of \|L\| rows, a
    first layer h₀, M classes and \|h\| units in the last hidden layer, the scales are

    .. math::
       b_j = \frac{Δ_{h_0}}{|L|\,β_j ε_2},\quad Δ_{h_0} = 2 \sum_{h \in h_0} d, \qquad
       b_y = \frac{Δ_F}{|L|\,ε_3},\quad Δ_F = M\,(|h| + \tfrac14 |h|^2),

    where β are shares of the columns by their relevance, perturbed with budget ε₁.

    **What is protected.** The paper's proofs are about *sums over a batch*, while every layer
    above the first reads *rows*. With ``noise_per="row"`` each row has noise of its own, drawn
    once; whatever is trained on it is post-processing, and one labelled record has

    .. math:: ε_{row} = ε_R + \sum_j \frac{1}{b_j} + \frac{2}{b_y}

    (ε_R for the relevances: ε₁/2 with a public ``pretrained`` network) for any number of epochs: a
    true guarantee, but far more than the paper's ε, and more noise than a network learns from
    where it is small. With ``noise_per="batch"`` one draw is shared by the rows of a batch, as the
    equations (19)-(21) of the paper have it; then the difference of two rows has no noise at all,
    normalisation over the batch removes the noise, and **nothing is guaranteed for a row**.
    ``guarantee_`` and :meth:`accounts` say so, and a :class:`~skdp.PrivacyLeakWarning` does. For a
    guarantee for records at a small ε use ``mechanism="dpsgd"`` or
    :class:`~skdp.DPStatisticsSource`.

    Parameters
    ----------
    epsilon : float, default=1.0
        Budget ε₁ + ε₂ + ε₃ of the paper; of one labelled record with ``mechanism="dpsgd"``.

    delta : float, default=1e-5
        Slack δ of ``mechanism="dpsgd"``; the others are pure.

    mechanism : {"adaptive", "identical", "dpsgd"}, default="adaptive"
        Noise by relevance; the same noise for each column (ILM, without ε₁, which goes to ε₂); or
        noisy clipped gradients, by Opacus (Abadi et al., 2016).

    noise_per : {"row", "batch"}, default="row"
        Which reading of the paper is trained, see above.

    budget_split : tuple of 3 float, default=(0.25, 0.25, 0.5)
        Parts of ε₁, ε₂ and ε₃.

    pretrained : AdaptiveLaplaceClassifier, "private" or None, default=None
        Network whose relevances are used: a fitted one, which has to be of public rows, or of
        others whose guarantee you account for; "private" trains it on the private rows without
        noise, as the paper does, after which nothing is guaranteed; None trains it with half of
        ε₁ by the identical mechanism.

    image_shape : tuple of int, default=None
        (height, width) or (channels, height, width) of a row, for convolutions; dense layers
        otherwise.

    hidden_layer_sizes : tuple of int, default=(32, 64, 25)
        Maps of each convolution of stride 2, or units of each dense layer, and last the units of
        the dense layer below the scores.

    kernel_size : int, default=5
        Odd side of the filters.

    normalization : {"response", "batch"}, default="response"
        That of the paper, which for convolutions is across maps (equation (22)) and for dense
        layers the range over a batch; or centring of each unit over the batch, which learns much
        faster.

    batch_size : int, default=1800
        Rows \|L\| of a batch; noise falls with it.

    n_epochs : int, default=10
        Passes over the rows. The paper makes hundreds.

    learning_rate : float, default=2e-3
        Of Adam.

    max_grad_norm : float, default=1.0
        Largest norm of a row's gradient, with ``mechanism="dpsgd"``.

    bounds : pair (low, high), default=(0, 1)
        Publicly known bounds of the columns, each a number or an array of shape (n_features,).

    classes : array-like, default=None
        Publicly known list of classes. By default, those of y, which are not protected.

    warm_start : bool, default=False
        Go on with the network of the last fit. Noise is drawn again, and ``guarantee_`` is that
        of all fits together.

    device : {"auto", "cpu", "cuda"}, default="auto"
        Where to train.

    verbose : int, default=0
        Print progress: no losses, which are private.

    random_state : int, RandomState instance or None, default=None
        Weights, batches and noise. Whoever knows an integer can remove the noise.

    Attributes
    ----------
    guarantee_ : PrivacyGuarantee
        Of one labelled record; ε is infinite where nothing is guaranteed.

    accounts_ : list of PrivacyAccount
        What :meth:`accounts` shows.

    budget_shares_ : ndarray of shape (n_features,)
        β of each column; not with ``mechanism="dpsgd"``.

    classes_ : ndarray of shape (n_classes,)
        Class labels.

    network_ : torch.nn.Module
        On the CPU.

    bounds_ : ndarray of shape (2, n_features)
        Low and high of each column.

    n_features_in_ : int
        Columns of the rows.

    feature_names_in_ : ndarray of shape (n_features,)
        Their names, where they have any.

    Notes
    -----
    The coefficients of the second order of the loss are the same for every row, and get no noise.
    The paper's Δ of a convolution is counted for one map, as maps share their inputs. Opacus draws
    noise by the generator of PyTorch, which is no cryptographic one, in floating point.

    References
    ----------
    Phan, N. H., Wu, X., Hu, H. and Dou, D., "Adaptive Laplace mechanism: differential privacy
    preservation in deep learning", 2017, corrected version: Algorithm 1, equations (4)-(25).

    Abadi, M. et al., "Deep learning with differential privacy", 2016.

    Examples
    --------
    >>> import warnings
    >>> from sklearn.datasets import load_digits
    >>> from skdp.neural import AdaptiveLaplaceClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> network = AdaptiveLaplaceClassifier(
    ...     epsilon=1.0, bounds=(0, 16), image_shape=(8, 8), hidden_layer_sizes=(8, 16, 10),
    ...     kernel_size=3, batch_size=300, n_epochs=1, random_state=0,
    ... )
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     network = network.fit(X, y)
    >>> round(network.guarantee_.epsilon, 1)
    20.5
    """

    _parameter_constraints: dict = {
        **PrivateNetworkClassifier._parameter_constraints,
        "delta": [Interval(Real, 0, 1, closed="left")],
        "mechanism": [StrOptions({"adaptive", "identical", "dpsgd"})],
        "noise_per": [StrOptions({"row", "batch"})],
        "budget_split": [tuple, list],
        "pretrained": [StrOptions({"private"}), PrivateNetworkClassifier, None],
        "normalization": [StrOptions({"response", "batch"})],
        "max_grad_norm": [Interval(Real, 0, None, closed="neither")],
    }
    _saved = (
        *PrivateNetworkClassifier._saved,
        *("delta", "mechanism", "budget_split", "normalization", "batch_size"),
    )
    _architectural = (*PrivateNetworkClassifier._architectural, "mechanism", "normalization")

    def __init__(
        self,
        epsilon=1.0,
        delta=1e-5,
        *,
        mechanism="adaptive",
        noise_per="row",
        budget_split=(0.25, 0.25, 0.5),
        pretrained=None,
        image_shape=None,
        hidden_layer_sizes=(32, 64, 25),
        kernel_size=5,
        normalization="response",
        batch_size=1800,
        n_epochs=10,
        learning_rate=2e-3,
        max_grad_norm=1.0,
        bounds=(0, 1),
        classes=None,
        warm_start=False,
        device="auto",
        verbose=0,
        random_state=None,
    ):
        self.epsilon = epsilon
        self.delta = delta
        self.mechanism = mechanism
        self.noise_per = noise_per
        self.budget_split = budget_split
        self.pretrained = pretrained
        self.image_shape = image_shape
        self.hidden_layer_sizes = hidden_layer_sizes
        self.kernel_size = kernel_size
        self.normalization = normalization
        self.batch_size = batch_size
        self.n_epochs = n_epochs
        self.learning_rate = learning_rate
        self.max_grad_norm = max_grad_norm
        self.bounds = bounds
        self.classes = classes
        self.warm_start = warm_start
        self.device = device
        self.verbose = verbose
        self.random_state = random_state

    def __sklearn_clone__(self):
        # A network that is given as it is, fitted; scikit-learn clones it to an unfitted one.
        copy = super().__sklearn_clone__()
        copy.pretrained = self.pretrained
        return copy

    def _make_network(self, architecture):
        by_row = self.mechanism == "dpsgd"
        return Network(architecture, "none" if by_row else self.normalization)

    def _probabilities(self, scores):
        if self._fitted_with["mechanism"] == "dpsgd":
            return scores.softmax(dim=1)
        return taylor_probabilities(scores)

    def _describe(self):
        if self.mechanism == "dpsgd":
            return {"mechanism": "DP-SGD", "relation": "add/remove"}
        given = self.mechanism == "adaptive" and isinstance(
            self.pretrained, PrivateNetworkClassifier
        )
        return {
            "mechanism": f"the {self.mechanism} Laplace mechanism per {self.noise_per}",
            "besides": ", and what the pretrained network was trained on" if given else "",
        }

    def _accounts_fit(self, *accounts):
        if self.mechanism != "dpsgd":
            return super()._accounts_fit(*accounts)
        [account] = accounts
        within = account.epsilon <= self.epsilon * (1 + ROUNDING)
        return within and account.delta == self.delta

    def _train(self, network, rows, labels, random_state):
        if self.mechanism == "dpsgd":
            return [self._train_dpsgd(network, rows, labels, random_state)]
        budgets = self._budgets()
        spent, shares = 0.0, getattr(self, "budget_shares_", None)
        if self.mechanism == "identical":
            shares = np.ones(rows.shape[1])
        elif shares is None:  # a network that goes on keeps its shares
            shares, spent = self._find_shares(network, rows, labels, budgets, random_state)
        perturbation = self._perturbation(network.architecture, shares, len(rows), budgets[1:])
        self._descend(network, rows, labels, perturbation, random_state, "network")
        self.budget_shares_ = shares
        return self._count(spent + perturbation.row_epsilon, budgets)

    def _budgets(self):
        """Return ε₁, ε₂ and ε₃."""
        numbers = all(isinstance(part, Real) for part in self.budget_split)
        parts = np.asarray(self.budget_split if numbers else (), dtype=float)
        if parts.shape != (3,) or not (parts > 0).all() or not np.isclose(parts.sum(), 1):
            raise ValueError(
                "The 'budget_split' parameter of AdaptiveLaplaceClassifier must be three positive "
                f"numbers that sum to 1, got {self.budget_split!r}."
            )
        relevance, inputs, loss = parts * self.epsilon
        if self.mechanism == "identical":
            relevance, inputs = 0.0, relevance + inputs
        return relevance, inputs, loss

    def _perturbation(self, architecture, shares, n, budgets):
        inputs, loss = budgets
        rows_of_a_batch = min(n, self.batch_size)
        n_hidden = architecture.hidden_layer_sizes[-1]
        input_sensitivity = 2 * architecture.first_layer_inputs
        loss_sensitivity = architecture.n_classes * (n_hidden + n_hidden**2 / 4)
        return Perturbation(
            input_sensitivity / (rows_of_a_batch * inputs * shares),
            loss_sensitivity / (rows_of_a_batch * loss),
            per_row=self.noise_per == "row",
        )

    def _find_shares(self, network, rows, labels, budgets, random_state):
        """Return the shares of columns, and what they cost one row."""
        epsilon, source = budgets[0], self._noise_source(random_state)
        if isinstance(self.pretrained, PrivateNetworkClassifier):
            check_is_fitted(self.pretrained, "network_")
            self._check_pretrained(rows.shape[1])
            relevant = deepcopy(self.pretrained.network_).to(rows)
            return budget_shares(relevant, rows, epsilon, source), relevance_cost(rows, epsilon)
        relevant = deepcopy(network)
        if self.pretrained == "private":
            split, spent = (np.inf, np.inf), np.inf
        else:
            epsilon, spent = epsilon / 2, 0.0
            _, inputs, loss = self.budget_split
            split = epsilon * np.array([inputs, loss]) / (inputs + loss)
        even = np.ones(rows.shape[1])
        perturbation = self._perturbation(network.architecture, even, len(rows), split)
        self._descend(relevant, rows, labels, perturbation, random_state, "relevance")
        shares = budget_shares(relevant, rows, epsilon, source)
        return shares, relevance_cost(rows, epsilon) + (spent or perturbation.row_epsilon)

    def _check_pretrained(self, n_features):
        if not isinstance(self.pretrained.network_, Network):
            raise ValueError(
                "The 'pretrained' parameter of AdaptiveLaplaceClassifier must be a fitted "
                f"AdaptiveLaplaceClassifier, 'private' or None, got a "
                f"{type(self.pretrained).__name__}."
            )
        if self.pretrained.n_features_in_ != n_features:
            raise ValueError(
                "The 'pretrained' network of AdaptiveLaplaceClassifier was fitted on "
                f"{self.pretrained.n_features_in_} columns, X has {n_features}. Fit it on the "
                "same ones."
            )

    def _descend(self, network, rows, labels, perturbation, random_state, label):
        """Minimise the perturbed loss on perturbed rows."""
        coefficients = label_coefficients(labels, network.architecture.n_classes).to(rows)
        generator = torch.Generator().manual_seed(int(draw_seeds(random_state)))
        take = perturbation.of_all_rows(rows, coefficients, self._noise_source(random_state))

        def loss_of(trained, positions):
            some_rows, some_coefficients = take(positions)
            return taylor_loss(trained(some_rows), some_coefficients)

        network.train()
        train(
            network,
            loss_of,
            len(rows),
            batch_size=self.batch_size,
            n_epochs=self.n_epochs,
            learning_rate=self.learning_rate,
            generator=generator,
            progress=Progress(self.verbose, self.n_epochs, label),
        )
        # Rows that have noise of their own may be read again; of the others, nothing is protected.
        positions = torch.randperm(len(rows), generator=generator)
        calibrate(network, take(positions)[0] if perturbation.per_row else rows[positions])

    def _train_dpsgd(self, network, rows, labels, random_state):
        if not (np.isfinite(self.epsilon) and self.delta > 0):
            raise ValueError(
                "mechanism='dpsgd' needs a finite 'epsilon' and a 'delta' above 0, got epsilon="
                f"{self.epsilon} and delta={self.delta}: its noise is Gaussian. Use "
                "mechanism='identical' with epsilon=np.inf to train without noise."
            )
        return train_dpsgd(
            network,
            rows,
            torch.as_tensor(labels, device=rows.device),
            epsilon=self.epsilon,
            delta=self.delta,
            batch_size=self.batch_size,
            n_epochs=self.n_epochs,
            learning_rate=self.learning_rate,
            max_grad_norm=self.max_grad_norm,
            generator=torch.Generator().manual_seed(int(draw_seeds(random_state))),
            progress=Progress(self.verbose, self.n_epochs, "DP-SGD"),
        )

    def _count(self, row_epsilon, budgets):
        """Return the accounts of one training; the last is that of one labelled record."""
        relevance, inputs, loss = budgets
        if self.noise_per == "row":
            claim = "independent noise of the rows of a batch averages out in their sum"
            why = "each row is perturbed once, and all else is computed from that"
        else:
            claim = "the layers above the first read rows, which share their noise, and not sums"
            why = "the rows of a batch share one draw, so that their differences have no noise"
        if not np.isfinite(row_epsilon) and self.noise_per == "row":
            why = "the network of the relevances was trained on the rows without noise"
        if not np.isfinite(self.epsilon):
            why = "no noise was added"
        epochs = relevance + self.n_epochs * (inputs + loss)
        holds = bool(np.isfinite(row_epsilon))
        return [
            PrivacyAccount("as the paper counts", _SUMS, self.epsilon, 0.0, False, claim),
            PrivacyAccount("composed over epochs", _SUMS, epochs, 0.0, False, claim),
            PrivacyAccount("one row", _ROW, row_epsilon, 0.0, holds, why),
        ]
