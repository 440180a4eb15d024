"""Cross entropy as a polynomial of the scores, and the probabilities that minimise it."""

import torch

# Weight of the logistic function beside the probabilities that the loss estimates, which orders
# classes whose scores are out of range (so small that it changes no probability to two decimals).
_TIE_BREAKING = 1e-4


def label_coefficients(labels, n_classes):
    """Return the linear coefficients of each row: 1/2 less its one-hot label.

    Parameters
    ----------
    labels : ndarray of shape (n_samples,)
        Class indices.

    n_classes : int
        Number M of classes.

    Returns
    -------
    coefficients : Tensor of shape (n_samples, n_classes)

    Examples
    --------
    >>> label_coefficients([1], 3).tolist()
    [[0.5, -0.5, 0.5]]
    """
    labels = torch.as_tensor(labels, dtype=torch.int64)
    return 0.5 - torch.nn.functional.one_hot(labels, n_classes).float()


def taylor_loss(scores, coefficients):
    r"""Return the Taylor-expanded cross entropy, without its constant, averaged over rows.

    With z the scores of the M classes and y the one-hot label (Phan et al., 2017, eq. 25),

    .. math:: \sum_l \left[\log 2 + (\tfrac12 - y_l)\,z_l + \tfrac18 z_l^2\right].

    Only the linear coefficients depend on private values, and need noise; the others are the same
    for every row.

    Parameters
    ----------
    scores : Tensor of shape (n_samples, n_classes)
        Outputs z of a network.

    coefficients : Tensor of shape (n_samples, n_classes)
        1/2 - y, perturbed or not.

    Returns
    -------
    loss : Tensor of shape ()

    Examples
    --------
    >>> import torch
    >>> taylor_loss(torch.tensor([[2.0, -2.0]]), label_coefficients([0], 2)).item()
    -1.0
    """
    return (coefficients * scores + scores.square() / 8).sum(dim=1).mean()


def taylor_probabilities(scores):
    r"""Return the class probabilities of which scores minimise :func:`taylor_loss`.

    Its minimum is at z = 4 (E[y] − 1/2), so that scores tell 1/2 + z/4 of each class; these are
    cut at zero and normalised.

    Parameters
    ----------
    scores : Tensor of shape (n_samples, n_classes)

    Returns
    -------
    probabilities : Tensor of shape (n_samples, n_classes)
        In the order of the scores.

    Examples
    --------
    >>> import torch
    >>> [round(p, 3) for p in taylor_probabilities(torch.tensor([[1.0, -1.0]]))[0].tolist()]
    [0.75, 0.25]
    """
    linear = (0.5 + scores / 4).clamp(min=0)
    weights = linear + _TIE_BREAKING * torch.sigmoid(scores)
    return weights / weights.sum(dim=1, keepdim=True)
