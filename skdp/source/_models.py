"""What a source learns by each model, and the public split of the budget that this takes."""

import numpy as np

from skdp.noise import Share
from skdp.release import COSINE_ORDERS, clipping_effect, linear_scores, measure_moments
from skdp.source._grid import RowGrid
from skdp.source._perturbed_sums import numbers_of_sums, perturb_sums
from skdp.source._principal_models import MixturesModel, RegressionModel

# Most columns of an array for which "auto" is "linear", and cosines are used: noise grows with
# their number (rule of thumb).
_MAX_LINEAR = 100
# How many times what is expected of norms a radius may be, or the other way round (rule of thumb).
_MOST_RADII = 1e6


class LinearModel:
    """Moments, and linear scores of public terms of the columns, in one pass over the rows."""

    # Of the budget, most of it for how classes differ: on six tables the AUC at ε = 0.5 is .739,
    # and .737 with .04, .06, .60 and .30.
    shares = {
        "counts": Share(0.05),
        "total": Share(0.05),
        "contrast": Share(0.70),
        "second": Share(0.20),
    }

    # Of the radius that bounds each row: the root of its expected square, times this. On six
    # tables .7 to 1.0 do nearly as well.
    _RADIUS = 0.8

    def grid(self, columns, radius):
        """Return the public grid of the rows.

        Parameters
        ----------
        columns : PublicColumns

        radius : float or None
            By the owner; None for one that follows from the columns.
        """
        basis = columns.basis(COSINE_ORDERS if is_narrow(columns) else ())
        expected = np.sqrt(basis.variances.sum())
        if radius is None:
            radius = self._RADIUS * expected
        elif not expected / _MOST_RADII < radius < expected * _MOST_RADII:
            raise ValueError(
                f"The 'radius' parameter of DPStatisticsSource is {radius!r}, for encoded rows of "
                f"norms about {expected:.3g}. Leave it out, or bring it nearer to that."
            )
        return RowGrid(basis, np.zeros(len(basis.column)), float(radius))

    def n_numbers(self, n_classes, n_basis):
        """Return how many noisy numbers are asked for."""
        return numbers_of_sums(n_classes, n_basis)

    def learn(self, rows, grid, queries):
        """Return the parts of a release.

        Parameters
        ----------
        rows : PrivateRows

        grid : RowGrid

        queries : GaussianQueries

        Returns
        -------
        parts : dict
            Fields of :class:`Release` by name.
        """
        return self.from_sums(rows.sums(grid), grid, queries)

    def from_sums(self, sums, grid, queries):
        """Return the parts of a release of :class:`ExactSums`, see :meth:`learn`."""
        statistics = perturb_sums(sums, grid, queries)
        shrinkage, _ = clipping_effect(statistics, grid.basis, statistics.row_counts.sum())
        return {
            "moments": measure_moments(statistics, grid, shrinkage),
            "linear": linear_scores(statistics, grid.basis),
        }


MODELS = {
    "linear": LinearModel(),
    "mixtures": MixturesModel(),
    "regression": RegressionModel(),
}


def choose_model(name, columns):
    """Return the model of this name; which "auto" means depends on the columns alone.

    Parameters
    ----------
    name : str
        A key of ``MODELS``, or "auto".

    columns : PublicColumns
    """
    if name != "auto":
        return MODELS[name]
    return MODELS["linear" if is_narrow(columns) else "mixtures"]


def is_narrow(columns):
    """Return whether all columns, and cosines of them, are used rather than a subspace."""
    return columns.schema is not None or columns.n_features <= _MAX_LINEAR


def one_pass(model):
    """Return a model; raise ValueError where it needs more than one pass over the rows."""
    if not hasattr(model, "from_sums"):
        raise ValueError(
            "The 'model' parameter of DPStatisticsSource is one that needs several passes over "
            "the rows, which an accumulator forgets. Use model='linear', or fit to rows in memory "
            "or in a numpy.memmap."
        )
    return model
