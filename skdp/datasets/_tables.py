"""Bundled tables: a source and a target, four hospitals, and times to death."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.utils import Bunch, check_random_state

# Files in the package.
_EMBEDDED = Path(__file__).parent / "data"


def load_adult(*, random_state: int | np.random.RandomState | None = None) -> Bunch:
    """Load UCI Adult, 32,561 people and whether they earn more than 50,000 dollars a year.

    Thirteen mixed columns of the census of 1994: five numbers, two of which span several orders
    of magnitude, and eight categories, with missing values in three. 24% earn more. The table
    comes with the package; it is the training set of Becker and Kohavi (1996), used under CC BY
    4.0, without the column ``fnlwgt``, and with missing values left empty.

    The scenario has two organizations: 20,000 random rows are the source's. In a
    random order, 2,000 of the others are the target's training rows, where the first ten of each
    class are labeled, and the rest are the test set.

    Parameters
    ----------
    random_state : int, RandomState instance or None, default=None
        Draws the rows of the source, and the order of the target's.

    Returns
    -------
    adult : :class:`~sklearn.utils.Bunch`
        Dictionary-like, with

        data : DataFrame of shape (32561, 13)
            The columns, some with missing values.
        target : ndarray of shape (32561,)
            "<=50K" or ">50K".
        schema : dict
            The public schema of the columns and classes, for :class:`~skdp.TabularEncoder`.
        source : ndarray of shape (20000,)
            Positions of the source's rows.
        learning, labeled, test : ndarray
            Positions of the target's rows: for training, the labeled ones among them, and for
            testing.
        DESCR : str
            A description.

    References
    ----------
    Becker, B. and Kohavi, R., "Adult", UCI Machine Learning Repository, 1996,
    https://doi.org/10.24432/C5XW20. License: CC BY 4.0,
    https://creativecommons.org/licenses/by/4.0/.

    Examples
    --------
    >>> from skdp.datasets import load_adult
    >>> adult = load_adult(random_state=0)
    >>> len(adult.source), len(adult.learning), len(adult.labeled), len(adult.test)
    (20000, 2000, 20, 10561)
    >>> print(*adult.data.loc[0, ["age", "workclass", "capital-gain"]], adult.target[0])
    39 State-gov 2174 <=50K
    >>> adult.schema["columns"]["age"]
    {'type': 'numeric', 'low': 17, 'high': 90, 'step': 1}
    """
    rng = check_random_state(random_state)
    about = json.loads(_EMBEDDED.joinpath("schemas.json").read_text(encoding="utf-8"))["adult"]
    frame = pd.read_csv(_EMBEDDED / "adult.csv.gz")
    y = frame.pop(about["label"]).to_numpy()
    is_source = np.zeros(len(frame), dtype=bool)
    is_source[rng.permutation(len(frame))[:20_000]] = True
    return Bunch(**two_sides(frame, y, about, is_source, rng), DESCR=about["note"])


def two_sides(frame, y, about, is_source, rng):
    """Return a table with its schema, and rows of the source and of the target, as a mapping.

    In a random order, the first rows of the target are for training, where the first of each class
    are labeled, and the rest are the test set.
    """
    learning, test = np.split(rng.permutation(np.flatnonzero(~is_source)), [about["target_rows"]])
    classes = np.unique(y)
    shown = [learning[y[learning] == label][: about["labels_per_class"]] for label in classes]
    return {
        "data": frame,
        "target": y,
        "schema": {"version": 1, "columns": about["columns"], "classes": classes.tolist()},
        "source": np.flatnonzero(is_source),
        "learning": learning,
        "labeled": np.concatenate(shown),
        "test": test,
    }


def load_heart_disease() -> Bunch:
    """Load 920 patients of four hospitals who were examined for coronary heart disease.

    Thirteen columns: age, sex (1 is male), the kind of chest pain ``cp``, blood pressure at rest
    ``trestbps`` (mm Hg), cholesterol ``chol`` (mg/dl), fasting blood sugar above 120 mg/dl
    ``fbs``, the electrocardiogram at rest ``restecg``, the highest heart rate ``thalach``, chest
    pain by exercise ``exang``, the depression of the ST segment by exercise ``oldpeak`` and its
    ``slope``, vessels colored by fluoroscopy ``ca``, and the scintigram ``thal``. The hospitals
    differ in their patients and examinations: 46, 36, 93 and 74% are ill, and whole
    columns are missing at some. The data come with the package.

    Returns
    -------
    heart : :class:`~sklearn.utils.Bunch`
        Dictionary-like, with

        data : DataFrame of shape (920, 13)
            The columns; values that were not measured are missing.
        target : ndarray of shape (920,)
            1 where a vessel is narrowed by more than half, 0 elsewhere.
        target_names : list of str
            "healthy" and "ill".
        hospital : ndarray of shape (920,)
            The name of each patient's hospital.
        hospital_names : list of str
            "Cleveland" (303 patients), "Budapest" (294), "Zurich-Basel" (123) and "Long Beach"
            (200).
        schema : dict
            The public schema of the columns and classes, for :class:`~skdp.TabularEncoder`.
        DESCR : str
            A description.

    See Also
    --------
    load_adult : A larger table, of one population.
    load_heart_failure : Patients with the times of their deaths.

    Notes
    -----
    The donors ask that publications name the principal investigators: Andras Janosi, M.D.,
    Hungarian Institute of Cardiology, Budapest; William Steinbrunn, M.D., University Hospital,
    Zurich, Switzerland; Matthias Pfisterer, M.D., University Hospital, Basel, Switzerland; and
    Robert Detrano, M.D., Ph.D., V.A. Medical Center, Long Beach, and Cleveland Clinic Foundation.

    References
    ----------
    Janosi, A., Steinbrunn, W., Pfisterer, M. and Detrano, R., "Heart Disease", UCI Machine
    Learning Repository, 1989, https://doi.org/10.24432/C52P4X. License: CC BY 4.0,
    https://creativecommons.org/licenses/by/4.0/.

    Examples
    --------
    >>> from skdp.datasets import load_heart_disease
    >>> heart = load_heart_disease()
    >>> for name in heart.hospital_names:
    ...     ill = heart.target[heart.hospital == name]
    ...     print(f"{name}: {ill.mean():.0%} of {len(ill)}")
    Cleveland: 46% of 303
    Budapest: 36% of 294
    Zurich-Basel: 93% of 123
    Long Beach: 74% of 200
    """
    about = json.loads(_EMBEDDED.joinpath("schemas.json").read_text())["heart_disease"]
    frame = pd.read_csv(_EMBEDDED / "heart_disease.csv.gz")
    hospital, narrowing = frame.pop("hospital"), frame.pop("num")
    return Bunch(
        data=frame,
        target=(narrowing >= 1).to_numpy(dtype=np.int64),  # of a vessel, of 0 to 4
        target_names=["healthy", "ill"],
        hospital=hospital.to_numpy(dtype=object),
        hospital_names=list(hospital.unique()),
        schema={"version": 1, "columns": about["columns"], "classes": [0, 1]},
        DESCR=load_heart_disease.__doc__,
    )


def load_heart_failure() -> Bunch:
    """Load 299 patients with heart failure, and the time to their death.

    Eleven columns: age, ``anaemia``, the enzyme ``creatinine_phosphokinase`` in the blood (mcg/l),
    ``diabetes``, the ``ejection_fraction`` of the heart (%), ``high_blood_pressure``,
    ``platelets`` (per ml), ``serum_creatinine`` (mg/dl), ``serum_sodium`` (mEq/l), ``sex`` (1 is
    male) and ``smoking``. The outcome is a time to an event: 96 patients died during the
    follow-up, which lasted 4 to 285 days; the other times are censored. The data come with the
    package.

    Returns
    -------
    heart : :class:`~sklearn.utils.Bunch`
        Dictionary-like, with

        data : DataFrame of shape (299, 11)
            The columns, without missing values. Sorted by time: shuffle before a split.
        target : ndarray of shape (299,)
            A structured array: ``died``, and the ``days`` after which the patient died or was
            last seen.
        schema : dict
            The public schema of the columns, with an outcome of the type "event" and a horizon of
            285 days, for :class:`~skdp.DPStatisticsSource` and :class:`~skdp.TabularEncoder`.
        DESCR : str
            A description.

    See Also
    --------
    load_heart_disease : Patients of four hospitals, who are ill or healthy.

    References
    ----------
    Ahmad, T., Munir, A., Bhatti, S. H., Aftab, M. and Raza, M. A., "Survival analysis of heart
    failure patients: a case study", PLoS ONE 12(7), 2017.

    Chicco, D. and Jurman, G., "Machine learning can predict survival of patients with heart
    failure from serum creatinine and ejection fraction alone", BMC Medical Informatics and
    Decision Making 20, 2020.

    "Heart Failure Clinical Records", UCI Machine Learning Repository, 2020,
    https://doi.org/10.24432/C5Z89R. License: CC BY 4.0,
    https://creativecommons.org/licenses/by/4.0/.

    Examples
    --------
    >>> from skdp.datasets import load_heart_failure
    >>> heart = load_heart_failure()
    >>> heart.data.shape, int(heart.target["died"].sum())
    ((299, 11), 96)
    >>> heart.schema["outcome"]
    {'type': 'event', 'horizon': 285, 'event': 'died', 'time': 'days'}
    """
    about = json.loads(_EMBEDDED.joinpath("schemas.json").read_text())["heart_failure"]
    frame = pd.read_csv(_EMBEDDED / "heart_failure.csv")
    target = np.empty(len(frame), dtype=[("died", bool), ("days", np.float64)])
    target["died"], target["days"] = frame.pop("DEATH_EVENT") == 1, frame.pop("time")
    return Bunch(
        data=frame,
        target=target,
        schema={"version": 1, **about},
        DESCR=load_heart_failure.__doc__,
    )
