import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.stats import norm
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.compose import ColumnTransformer
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from skdp import (
    DPSource,
    DPTransferClassifier,
    OptimalDPNoise,
    PrivacyGuarantee,
    RandomizedResponse,
    SelfTrainingSchedule,
)
from skdp.privacy import Mechanism
from skdp.privacy.audit import (
    LikelihoodRatioAttack,
    ShadowAttack,
    audit_membership,
    membership_scores,
)
from skdp.privacy.audit._attacks import canary_scores, halfway_scores
from skdp.privacy.audit._evidence import area_under_curve

METRICS = ("correctness", "loss", "confidence", "entropy")
DEFAULT = (*METRICS, "halfway", "canary")
ALL = (*DEFAULT, "shadow", "shadow_per_class", "likelihood_ratio")


@pytest.fixture(scope="module")
def data():
    """Two overlapping classes: a model that gets all training rows right has memorised them."""
    rng = np.random.RandomState(0)
    y = rng.randint(2, size=1800)
    X = rng.standard_normal((1800, 5)) + 0.5 * y[:, np.newaxis]
    return X, y


def thirds(data):
    X, y = data
    return [(X[k : k + 600], y[k : k + 600]) for k in (0, 600, 1200)]


def overall(report, attack):
    frame = report.to_frame()
    return frame[(frame["class"] == "all") & (frame["attack"] == attack)].iloc[0]


@pytest.mark.parametrize(
    "model", [DecisionTreeClassifier(random_state=0), KNeighborsClassifier(1)], ids=str
)
def test_attacks_succeed_on_models_that_memorise(data, model):
    members, others, own = thirds(data)
    model.fit(*members)
    settings = {"attacks": ALL, "shadow_data": own, "n_shadows": 6, "random_state": 0}
    report = audit_membership(model, members, others, **settings)
    for attack in ("correctness", "loss", "shadow", "shadow_per_class", "likelihood_ratio"):
        row = overall(report, attack)
        assert row["auc_low"] > 0.55, attack
        assert row["accuracy"] > 0.6, attack
        assert row["epsilon_lower"] > 1.5, attack
    assert report.guarantee is None
    assert "claimed: nothing" in str(report)


def test_no_attack_succeeds_where_nothing_is_learned(data):
    members, others, own = thirds(data)
    model = DummyClassifier(strategy="prior").fit(*members)
    report = audit_membership(
        model, members, others, attacks=ALL, shadow_data=own, n_shadows=4, random_state=0
    )
    frame = report.to_frame()
    assert (frame["epsilon_lower"] == 0).all()
    rows = frame[frame["class"] == "all"]
    assert_allclose(rows["auc"], 0.5, atol=0.05)


def record_claim(epsilon, n_features=64):
    stated = [Mechanism("any", epsilon)]
    return PrivacyGuarantee("x", stated, 1.0, n_features, "rows", "labels", unit="record")


@pytest.fixture(scope="module")
def digit_halves(digits):
    X, y = digits
    return (X[::2], y[::2]), (X[1::2], y[1::2])


@pytest.mark.slow
@pytest.mark.parametrize(
    "model", [KNeighborsClassifier(1), DecisionTreeClassifier(random_state=0)], ids=str
)
def test_default_attacks_refute_a_false_claim_and_no_true_one(digit_halves, model):
    members, others = digit_halves
    settings = {"guarantee": record_claim(1.0), "random_state": 0}
    report = audit_membership(model.fit(*members), members, others, **settings)
    assert report.attack == "canary"
    assert not report.passed
    # Of one that knows its rows by heart, predictions on members and others look alike.
    if isinstance(model, KNeighborsClassifier):
        assert overall(report, "halfway")["auc_low"] > 0.9
    noise = OptimalDPNoise(
        1.0, 0.0, privacy_unit="record", perturb="fit", random_state=np.random.RandomState(0)
    )
    honest = make_pipeline(noise, model).fit(*members)
    report = audit_membership(honest, members, others, random_state=0)
    assert report.guarantee.epsilon == 1.0
    assert report.passed
    assert report.verdict == (
        "not refuted by these attacks, which detect at least epsilon = "
        f"{report.epsilon_detectable:.3g}"
    )
    assert 1.1 < report.epsilon_detectable < 1.5


def test_a_claim_beyond_the_sample_cannot_be_refuted(digit_halves):
    members, others = digit_halves
    model = KNeighborsClassifier(1).fit(*members)
    report = audit_membership(model, members, others, guarantee=record_claim(64.0), random_state=0)
    assert report.passed
    assert report.epsilon_detectable == np.inf
    assert report.epsilon_lower < report.epsilon_limit < 5
    assert "cannot be: samples of this size show at most epsilon = 4." in str(report)


class Weak(OptimalDPNoise):
    """A thousandth of the noise."""

    def _perturb(self, X):
        return X + 1e-3 * (super()._perturb(X) - X)


@pytest.mark.slow
@pytest.mark.parametrize(("noise", "passes"), [(OptimalDPNoise, True), (Weak, False)])
def test_sources_are_audited_by_what_their_release_predicts(digit_halves, noise, passes):
    members, others = digit_halves
    noise = noise(1.0, 0.0, privacy_unit="record", random_state=np.random.RandomState(0))
    source = DPSource(noise=noise, n_layers=1, parts="papers", random_state=0).fit(*members)
    report = audit_membership(source, members, others, random_state=0)
    assert report.guarantee == source.guarantee_
    assert report.to_frame()["attack"].unique().tolist() == list(DEFAULT)
    assert report.passed == passes
    if not passes:
        assert report.attack == "canary"


class Recorder(ClassifierMixin, BaseEstimator):
    """Knows every training row by heart, and remembers in a list what it was trained on."""

    seen: list = []

    def fit(self, X, y):
        self.seen.append((X, y))
        self.classes_ = np.unique(y)
        self.known_ = {row.tobytes(): label for row, label in zip(X, y, strict=True)}
        return self

    def predict(self, X):
        return np.array([self.known_.get(row.tobytes(), -1) for row in X])


def test_canaries_differ_in_the_features_of_records_alone(data):
    members, others, _ = thirds(data)
    Recorder.seen.clear()
    scores, joined, labels = canary_scores(Recorder(), members, others, np.random.RandomState(0))
    (X, y), n = Recorder.seen[0], len(scores) // 2
    assert_allclose(X[:600], members[0])
    assert len(X) == len(y) == 600 + n
    assert joined.tolist() == [True] * n + [False] * n
    # It predicts the planted label of those that joined, and knows none of the rest.
    assert_allclose(scores, joined)
    # Each pair has one planted label, which is wrong for both of its records.
    assert (labels[:n] == labels[n:]).all()
    assert (y[600:] == labels[:n]).all()
    truth = {row.tobytes(): label for row, label in zip(*others, strict=True)}
    true = np.array([truth[row.tobytes()] for row in X[600:]])
    assert (true != labels[:n]).all()


def test_halfway_sees_digits_of_the_middle():
    X, y = np.array([[0.0], [1.0]]), np.array([0, 1])
    for middle, digits in ((0.5, 4), (0.5003, 3), (0.503, 2), (0.53, 1), (0.7, 0)):

        class At(DummyClassifier):
            def predict(self, X, middle=middle):
                return (X[:, 0] > middle).astype(int)

        assert halfway_scores(At(), X, y).tolist() == [digits, digits]
    assert halfway_scores(At(), X, np.zeros(2)).tolist() == [0, 0]  # no other label


def test_halfway_moves_the_numbers_of_frames(data):
    members, others, _ = thirds(data)
    X = np.concatenate([members[0], others[0]])
    y = np.concatenate([members[1], others[1]])
    expected = halfway_scores(KNeighborsClassifier(1).fit(*members), X, y)
    frame = pd.DataFrame(X, columns=list("abcde")).assign(name="x")
    model = make_pipeline(
        ColumnTransformer([("numbers", "passthrough", list("abcde"))]), KNeighborsClassifier(1)
    ).fit(frame[:600], members[1])
    assert halfway_scores(model, frame, y).tolist() == expected.tolist()
    assert halfway_scores(model, frame[["name"]], y).max() == 0


class Random(DummyClassifier):
    """Answers anything."""

    rng = np.random.RandomState(0)

    def predict(self, X):
        return self.rng.randint(2, size=len(X))

    def predict_proba(self, X):
        p = self.rng.rand(len(X))
        return np.column_stack([p, 1 - p])


def test_the_verdict_allows_for_the_number_of_attacks():
    # Four attacks at 80 % confidence each could refute the truth every other time.
    X, y = np.zeros((400, 1)), np.arange(400) % 2
    model = Random().fit(X, y)
    settings = {"attacks": METRICS, "guarantee": record_claim(1e-6, 1), "confidence": 0.8}
    reports = [
        audit_membership(model, (X, y), (X, y), **settings, random_state=seed)
        for seed in range(30)
    ]
    assert sum(not report.passed for report in reports) <= 6


def test_a_model_of_a_fitted_source_is_trained_again(digits):
    X, y = (each[digits[1] < 3] for each in digits)
    source = DPSource(8.0, n_layers=1, random_state=0).fit(X[:150], y[:150])
    schedule = SelfTrainingSchedule(n_components=2, n_layers=1, n_folds=2)
    model = DPTransferClassifier(source, self_training=schedule, random_state=0)
    members, others = (X[150:300], y[150:300]), (X[300:450], y[300:450])
    report = audit_membership(
        model.fit(*members), members, others, attacks=["canary"], random_state=0
    )
    assert report.verdict.startswith("nothing to refute, by these attacks, which detect")
    few = (X[300:306], y[300:306])
    with pytest.raises(ValueError, match=r"'others'.*'canary', got 3 and"):
        audit_membership(model, members, few, attacks=["canary"])


def test_metrics_are_their_formulas(data):
    members, others, _ = thirds(data)
    model = LogisticRegression().fit(*members)
    X, y = others
    p = model.predict_proba(X)
    expected = {
        "correctness": model.predict(X) == y,
        "loss": [np.log(row[label]) for row, label in zip(p, y, strict=True)],
        "confidence": [max(row) for row in p],
        "entropy": [sum(q * np.log(q) for q in row) for row in p],
    }
    for attack, scores in expected.items():
        assert_allclose(membership_scores(model, X, y, attack), scores)


def test_decision_functions_do_for_probabilities(data):
    members, others, _ = thirds(data)
    model = LinearSVC().fit(*members)
    d = model.decision_function(others[0])
    expected = -np.log1p(np.exp(-np.where(others[1] == 1, d, -d)))
    assert_allclose(membership_scores(model, *others, "loss"), expected)


def test_labels_that_the_model_does_not_know_count_as_surprises(data):
    members, _, _ = thirds(data)
    model = LogisticRegression().fit(*members)
    scores = membership_scores(model, members[0][:3], np.array([7, -1, 0]), "loss")
    assert_allclose(scores[:2], np.log(1e-9))
    assert scores[2] > np.log(1e-9)


def test_area_interval_is_delong_s(rng):
    members, others = rng.standard_normal(20) + 1, rng.standard_normal(30)
    wins = (members[:, None] > others) + 0.5 * (members[:, None] == others)
    variance = wins.mean(axis=1).var(ddof=1) / 20 + wins.mean(axis=0).var(ddof=1) / 30
    area, low, high = area_under_curve(members, others, 0.9)
    assert_allclose(area, wins.mean())
    assert_allclose((high - low) / 2, norm.ppf(0.95) * np.sqrt(variance))


def test_thresholds_are_chosen_elsewhere_so_that_chance_stays_chance():
    # Scores without meaning, of few records: the best threshold of the same records would
    # show an advantage of about 0.2, and a sure ε, every time.
    X, y = np.zeros((80, 1)), np.arange(80) % 2
    model = Random().fit(X, y)
    found = [
        overall(audit_membership(model, (X, y), (X, y), attacks=["loss"]), "loss")
        for _ in range(60)
    ]
    assert abs(np.mean([row["advantage"] for row in found])) < 0.05
    assert np.mean([row["epsilon_lower"] > 0 for row in found]) < 0.15


def test_table_has_classes_rates_and_limits(data):
    members, others, _ = thirds(data)
    model = KNeighborsClassifier(3).fit(*members)
    report = audit_membership(model, members, others, attacks=METRICS, random_state=0)
    frame = report.to_frame()
    assert isinstance(frame, pd.DataFrame)
    assert frame["class"].tolist() == ["all", 0, 1] * 4
    rows = frame[frame["class"] == "all"]
    assert (rows["n_members"] == 600).all()
    sums = frame[frame["class"] != "all"].groupby("attack", sort=False)["n_others"].sum()
    assert (sums == 600).all()
    assert frame["tpr_at_0.1%"].isna().all()  # 600 others cannot tell
    for name in ("auc", "tpr_at_1%"):
        assert (frame[f"{name}_low"] <= frame[name]).all()
        assert (frame[name] <= frame[f"{name}_high"]).all()


def test_a_granted_delta_lowers_the_bound(data):
    members, others, _ = thirds(data)
    model = KNeighborsClassifier(1).fit(*members)
    bounds = []
    for delta in (0.0, 0.05, 0.9):
        stated = [Mechanism("any", 1.0, delta)]
        claim = PrivacyGuarantee("x", stated, 1.0, 5, "", "labels", unit="record")
        report = audit_membership(
            model, members, others, attacks=["loss"], guarantee=claim, random_state=0
        )
        bounds.append(overall(report, "loss")["epsilon_lower"])
        assert "excludes labels" in str(report)
    assert bounds[0] > bounds[1] > bounds[2] == 0


def test_frames_and_rare_classes(data):
    (X_in, y_in), (X_out, y_out), (X_own, y_own) = (
        (pd.DataFrame(X, columns=list("abcde")), np.where(y, "yes", "no")) for X, y in thirds(data)
    )
    y_own[0] = "perhaps"  # in one half of the attacker's rows only, and not in the model
    model = make_pipeline(
        ColumnTransformer([("all", StandardScaler(), list("abcde"))]), KNeighborsClassifier(3)
    ).fit(X_in, y_in)
    report = audit_membership(
        model,
        (X_in, y_in),
        (X_out, y_out),
        attacks=["shadow", "shadow_per_class", "likelihood_ratio"],
        shadow_data=(X_own, y_own),
        n_shadows=4,
        random_state=0,
    )
    assert (report.to_frame().query("`class` == 'all'")["auc"] > 0.55).all()


def test_rates_at_few_false_positives():
    # Nine members above all others, one other above all but these.
    class Given(DummyClassifier):
        def predict_proba(self, X):
            return np.column_stack([1 - X[:, 0], X[:, 0]])

    X_in = np.append(np.linspace(0.90, 0.98, 9), np.full(91, 0.1))[:, np.newaxis]
    X_out = np.append([0.85], np.linspace(0.2, 0.4, 999))[:, np.newaxis]
    y_in, y_out = np.ones(100, int), np.ones(1000, int)
    model = Given().fit([[0.0], [1.0]], [0, 1])
    report = audit_membership(model, (X_in, y_in), (X_out, y_out), attacks=["loss"])
    row = overall(report, "loss")
    assert row["tpr_at_0.1%"] == 0.09
    assert row["tpr_at_1%"] == 0.09


def test_the_likelihood_ratio_is_that_of_two_normal_distributions(data):
    members, others, _ = thirds(data)
    model = LogisticRegression().fit(*members)
    attack = LikelihoodRatioAttack(LogisticRegression(), n_shadows=8, random_state=0)
    attack.fit(*others)
    shadows, seen = attack._train(*others)
    X, y = others

    def odds(m):
        p = m.predict_proba(X)[np.arange(len(y)), y]
        return np.log(p / (1 - p))

    table = np.array([odds(m) for m in shadows])
    record = 17
    distributions = []
    for chosen in (seen, ~seen):
        residuals = [table[chosen[:, i], i] - table[chosen[:, i], i].mean() for i in range(len(y))]
        dof = sum(len(r) - 1 for r in residuals)
        sd = max(np.sqrt(sum(np.sum(r**2) for r in residuals) / dof), 0.1)
        distributions.append(norm(table[chosen[:, record], record].mean(), sd))
    phi = odds(model)[record]
    expected = distributions[0].logpdf(phi) - distributions[1].logpdf(phi)
    assert_allclose(attack.score_members(model, X, y)[record], expected, rtol=1e-6)


def test_plot_has_a_curve_for_each_attack(data):
    plt = pytest.importorskip("matplotlib.pyplot")
    members, others, _ = thirds(data)
    model = make_pipeline(OptimalDPNoise(1.0, perturb="fit"), KNeighborsClassifier(1))
    report = audit_membership(model.fit(*members), members, others)
    ax = report.plot()
    labels = [line.get_label() for line in ax.get_lines()]
    assert labels == [*DEFAULT, "guessing", "most that the claim allows"]
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")
    widths = [line.get_linewidth() for line in ax.get_lines()[: len(DEFAULT)]]
    assert np.all(np.diff(widths) < 0)  # equal curves hide none
    plt.close(ax.figure)


def test_claims_about_labels_are_refused(data):
    members, others, _ = thirds(data)
    response = RandomizedResponse(1.0).fit(members[1])
    model = KNeighborsClassifier(1).fit(*members)
    with pytest.raises(ValueError, match=r"unit='label'.*Use guarantee=None"):
        audit_membership(model, members, others, guarantee=response.guarantee_)
    with pytest.raises(ValueError, match=r"'model'.*RandomizedResponse.*does not predict"):
        audit_membership(response, members, others)


def test_claims_about_records_that_are_added_are_held_to_replacement(data):
    X, y = data
    claim = PrivacyGuarantee(
        *("x", [Mechanism("any", 1.0, 1e-5)], None, X.shape[1], "all", "nothing"),
        unit="labeled record",
        relation="add/remove",
    )
    model = DecisionTreeClassifier(random_state=0).fit(X[::2], y[::2])
    sides = (X[::2], y[::2]), (X[1::2], y[1::2])
    report = audit_membership(model, *sides, guarantee=claim, attacks=["loss"], random_state=0)
    assert report.guarantee == claim.to_replace_one()
    assert report.guarantee.epsilon == 2.0


def test_wrong_calls_are_named(data):
    members, others, own = thirds(data)
    model = KNeighborsClassifier().fit(*members)
    with pytest.raises(ValueError, match=r"'attacks'.*\['magic'\]"):
        audit_membership(model, members, others, attacks=["magic"])
    with pytest.raises(ValueError, match="'shadow_data'"):
        audit_membership(model, members, others, attacks=["shadow"])
    with pytest.raises(ValueError, match="'n_shadows' parameter of ShadowAttack"):
        ShadowAttack(model, n_shadows=1).fit(*own)
    attack = LikelihoodRatioAttack(model, n_shadows=4, random_state=0)
    attack.fit(members[0][:50], members[1][:50])
    with pytest.raises(ValueError, match="600 records"):
        attack.score_members(model, *members)
