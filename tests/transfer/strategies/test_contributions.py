"""What each part counts for: shares, and log losses compared by hand."""

from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import ttest_rel

from skdp.transfer.strategies._contributions import of_candidates, of_errors, of_scorers, side_of


def weighed(name, log_odds, held_out, source_weight=1.0):
    candidate = SimpleNamespace(source_weight=source_weight)
    return SimpleNamespace(name=name, log_odds=log_odds, held_out=held_out, candidate=candidate)


def test_candidates_are_compared_to_the_first(rng):
    first, second = rng.uniform(0.1, 1, (2, 30))
    parts = [weighed("source", -2.0, first), weighed("both", 1.0, second, 0.4)]
    a, b = of_candidates(parts, np.array([0.25, 0.75]))
    assert (a.name, a.side, a.weight, a.log_odds) == ("source", "source", 0.25, 0.0)
    assert (a.difference, a.standard_error) == (0, 0)
    assert (b.side, b.weight, b.log_odds) == ("both", 0.75, 3.0)
    assert_allclose(b.log_loss, -np.log(second).mean())
    assert_allclose(b.difference, b.log_loss - a.log_loss)
    assert_allclose(b.difference / b.standard_error, ttest_rel(-np.log(second), -np.log(first))[0])


def test_without_labels_or_with_one_no_error_is_known():
    [none] = of_candidates([weighed("source", 0.0, None)], np.ones(1))
    assert np.isnan([none.log_loss, none.difference, none.standard_error]).all()
    [one] = of_candidates([weighed("source", 0.0, np.zeros(1))], np.ones(1))
    assert np.isfinite(one.log_loss)
    assert np.isnan(one.standard_error)


def test_scorers_have_names_and_shares():
    scorers = [SimpleNamespace(name="classifier"), SimpleNamespace()]
    parts = of_scorers(scorers, np.array([1.0, 1.0, 2.0]))
    assert [(p.name, p.side, p.weight) for p in parts[:2]] == [
        ("classifier", "source", 0.25),
        ("source", "source", 0.25),
    ]
    assert (parts[2].side, parts[2].weight) == ("target", 0.5)


@pytest.mark.parametrize("alone", [True, False])
def test_errors_have_the_shares_of_rows(alone):
    parts = of_errors(0.0 if alone else 0.3, alone=alone)
    assert [part.side for part in parts] == ["source", "target"][alone:]
    assert sum(part.weight for part in parts) == pytest.approx(1)


def test_sides():
    assert [side_of(share) for share in (0.0, 0.5, 1.0)] == ["target", "both", "source"]
