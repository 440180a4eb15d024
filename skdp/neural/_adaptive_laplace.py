"""Networks on perturbed inputs and labels: the adaptive Laplace mechanism and two baselines."""

import warnings
from copy import deepcopy
from numbers import Real
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from skdp.neural._accounts import PrivacyAccount
from skdp.neural._base import KernelSize, PrivateNetworkClassifier
from skdp.neural._network import Network, relevances
from skdp.neural._training import (
    NOISE_STEP,
    Perturbation,
    Progress,
    calibrate,
    label_coefficients,
    perturb_rows,
    taylor_loss,
    taylor_probabilities,
    train,
)
from skdp.utils._parallel import draw_seeds
from skdp.utils._sklearn import Interval, StrOptions

# Rows of a block in computing relevances, and in computing gradients with mechanism="dpsgd" (rules
# of thumb; the latter take half a gigabyte for the paper's network).
_RELEVANCE_CHUNK, _GRADIENT_CHUNK = 1000, 512


class AdaptiveLaplaceClassifier(PrivateNetworkClassifier):
    r"""Neural network on perturbed inputs and a perturbed loss: the adaptive Laplace mechanism.

    Phan et al. (2017) add Laplace noise once to the inputs of the first layer, more to less
    relevant ones, and to the coefficients of a polynomial loss. According to the paper, the
    budget does not depend on the number of epochs. With d columns in [0, 1], batches of \|L\|
    rows, a first layer h₀, M classes and \|h\| units in the last hidden layer, the scales are

    .. math::
       b_j = \frac{Δ_{h_0}}{|L|\,β_j ε_2},\quad Δ_{h_0} = 2 \sum_{h \in h_0} d, \qquad
       b_y = \frac{Δ_F}{|L|\,ε_3},\quad Δ_F = M\,(|h| + \tfrac14 |h|^2),

    where β are the columns' shares by relevance, perturbed with budget ε₁.

    **Privacy.** The paper's proofs are about *sums over a batch*, but every layer above the
    first reads *rows*. With ``noise_per="row"`` each row has its own noise, drawn once; all
    training on it is post-processing, and one labeled record has

    .. math:: ε_{row} = ε_R + \sum_j \frac{1}{b_j} + \frac{2}{b_y}

    (ε_R for the relevances: ε₁/2 with a public ``pretrained`` network) for any number of epochs.
    This guarantee is valid, but its ε is much larger than the paper's; if it is small, noise
    prevents the network from learning. With ``noise_per="batch"`` the rows of a batch share one
    draw, as in equations (19)-(21) of the paper: the difference of two rows has no noise,
    normalization over the batch removes the noise, and **nothing is guaranteed for a row**.
    ``guarantee_``, :meth:`accounts` and a :class:`~skdp.PrivacyLeakWarning` state this. For a
    guarantee for records at a small ε, use ``mechanism="dpsgd"`` or
    :class:`~skdp.DPStatisticsSource`.

    Parameters
    ----------
    epsilon : float, default=1.0
        Budget ε₁ + ε₂ + ε₃ of the paper; with ``mechanism="dpsgd"``, ε of one labeled record.

    delta : float, default=1e-5
        Slack δ of ``mechanism="dpsgd"``; the others have δ = 0.

    mechanism : {"adaptive", "identical", "dpsgd"}, default="adaptive"
        Noise by relevance; the same noise for each column (ILM, without ε₁, which goes to ε₂); or
        noisy clipped gradients, by Opacus (Abadi et al., 2016).

    noise_per : {"row", "batch"}, default="row"
        Interpretation of the paper; see above.

    budget_split : tuple of 3 float, default=(0.25, 0.25, 0.5)
        Fractions of ε₁, ε₂ and ε₃.

    pretrained : AdaptiveLaplaceClassifier, "private" or None, default=None
        Network for the relevances: a fitted one, trained on public rows or on rows whose
        guarantee you account for; "private" trains it on the private rows without noise, as in
        the paper, so that nothing is guaranteed; None trains it with half of ε₁ by the
        identical mechanism.

    image_shape : tuple of int, default=None
        (height, width) or (channels, height, width) of a row, for convolutions; None for dense
        layers.

    hidden_layer_sizes : tuple of int, default=(32, 64, 25)
        Number of maps of each convolution of stride 2, or of units of each dense layer; the last
        entry is the number of units of the dense layer before the scores.

    kernel_size : int or sequence of int or (int, int), default=5
        Side length of the filters; or one entry for each convolution, the side length or (rows,
        columns) of its filters: ``(3, 5, 5)`` is 3 × 3 and then 5 × 5, and ``[(4, 12), (2, 6)]``
        is 4 × 12 and then 2 × 6. Maps are halved whatever the size. Not used without images.

    normalization : {"response", "batch"}, default="response"
        "response": as in the paper, for convolutions across maps (equation (22)) and for dense
        layers by the range over a batch. "batch": centering of each unit over the batch, which
        learns much faster.

    batch_size : int, default=1800
        Number \|L\| of rows of a batch; larger batches have less noise.

    n_epochs : int, default=10
        Number of passes over the rows. The paper uses hundreds.

    learning_rate : float, default=2e-3
        Learning rate of Adam.

    max_grad_norm : float, default=1.0
        Clipping norm of the gradient of a row, with ``mechanism="dpsgd"``.

    bounds : pair (low, high), default=(0, 1)
        Publicly known bounds of the columns, each a number or an array of shape (n_features,).

    classes : array-like, default=None
        Publicly known list of classes. Default: the classes in y, which are not protected.

    warm_start : bool, default=False
        Whether to continue with the network of the last fit. Noise is drawn again, and
        ``guarantee_`` covers all fits together.

    device : {"auto", "cpu", "cuda"}, default="auto"
        Device of the training.

    verbose : int, default=0
        If positive, print progress, without losses, which are private.

    random_state : int, RandomState instance or None, default=None
        Seeds weights, batches and noise. Anyone who knows an integer seed can remove the noise.

    Attributes
    ----------
    guarantee_ : PrivacyGuarantee
        Guarantee of one labeled record; ε is infinite if nothing is guaranteed.

    accounts_ : list of PrivacyAccount
        Ways of accounting, see :meth:`accounts`.

    budget_shares_ : ndarray of shape (n_features,)
        Share β of each column; not defined with ``mechanism="dpsgd"``.

    classes_ : ndarray of shape (n_classes,)
        Class labels.

    network_ : torch.nn.Module
        The trained network, on the CPU.

    bounds_ : ndarray of shape (2, n_features)
        Lower and upper bound of each column.

    n_features_in_ : int
        Number of features seen during :term:`fit`.

    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features seen during :term:`fit`. Defined only when `X` has feature names that
        are all strings.

    See Also
    --------
    PrivateCDBNClassifier : Convolutional belief network with noise.

    Notes
    -----
    The second-order coefficients of the loss are the same for every row and get no noise. Nor
    does the bias, despite line 14 of the paper's algorithm: its input is the constant 1 in all
    data sets, whose factor in the proof of Lemma 4 is 1, so this noise would protect nothing.
    The paper's Δ of a convolution is for one map, as maps share their inputs. Opacus draws noise
    in floating point from PyTorch's generator, which is not cryptographic.

    References
    ----------
    Phan, N. H., Wu, X., Hu, H. and Dou, D., "Adaptive Laplace mechanism: differential privacy
    preservation in deep learning", 2017, corrected version: Algorithm 1, Theorem 1, equations
    (4)–(25).

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
    ...     network = network.fit(X[:600], y[:600])
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

    budget_shares_: np.ndarray
    _architectural = (*PrivateNetworkClassifier._architectural, "mechanism", "normalization")

    def __init__(
        self,
        epsilon: float = 1.0,
        delta: float = 1e-5,
        *,
        mechanism: str = "adaptive",
        noise_per: str = "row",
        budget_split: tuple[float, float, float] = (0.25, 0.25, 0.5),
        pretrained: Any = None,
        image_shape: tuple[int, ...] | None = None,
        hidden_layer_sizes: tuple[int, ...] = (32, 64, 25),
        kernel_size: KernelSize = 5,
        normalization: str = "response",
        batch_size: int = 1800,
        n_epochs: int = 10,
        learning_rate: float = 2e-3,
        max_grad_norm: float = 1.0,
        bounds: ArrayLike = (0, 1),
        classes: ArrayLike | None = None,
        warm_start: bool = False,
        device: str = "auto",
        verbose: int = 0,
        random_state: int | np.random.RandomState | None = None,
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

    def __sklearn_clone__(self) -> Self:
        # Keep a given network fitted; scikit-learn would clone it to an unfitted one.
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

    def _describe_mechanism(self):
        if self.mechanism == "dpsgd":
            return {"mechanism": "DP-SGD", "relation": "add/remove"}
        given = isinstance(self.pretrained, PrivateNetworkClassifier)
        also = ", and what the pretrained network was trained on"
        return {
            "mechanism": f"the {self.mechanism} Laplace mechanism per {self.noise_per}",
            "also_excludes": also if given and self.mechanism == "adaptive" else "",
        }

    def _train(self, network, rows, labels, random_state):
        if self.mechanism == "dpsgd":
            return [self._train_dpsgd(network, rows, labels, random_state)]
        budgets = self._budgets()
        even = np.ones(rows.shape[1])
        expected = self._perturbation(network.architecture, even, len(rows), budgets[1:])
        self._warn_of_noise(expected, len(rows))
        spent, shares = 0.0, getattr(self, "budget_shares_", None)
        if self.mechanism == "identical":
            shares = even
        elif shares is None:  # a warm start keeps its shares
            shares, spent = self._find_shares(network, rows, labels, budgets[0], random_state)
        perturbation = self._perturbation(network.architecture, shares, len(rows), budgets[1:])
        self._train_perturbed(network, rows, labels, perturbation, random_state, "network")
        self.budget_shares_ = shares
        return self._make_accounts(spent + perturbation.row_epsilon, budgets)

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

    def _find_shares(self, network, rows, labels, epsilon, random_state):
        """Return the shares of columns, and what they cost one row."""
        source = self._noise_source(random_state)
        if isinstance(self.pretrained, PrivateNetworkClassifier):
            check_is_fitted(self.pretrained, "network_")
            self._check_pretrained(rows.shape[1])
            relevant = deepcopy(self.pretrained.network_).to(rows)
            return budget_shares(relevant, rows, epsilon, source)
        if self.pretrained == "private":
            split = np.inf, np.inf
        else:
            epsilon = epsilon / 2
            _, inputs, loss = self.budget_split
            split = epsilon * np.array([inputs, loss]) / (inputs + loss)
        relevant, even = deepcopy(network), np.ones(rows.shape[1])
        perturbation = self._perturbation(network.architecture, even, len(rows), split)
        self._train_perturbed(relevant, rows, labels, perturbation, random_state, "relevance")
        shares, spent = budget_shares(relevant, rows, epsilon, source)
        return shares, spent + perturbation.row_epsilon

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

    def _train_perturbed(self, network, rows, labels, perturbation, random_state, label):
        """Minimize the perturbed loss on perturbed rows."""
        coefficients = label_coefficients(labels, network.architecture.n_classes).to(rows)
        generator = torch.Generator().manual_seed(int(draw_seeds(random_state)))
        take = perturbation.perturb(rows, coefficients, self._noise_source(random_state))

        def loss_of(trained, positions):
            some_rows, some_coefficients = take(positions)
            return taylor_loss(trained(some_rows), some_coefficients)

        network.train()
        train(network, loss_of, len(rows), **self._schedule(generator, label))
        # Rows that have noise of their own may be read again; of the others, nothing is protected.
        positions = torch.randperm(len(rows), generator=generator)
        calibrate(network, take(positions)[0] if perturbation.per_row else rows[positions])

    def _train_dpsgd(self, network, rows, labels, random_state):
        """Train by DP-SGD (Abadi et al., 2016), and return the account of Opacus."""
        if not (np.isfinite(self.epsilon) and self.delta > 0):
            raise ValueError(
                "mechanism='dpsgd' needs a finite 'epsilon' and a 'delta' above 0, got epsilon="
                f"{self.epsilon} and delta={self.delta}: its noise is Gaussian. Use "
                "mechanism='identical' with epsilon=np.inf to train without noise."
            )
        try:
            from opacus import PrivacyEngine
            from opacus.utils.batch_memory_manager import BatchMemoryManager
        except ImportError as error:
            raise ImportError(
                "mechanism='dpsgd' needs Opacus, which is not installed here. Install it with "
                "pip install 'skdp[neural]'."
            ) from error
        progress = Progress(self.verbose, self.n_epochs, "DP-SGD")
        generator = torch.Generator().manual_seed(int(draw_seeds(random_state)))
        # Opacus leaves the gradients of single rows on the parameters that it trains, which go
        # into every pickle: so a copy is used, and thrown away.
        trained = deepcopy(network).train()
        with warnings.catch_warnings():
            # Of its default generator and of hooks: said in the Notes of the class.
            warnings.simplefilter("ignore", UserWarning)
            warnings.simplefilter("ignore", RuntimeWarning)  # log(0) in its accountant, by design
            engine = PrivacyEngine()
            model, optimizer, loader = self._make_private(engine, trained, rows, labels, generator)
            settings = {"max_physical_batch_size": _GRADIENT_CHUNK, "optimizer": optimizer}
            for epoch in range(self.n_epochs):
                with BatchMemoryManager(data_loader=loader, **settings) as batches:
                    for some_rows, some_labels in batches:
                        optimizer.zero_grad()
                        torch.nn.functional.cross_entropy(model(some_rows), some_labels).backward()
                        optimizer.step()
                progress(epoch + 1)
            spent = engine.get_epsilon(self.delta)
        network.load_state_dict(trained.state_dict())
        network.eval()
        return PrivacyAccount(
            counting="composition",
            protects="one labeled record, added or removed",
            epsilon=float(spent),
            delta=float(self.delta),
            holds=True,
            reason="each row's gradient is clipped, and noise is added to their sum at every step",
        )

    def _make_private(self, engine, network, rows, labels, generator):
        """Return model, optimizer and loader of Opacus, with the noise that the budget needs."""
        data = torch.utils.data.TensorDataset(rows, torch.as_tensor(labels, device=rows.device))
        size = min(self.batch_size, len(rows))
        # The generator of the noise has to be where the gradients are.
        seed = torch.randint(2**62, (), generator=generator).item()
        try:
            return engine.make_private_with_epsilon(
                module=network,
                optimizer=torch.optim.Adam(network.parameters(), lr=self.learning_rate),
                data_loader=torch.utils.data.DataLoader(data, size, generator=generator),
                target_epsilon=self.epsilon,
                target_delta=self.delta,
                epochs=self.n_epochs,
                max_grad_norm=self.max_grad_norm,
                noise_generator=torch.Generator(rows.device).manual_seed(seed),
            )
        except ValueError as error:
            raise ValueError(
                f"No noise reaches epsilon={self.epsilon:g} at delta={self.delta:g} in "
                f"{self.n_epochs} epochs: use a larger 'epsilon' or fewer 'n_epochs'."
            ) from error

    def _make_accounts(self, row_epsilon, budgets):
        """Return the accounts of one training; the last is for one labeled record."""
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
        sums = "sums over one batch of inputs and of coefficients"
        return [
            PrivacyAccount("as the paper counts", sums, self.epsilon, 0.0, False, claim),
            PrivacyAccount("composed over epochs", sums, epochs, 0.0, False, claim),
            PrivacyAccount("one row", "a labeled record", row_epsilon, 0.0, holds, why),
        ]


def budget_shares(network, rows, epsilon, random_state):
    """Return how the budget of the inputs is divided between columns, and what it costs one row.

    The shares β have mean one. The network must not be trained on the rows, or privately.
    """
    # The relevances are averaged over rows, with Laplace noise of scale 2d/(nε) on each (equations
    # (10)–(13), Lemmas 1 and 2), and β_j = d |R̄_j| / Σ |R̄_i| (equation (16)). As relevances are
    # in [0, 1], one row moves their average by d/n at most, half of what the noise is for: this is
    # ε/2-private for one row, if the network is public. Rounding to the grid of the noise adds to
    # it.
    parts = rows.split(_RELEVANCE_CHUNK)
    total = sum(relevances(network, part).double().sum(dim=0) for part in parts)
    n, d = rows.shape
    mean = (total / n)[None].cpu()
    scale = 2 * d / (n * epsilon)
    noisy = perturb_rows(mean, np.full(d, scale), random_state).abs().numpy()[0]
    # With a thousand times the noise nothing is left of a column, and smaller shares would exceed
    # single precision.
    shares = np.maximum(noisy / noisy.mean(), 1e-3) if noisy.any() else np.ones(d)
    return shares / shares.mean(), epsilon / 2 + d * NOISE_STEP
