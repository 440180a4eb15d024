"""The private convolutional deep belief network of Phan, Wu and Dou."""

from numbers import Integral, Real

import numpy as np
import torch
from numpy.typing import ArrayLike

from skdp.neural._accounts import PrivacyAccount
from skdp.neural._base import KernelSize, PrivateNetworkClassifier
from skdp.neural._belief_network import BeliefNetwork, train_classifier, train_layers
from skdp.neural._polynomials import APPROXIMATIONS
from skdp.neural._training import (
    Perturbation,
    Progress,
    label_coefficients,
    taylor_probabilities,
)
from skdp.utils._parallel import draw_seeds
from skdp.utils._sklearn import Interval, StrOptions


class PrivateCDBNClassifier(PrivateNetworkClassifier):
    r"""Classify by convolutional restricted Boltzmann machines with noise (pCDBN).

    The private convolutional deep belief network of Phan, Wu and Dou (2017). Layers of
    convolutional restricted Boltzmann machines are trained one by one, by contrastive divergence,
    without labels. The sigmoid function in their energy is replaced by a polynomial, whose
    coefficients the functional mechanism perturbs. A dense layer and the scores are then trained
    on their features, by a Taylor-expanded cross entropy whose coefficients are perturbed too.

    **Privacy.** The guarantee depends on where the noise is added, which the paper leaves open.

    - ``noise_per="row"``: every value of every row, in [0, 1], gets Laplace noise of scale

      .. math:: b = Δ / (ε_1 |L|),

      the paper's scale for the coefficients of the first layer, divided among the \|L\| rows of a
      batch, and every label coefficient gets noise of scale :math:`b_y = Δ_C / (ε_C |L|)`. Noise
      is added once, and all training uses only the result, so that for any number of epochs one
      labeled record has

      .. math:: \sum_j 1/b + 2/b_y,

      a local guarantee. **It is not** ``epsilon``, which only determines the amount of noise.
    - ``noise_per="batch"``: in each batch, noise is drawn once for the polynomials of the energy
      and once for the label coefficients, as in the paper's lemmas. The accuracy is close to the
      paper's, but layers read exact rows: **nothing is guaranteed for a row**, ``guarantee_`` has
      ε = ∞, and ``fit`` warns.

    Parameters
    ----------
    epsilon : float, default=0.5
        The paper's privacy budget, which determines the amount of noise. Infinite: no noise, the
        paper's TCDBN.

    noise_per : {"row", "batch"}, default="row"
        Whether rows or batches have independent noise; see above.

    budget_split : tuple of float or None, default=None
        Fractions of ``epsilon`` for each energy layer and, last, for the loss; they are divided
        by their sum. None: equal parts. With ``noise_per="row"``, layers above the first use
        private data, and spend nothing.

    image_shape : tuple or None, default=None
        (height, width) or (channels, height, width) of a row. None: rows are not images, and
        layers are dense RBMs with the same energy.

    hidden_layer_sizes : tuple of int, default=(32, 64, 25)
        Number of filters of each energy layer (units, without images), and last the number of
        units of the dense layer.

    kernel_size : int or sequence of int or (int, int), default=5
        Side length of the filters; or one entry for each energy layer, the side length or (rows,
        columns) of its filters: ``[(4, 12), (2, 6)]`` fits the paper's health data. Their
        stride is 2, in place of the paper's pooling. Not used without images.

    approximation : {"chebyshev", "taylor", "piecewise"}, default="chebyshev"
        Approximation of the sigmoid function on [-1, 1]: its Chebyshev series, its Taylor series,
        or a line.

    degree : int, default=7
        Degree of the polynomial. The line has degree 1.

    batch_size : int, default=3600
        Number \|L\| of rows of a batch: larger batches have less noise. The paper gives no value
        for MNIST; this is the value in its authors' published program.

    pretrain_epochs : int, default=1
        Number of passes over all rows for each energy layer.

    n_epochs : int, default=30
        Number of passes over all rows for the dense layer and the scores.

    pretrain_learning_rate, learning_rate : float, default=0.001, 0.01
        Learning rates of Adam, for the energy layers and for the layers above.

    bounds : pair (low, high), default=(0, 1)
        Publicly known bounds of the columns, each a number or an array of shape (n_features,).

    classes : array-like or None, default=None
        Publicly known list of classes. None: the classes in y, which are then not protected.

    warm_start : bool, default=False
        Whether to continue with the fitted network. With ``noise_per="row"`` rows are perturbed
        again, and the guarantees add up.

    device : {"auto", "cpu", "cuda"}, default="auto"
        Device of the training. "auto" uses CUDA if available.

    verbose : int, default=0
        If positive, print finished epochs.

    random_state : int, RandomState instance or None, default=None
        Source of noise, initial weights, and order of the rows. None is the only private choice.

    Attributes
    ----------
    guarantee_ : PrivacyGuarantee
        Guarantee of one labeled record.

    accounts_ : list of PrivacyAccount
        Ways of accounting; :meth:`accounts` returns them as a table.

    sensitivities_ : ndarray of shape (n_layers + 1,)
        Δ of each energy layer and, last, Δ_C of the loss.

    classes_ : ndarray of shape (n_classes,)
        Class labels.

    network_ : torch.nn.Module
        The trained network.

    bounds_ : ndarray of shape (2, n_features)
        Lower and upper bound of each column.

    n_features_in_ : int
        Number of features seen during :term:`fit`.

    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features seen during :term:`fit`. Defined only when `X` has feature names that
        are all strings.

    See Also
    --------
    AdaptiveLaplaceClassifier : Noise according to the relevance of columns.

    Notes
    -----
    Differences from the paper, where it is incomplete or incorrect:

    - The degree-7 example of the paper is not the Chebyshev series of the sigmoid function, and
      its Taylor series belongs to tanh; the coefficients here follow the equations.
    - The normalizer Z of equation (13) depends on the row and on the weights, so the energy is not
      a polynomial in the weights. Lemma 2 sets all weights to 1, and hence does not bound the
      coefficients of the trained energy.
    - Lemma 2 uses the largest sensitivity of one group of hidden units for all K groups, since
      they "will not be merged". As all of them read the same row, their losses add up to K times
      that.
    - The paper does not specify how the budget is split. The authors' program spends all of ε on
      each layer, draws the noise of the energies once, at its start, computes Δ from each batch,
      and reads exact rows in the layers above. Here Δ is the maximum over all rows in [0, 1], an
      order of magnitude more. With ``noise_per="batch"`` at ε = 0.5 the noise of the first
      layer's coefficients, which are at most 1/2, then has scale 15.
    - Δ_C = d + d²/4 for d hidden units includes the quadratic coefficients, which do not depend on
      labels, and one output only; it is used as it is. Hidden units are standardized over the
      batch and clipped at 0 and 1, which makes the rows of a batch interact.

    References
    ----------
    Phan, N., Wu, X. and Dou, D., "Preserving differential privacy in convolutional deep belief
    networks", Machine Learning 106, 2017.

    Examples
    --------
    >>> import warnings
    >>> from sklearn.datasets import load_digits
    >>> from skdp.neural import PrivateCDBNClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> network = PrivateCDBNClassifier(
    ...     epsilon=200.0, image_shape=(8, 8), hidden_layer_sizes=(16, 25), kernel_size=3,
    ...     batch_size=300, bounds=(0, 16)
    ... )
    >>> network = network.fit(X, y)
    >>> bool(network.score(X, y) > 0.5)
    True
    >>> network.guarantee_.unit, bool(network.guarantee_.epsilon > 200)
    ('labeled record', True)
    """

    _parameter_constraints: dict = {
        **PrivateNetworkClassifier._parameter_constraints,
        "noise_per": [StrOptions({"row", "batch"})],
        "budget_split": [tuple, list, None],
        "approximation": [StrOptions(set(APPROXIMATIONS))],
        "degree": [Interval(Integral, 1, None, closed="left")],
        "pretrain_epochs": [Interval(Integral, 0, None, closed="left")],
        "pretrain_learning_rate": [Interval(Real, 0, None, closed="neither")],
    }

    sensitivities_: np.ndarray
    _architectural = (*PrivateNetworkClassifier._architectural, "approximation", "degree")

    def __init__(
        self,
        epsilon: float = 0.5,
        *,
        noise_per: str = "row",
        budget_split: tuple[float, ...] | None = None,
        image_shape: tuple[int, ...] | None = None,
        hidden_layer_sizes: tuple[int, ...] = (32, 64, 25),
        kernel_size: KernelSize = 5,
        approximation: str = "chebyshev",
        degree: int = 7,
        batch_size: int = 3600,
        pretrain_epochs: int = 1,
        n_epochs: int = 30,
        pretrain_learning_rate: float = 0.001,
        learning_rate: float = 0.01,
        bounds: ArrayLike = (0, 1),
        classes: ArrayLike | None = None,
        warm_start: bool = False,
        device: str = "auto",
        verbose: int = 0,
        random_state: int | np.random.RandomState | None = None,
    ):
        self.epsilon = epsilon
        self.noise_per = noise_per
        self.budget_split = budget_split
        self.image_shape = image_shape
        self.hidden_layer_sizes = hidden_layer_sizes
        self.kernel_size = kernel_size
        self.approximation = approximation
        self.degree = degree
        self.batch_size = batch_size
        self.pretrain_epochs = pretrain_epochs
        self.n_epochs = n_epochs
        self.pretrain_learning_rate = pretrain_learning_rate
        self.learning_rate = learning_rate
        self.bounds = bounds
        self.classes = classes
        self.warm_start = warm_start
        self.device = device
        self.verbose = verbose
        self.random_state = random_state

    def _make_network(self, architecture):
        return BeliefNetwork(architecture, self.approximation, self.degree)

    def _probabilities(self, scores):
        return taylor_probabilities(scores)

    def _describe_mechanism(self):
        if np.isinf(self.epsilon):
            return {"mechanism": "a belief network without noise"}
        if self.noise_per == "row":
            return {"mechanism": "Laplace noise on each row, once"}
        return {"mechanism": "Laplace noise on the sums over each batch"}

    def _train(self, network, rows, labels, random_state):
        size = min(self.batch_size, len(rows))
        self.sensitivities_ = _sensitivities(network)
        scales = self.sensitivities_ / (self._budgets() * size)
        per_row, source = self.noise_per == "row", self._noise_source(random_state)
        coefficients = label_coefficients(labels, network.scores.out_features).to(rows)
        columns = np.full(rows.shape[1] if per_row else 1, scales[0] * per_row)
        perturbation = Perturbation(columns, float(scales[-1]), per_row)
        self._warn_of_noise(perturbation, len(rows))
        generator = torch.Generator().manual_seed(draw_seeds(random_state))
        if per_row:
            rows, coefficients = perturbation.perturb(rows, coefficients, source)(slice(None))
            rows = rows.clamp(0, 1)  # as visible units are; it costs nothing, and helps at small ε
        features = train_layers(
            network,
            rows,
            np.zeros(len(network.layers)) if per_row else scales[:-1],
            batch_size=size,
            n_epochs=self.pretrain_epochs,
            learning_rate=self.pretrain_learning_rate,
            generator=generator,
            noise=np.random.default_rng(draw_seeds(random_state, 4)),
            progress=lambda n: Progress(
                self.verbose, self.pretrain_epochs, f"energy layer {n + 1}"
            ),
        )

        def take(positions):
            return features[positions], coefficients[positions]

        if not per_row:
            take = perturbation.perturb(features, coefficients, source)
        train_classifier(network, features, take, **self._schedule(generator, "classifier"))
        return self._make_accounts(network, perturbation)

    def _budgets(self):
        """Return the part of ε of each energy layer and, last, of the loss."""
        n = len(self.hidden_layer_sizes)
        split = np.ones(n) if self.budget_split is None else self.budget_split
        numbers = all(isinstance(part, Real) for part in split)
        split = np.asarray(split if numbers else (), float)
        if split.shape != (n,) or not (np.isfinite(split) & (split > 0)).all():
            raise ValueError(
                f"The 'budget_split' parameter of {type(self).__name__} must be None or {n} "
                "positive numbers, one for each energy layer and one for the loss, got "
                f"{self.budget_split!r}."
            )
        return self.epsilon * split / split.sum()

    def _make_architecture(self, n_features, n_classes):
        architecture = super()._make_architecture(n_features, n_classes)
        if len(architecture.hidden_layer_sizes) < 2:
            raise ValueError(
                f"The 'hidden_layer_sizes' parameter of {type(self).__name__} must name at least "
                f"one energy layer and the dense layer, got {self.hidden_layer_sizes!r}."
            )
        return architecture

    def _make_accounts(self, network, perturbation):
        """Return the accounts of one training; the last is for one labeled record."""
        epsilon, row = float(self.epsilon), perturbation.row_epsilon
        claim = (
            "ε is meant for the coefficients summed over a batch, once, and for one group of "
            "hidden units"
        )
        if holds := bool(np.isfinite(row)):
            why = "Every value and label coefficient is perturbed once; training only reads those"
            composed = "a labeled record", row, 0.0, True, why
        else:
            *layers, loss = self._budgets()
            groups = [layer.out_shape[0] for layer in network.layers]
            spent = float(np.dot(layers, groups)) * self.pretrain_epochs
            spent += float(loss) * network.scores.out_features * self.n_epochs
            why = "no noise is added" if np.isinf(epsilon) else "layers read exact rows"
            read = "All groups and classes read each row, and every epoch reads it again; " + why
            composed = "sums over all batches", spent, 0.0, False, read
        paper = "sums over one batch", epsilon, 0.0, False, claim
        return [
            PrivacyAccount("as the paper counts", *paper),
            PrivacyAccount("composed over epochs", *composed),
            PrivacyAccount("one row", "a labeled record", row, 0.0, holds, why),
        ]


def _sensitivities(network):
    """Return Δ of each energy layer and, last, of the loss: d + d²/4 for d hidden units."""
    d = network.hidden.out_features
    return np.array([*(layer.sensitivity() for layer in network.layers), d + d**2 / 4])
