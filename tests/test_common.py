"""scikit-learn's own checks on everything public, those it yields and those it does not."""

from importlib.util import find_spec

import numpy as np
import pytest
from sklearn.linear_model import Ridge
from sklearn.utils import estimator_checks
from sklearn.utils.estimator_checks import parametrize_with_checks

from skdp import (
    CDMMA,
    CDMMAClassifier,
    DeepFuzzyAutoencoder,
    DeepFuzzyClassifier,
    DeepFuzzyRegressor,
    DPNoiseRegressor,
    DPSource,
    DPStatisticsSource,
    DPTransferClassifier,
    DPTransferRegressor,
    DPTransferSurvival,
    GaussianDPNoise,
    MembershipMapping,
    OptimalDPNoise,
    OrientedGradients,
    RandomizedResponse,
    SelfTrainingSchedule,
    StaircaseDPNoise,
    TabularEncoder,
    WideCDMMA,
    WideCDMMAClassifier,
)

NETWORKS = []
if find_spec("torch"):
    from skdp.neural import AdaptiveLaplaceClassifier, PrivateCDBNClassifier

    SMALL = {"hidden_layer_sizes": (6, 4), "n_epochs": 2, "batch_size": 50}
    NETWORKS = [
        AdaptiveLaplaceClassifier(**SMALL),
        PrivateCDBNClassifier(**SMALL),
    ]
# One setting for each way through validation, fit, transform and predict; what only changes
# numbers or the guarantee is tested with its package.
NOISES = [
    OptimalDPNoise(),
    OptimalDPNoise(perturb="fit"),
    OptimalDPNoise(bounds=(-10, 10)),
    StaircaseDPNoise(),
    GaussianDPNoise(privacy_unit="record"),
]
# So little noise that the checks can see what is learned; the same one in each fit.
LITTLE = {
    "noise": OptimalDPNoise(1e3, random_state=0),
    "target_noise": OptimalDPNoise(1e3, bounds=(-300, 300), random_state=1),
}
AUTOENCODERS = [CDMMA(), WideCDMMA(), DeepFuzzyAutoencoder()]
PREDICTORS = [
    MembershipMapping(),
    MembershipMapping(inference="empirical"),
    CDMMAClassifier(),
    WideCDMMAClassifier(),
    DeepFuzzyRegressor(),
    DPNoiseRegressor(Ridge(), **LITTLE),
    # Its squared errors are so small here (1e-8) that 10 decimals, to which one check rounds
    # them, make ties of 1 fit in 400.
    DeepFuzzyClassifier(random_state=0),
    DPTransferClassifier(self_training=SelfTrainingSchedule(n_components=(2, 3), n_folds=2)),
    DPTransferClassifier(strategy="multitask"),
    DPTransferRegressor(),
    *NETWORKS,
]
TRANSFORMERS = [*NOISES, *AUTOENCODERS, TabularEncoder(), OrientedGradients()]
STATISTICS = [DPStatisticsSource(model=model) for model in ("auto", "mixtures", "logistic")]
EVERYTHING = [*TRANSFORMERS, *PREDICTORS, DPSource(), *STATISTICS]
OTHERS = [RandomizedResponse()]

# The harness sets integer seeds, about which a noise transformer rightly warns.
pytestmark = pytest.mark.filterwarnings("ignore::skdp.PrivacyLeakWarning")


@pytest.mark.skipif(not NETWORKS, reason="networks need PyTorch (extra neural), not installed")
def test_networks_are_checked():
    assert all(network in EVERYTHING for network in NETWORKS)


@parametrize_with_checks(EVERYTHING + OTHERS)
def test_check_estimator(estimator, check):
    check(estimator)


class SurvivalOfVectors(DPTransferSurvival):
    """Takes y as the checks make it, a vector, as times that all have the event."""

    def fit(self, X, y=None):
        return super().fit(X, None if y is None else as_times(y))

    def score(self, X, y):
        return super().score(X, as_times(y))


def as_times(y):
    times = np.real(y).astype(float).ravel()
    return np.rec.fromarrays([np.ones(len(times), dtype=bool), times - times.min() + 1])


@parametrize_with_checks([SurvivalOfVectors()])
def test_check_estimator_of_times(estimator, check):
    # Left out are checks of y: scikit-learn's are of classes, numbers or several columns, and
    # this estimator's outcomes are refused in tests/transfer/test_survival.py.
    check(estimator)


@pytest.mark.parametrize("estimator", [*EVERYTHING, SurvivalOfVectors()], ids=repr)
@pytest.mark.parametrize(
    "check", ["check_dataframe_column_names_consistency", "check_param_validation"]
)
def test_unyielded_checks(estimator, check):
    getattr(estimator_checks, check)(type(estimator).__name__, estimator)


@pytest.mark.parametrize("estimator", TRANSFORMERS, ids=repr)
@pytest.mark.parametrize(
    "check",
    [
        "check_set_output_transform",
        "check_set_output_transform_pandas",
        "check_global_output_transform_pandas",
        "check_transformer_get_feature_names_out",
        "check_transformer_get_feature_names_out_pandas",
    ],
)
def test_unyielded_transformer_checks(estimator, check):
    getattr(estimator_checks, check)(type(estimator).__name__, estimator)


@pytest.mark.parametrize("estimator", [*TRANSFORMERS, *PREDICTORS, SurvivalOfVectors()], ids=repr)
def test_wrong_number_of_features_is_refused(estimator, rng):
    # The harness skips this check for anything tagged non-deterministic.
    X, y = rng.rand(20, 4), np.arange(20) % 2
    estimator.fit(X, y)
    method = estimator.transform if hasattr(estimator, "transform") else estimator.predict
    with pytest.raises(ValueError, match=r"X has 3 features, but .* is expecting 4 features"):
        method(X[:, :3])
