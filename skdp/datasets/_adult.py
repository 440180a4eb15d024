"""UCI Adult, a table of mixed columns that needs no files and no network."""

from pathlib import Path

from skdp.datasets._tables import scenario

_FOLDER = Path(__file__).parent / "data"


def load_adult(*, random_state=None):
    """Load UCI Adult, 32,561 people and whether they earn more than 50,000 dollars a year.

    Thirteen mixed columns of the census of 1994: five numbers, two of which range over decades,
    and eight categories, with missing values in three. 24 % earn more. The table comes with the
    package; it is the training set of Becker and Kohavi (1996), used under CC BY 4.0, without the
    column ``fnlwgt``, and with missing values left empty.

    The scenario is that of two organisations: 20,000 rows at random are the source's. In a
    random order, 2,000 of the others are for the target to learn from, the first ten of each
    class among them with their labels, and the rest are to be predicted.

    Parameters
    ----------
    random_state : int, RandomState instance or None, default=None
        Draws the rows of the source, and the order of the target's.

    Returns
    -------
    adult : :class:`~sklearn.utils.Bunch`
        The same as that of :func:`load_table`: ``data``, a DataFrame of 32,561 rows, ``target``
        of shape (32561,), "<=50K" or ">50K", ``schema``, a mapping for
        :class:`~skdp.TabularEncoder` with the classes, and the row numbers ``source``,
        ``learning``, ``labelled`` (some of ``learning``) and ``test``; ``DESCR``.

    See Also
    --------
    load_table : This table and five others, from files.

    References
    ----------
    Becker, B. and Kohavi, R., "Adult", UCI Machine Learning Repository, 1996,
    https://doi.org/10.24432/C5XW20. Licence: CC BY 4.0,
    https://creativecommons.org/licenses/by/4.0/.

    Examples
    --------
    >>> from skdp.datasets import load_adult
    >>> adult = load_adult(random_state=0)
    >>> len(adult.source), len(adult.learning), len(adult.labelled), len(adult.test)
    (20000, 2000, 20, 10561)
    >>> print(*adult.data.loc[0, ["age", "workclass", "capital-gain"]], adult.target[0])
    39 State-gov 2174 <=50K
    >>> adult.schema["columns"]["age"]
    {'type': 'numeric', 'low': 17, 'high': 90}
    """
    return scenario("adult", _FOLDER.joinpath, random_state)
