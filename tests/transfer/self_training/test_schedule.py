import numpy as np
import pytest

from skdp import DPTransferClassifier
from skdp.transfer.self_training import first_round, make_schedule, resolve


@pytest.mark.parametrize(("n", "expected"), [(1, 1), (2, 1), (9, 8), (40, 20)])
def test_first_round_has_one_component_less_than_labels(n, expected):
    settings = first_round(np.repeat([0, 1, 2], [n, n + 5, n]))
    assert (settings.n_components, settings.n_inducing, settings.n_layers) == (expected, 1.0, 1)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_components": (4, 6), "n_inducing": (0.1, 0.2, 0.3)}, "must be equally long"),
        ({"n_components": (6, 4, 8, 10)}, "never goes down"),
        ({"n_components": (0, 4, 8, 10)}, "positive counts"),
        ({"n_components": ()}, "non-empty"),
        ({"n_inducing": (0.1, 0.2, 0.3, 1.5)}, "fractions in"),
        ({"n_inducing": (0.4, 0.2, 0.3, 0.5)}, "never goes down"),
        ({"n_inducing": (0.5, 0.5, 1, 10)}, "'n_inducing' parameter"),
        ({"n_components": ("a", "b")}, "'n_components' parameter"),
        ({"n_layers": 0}, "'n_layers' parameter"),
        ({"n_folds": 0}, "'n_folds' parameter"),
        ({"n_folds": 1}, "at least 2 with strategy='noise_aware'"),
    ],
)
def test_impossible_settings_are_refused(same, settings, message):
    with pytest.raises(ValueError, match=message):
        DPTransferClassifier(**settings).fit(same[0], same[1])


@pytest.mark.parametrize(
    ("settings", "sizes", "fractions"),
    [
        ({}, [4, 6, 8, 10], [1 / 10, 1 / 8, 1 / 6, 1 / 4]),
        ({"strategy": "noise_aware"}, [5, 5] + [9] * 6, [1 / 2] * 8),
        ({"strategy": "multitask"}, [5, 10, 15, 20], [1 / 2] * 4),
        ({"n_components": 7}, [7], [1 / 4]),
        ({"n_components": (2, 3)}, [2, 3], [1 / 6, 1 / 4]),
        ({"n_components": np.arange(1, 6)}, [1, 2, 3, 4, 5], [0.1, 0.1, 1 / 8, 1 / 6, 1 / 4]),
        ({"n_components": [2, 3], "n_inducing": 40}, [2, 3], [40, 40]),
        ({"n_components": [2, 3], "n_inducing": [10, 40]}, [2, 3], [10, 40]),
    ],
)
def test_schedules(settings, sizes, fractions):
    settings = {"strategy": "alignment", **settings}
    rounds = make_schedule(DPTransferClassifier(**settings), 110.0)
    assert [r.n_components for r in rounds] == sizes
    assert [r.n_inducing for r in rounds] == fractions
    assert [r.n_layers for r in rounds[:-1]] == [1] * (len(sizes) - 1)
    assert rounds[-1].n_layers == (5 if settings["strategy"] == "alignment" else 1)


@pytest.mark.parametrize(
    ("strategy", "n_folds", "inference"),
    [("noise_aware", 4, "gamma"), ("alignment", 1, "gamma"), ("multitask", 1, "empirical")],
)
def test_auto_is_what_the_paper_of_the_strategy_uses(strategy, n_folds, inference):
    model = DPTransferClassifier(strategy=strategy)
    assert resolve(model, "n_folds") == n_folds
    assert resolve(model, "inference") == inference
    model.set_params(n_folds=7, inference="gamma")
    assert resolve(model, "n_folds") == 7
    assert resolve(model, "inference") == "gamma"
