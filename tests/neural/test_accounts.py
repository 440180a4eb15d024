"""Ways to count what a training costs, without any network."""

import numpy as np
import pytest

from skdp.neural import PrivacyAccount


@pytest.mark.parametrize(
    "changes",
    [
        *[{"counting": 3}, {"protects": None}, {"reason": b"x"}, {"holds": 1}],
        *[{"epsilon": value} for value in (-1.0, np.nan, "1", None)],
        *[{"delta": value} for value in (-1e-9, 1.1, np.nan, "1")],
        {"epsilon": np.inf},
    ],
    ids=str,
)
def test_accounts_that_there_cannot_be(changes):
    sound = {"epsilon": 4.0, "delta": 0.0, "holds": True, "reason": "perturbed once"}
    settings = {"counting": "one row", "protects": "a labeled record", **sound}
    PrivacyAccount(**settings)
    with pytest.raises(ValueError, match="A PrivacyAccount must have texts"):
        PrivacyAccount(**{**settings, **changes})


def test_an_account_that_does_not_hold_guarantees_nothing():
    paper = PrivacyAccount("as the paper counts", "sums", 1.0, 0.0, False, "it is for sums")
    assert paper.guarantee(7, "noise").epsilon == np.inf


def test_an_account_as_a_guarantee():
    account = PrivacyAccount("one row", "a labeled record", 4.0, 1e-6, True, "perturbed once")
    guarantee = account.guarantee(7, "some noise", relation="add/remove")
    assert (guarantee.epsilon, guarantee.delta, guarantee.n_features) == (4.0, 1e-6, 7)
    assert (guarantee.unit, guarantee.relation) == ("labeled record", "add/remove")
    assert guarantee.excludes.endswith("rows given to predict")
    more = account.guarantee(7, "some noise", also_excludes=", and more")
    assert more.excludes == guarantee.excludes + ", and more"
