"""One training, counted as its paper counts it, as composition demands, and for one row."""

from dataclasses import asdict, dataclass, fields

import pandas as pd

from skdp.privacy import PrivacyGuarantee


@dataclass(frozen=True)
class PrivacyAccount:
    """One way to count what a training costs, and whether it holds.

    Parameters
    ----------
    counting : str
        Whose way of counting it is.

    protects : str
        What the ε is about.

    epsilon, delta : float
        Privacy loss and slack.

    holds : bool
        Whether this is a guarantee for what is trained and handed on.

    reason : str
        Why it holds, or why not.

    Examples
    --------
    >>> from skdp.neural import PrivacyAccount
    >>> PrivacyAccount("one row", "a labelled record", 4.0, 0.0, True, "perturbed once").holds
    True
    """

    counting: str
    protects: str
    epsilon: float
    delta: float
    holds: bool
    reason: str

    def guarantee(self, n_features, mechanism, relation="replace-one", besides=""):
        """Return this account as a guarantee for one labelled record.

        Parameters
        ----------
        n_features : int
            Columns of the training rows.

        mechanism : str
            Name of the mechanism.

        relation : {"replace-one", "add/remove"}, default="replace-one"
            How neighbours differ.

        besides : str, default=""
            What else is excluded.

        Returns
        -------
        guarantee : PrivacyGuarantee
        """
        return PrivacyGuarantee(
            mechanism=mechanism,
            epsilon=self.epsilon,
            delta=self.delta,
            sensitivity=None,
            n_features=n_features,
            covers="the trained network, and whatever is computed from it",
            excludes=f"the number of rows, the list of classes, rows given to predict{besides}",
            unit="labelled record",
            relation=relation,
        )


def accounts_frame(accounts):
    """Return accounts as a table.

    Parameters
    ----------
    accounts : iterable of PrivacyAccount

    Returns
    -------
    frame : DataFrame
        One row for each account.

    Examples
    --------
    >>> from skdp.neural._accounts import PrivacyAccount, accounts_frame
    >>> account = PrivacyAccount("one row", "a labelled record", 4.0, 0.0, True, "perturbed once")
    >>> accounts_frame([account])["epsilon"].tolist()
    [4.0]
    """
    columns = [field.name for field in fields(PrivacyAccount)]
    return pd.DataFrame([asdict(account) for account in accounts], columns=columns)
