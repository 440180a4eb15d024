import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.stats import norm
from sklearn.compose import ColumnTransformer
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from skdp import DPSource, DPTransferClassifier, OptimalDPNoise, PrivacyGuarantee
from skdp.privacy.audit import (
    LikelihoodRatioAttack,
    ShadowAttack,
    audit_membership,
    membership_scores,
)
from skdp.privacy.audit._intervals import area_under_curve

METRICS = ("correctness", "loss", "confidence", "entropy")
ALL = (*METRICS, "shadow", "shadow_per_class", "likelihood_ratio")


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


def test_success_fades_with_epsilon(data):
    members, others, _ = thirds(data)
    auc = []
    for epsilon in (0.05, 1000.0):
        model = make_pipeline(
            OptimalDPNoise(epsilon, perturb="fit"), DecisionTreeClassifier(random_state=0)
        ).fit(*members)
        report = audit_membership(model, members, others, attacks=["loss"], random_state=0)
        auc.append(overall(report, "loss")["auc"])
        assert report.guarantee.unit == "record"
        assert report.guarantee.epsilon == pytest.approx(5 * epsilon)
    assert auc[0] < 0.56
    assert auc[1] > 0.6


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


def test_area_is_sklearn_s_and_its_interval_covers(rng):
    scores, member = rng.standard_normal(300).round(1), rng.rand(300) < 0.4
    area, low, high = area_under_curve(scores[member], scores[~member])
    assert_allclose(area, roc_auc_score(member, scores))
    assert low < area < high
    truth, covered = norm.cdf(1 / np.sqrt(2)), 0
    for _ in range(400):
        _, low, high = area_under_curve(rng.standard_normal(60) + 1, rng.standard_normal(80))
        covered += low <= truth <= high
    assert 0.9 < covered / 400 < 0.99


def test_area_interval_is_delong_s(rng):
    members, others = rng.standard_normal(20) + 1, rng.standard_normal(30)
    wins = (members[:, None] > others) + 0.5 * (members[:, None] == others)
    variance = wins.mean(axis=1).var(ddof=1) / 20 + wins.mean(axis=0).var(ddof=1) / 30
    area, low, high = area_under_curve(members, others, 0.9)
    assert_allclose(area, wins.mean())
    assert_allclose((high - low) / 2, norm.ppf(0.95) * np.sqrt(variance))


def test_thresholds_are_chosen_elsewhere_so_that_chance_stays_chance(rng):
    # Scores without meaning, of few records: the best threshold of the same records would
    # show an advantage of about 0.2, and a sure ε, every time.
    class Random(DummyClassifier):
        def predict_proba(self, X):
            p = rng.rand(len(X))
            return np.column_stack([p, 1 - p])

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
    frame = audit_membership(model, members, others, random_state=0).to_frame()
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
        claim = PrivacyGuarantee("x", 1.0, delta, 1.0, 5, "", "labels", unit="record")
        report = audit_membership(
            model, members, others, attacks=["loss"], guarantee=claim, random_state=0
        )
        bounds.append(overall(report, "loss")["epsilon_lower"])
        assert "excludes labels" in str(report)
    assert bounds[0] > bounds[1] > bounds[2] == 0


def test_the_claim_of_a_transfer_model_is_about_other_rows(digits):
    X, y = digits
    source = DPSource(8.0, n_layers=1, random_state=0).fit(X[:600], y[:600])
    model = DPTransferClassifier(source, n_components=2, n_layers=1, random_state=0)
    model.fit(X[600:900], y[600:900])
    report = audit_membership(
        model, (X[600:900], y[600:900]), (X[900:1200], y[900:1200]), attacks=["correctness"]
    )
    assert report.guarantee is None


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


def test_shadow_models_are_seeded_paired_and_parallel(data):
    members, _, own = thirds(data)
    tree = DecisionTreeClassifier().fit(*members)
    one, two = (
        ShadowAttack(tree, n_shadows=5, n_jobs=n, random_state=3).fit(*own) for n in (1, 2)
    )
    assert_allclose(one.score_members(tree, *members), two.score_members(tree, *members))
    _, seen = LikelihoodRatioAttack(tree, n_shadows=6, random_state=0)._train(*own)
    assert (seen.sum(axis=0) == 3).all()


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
    assert labels == [*METRICS, "guessing", "most that the claim allows"]
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")
    plt.close(ax.figure)


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


def test_progress_is_printed(data, capsys):
    members, others, _ = thirds(data)
    audit_membership(KNeighborsClassifier().fit(*members), members, others, verbose=1)
    assert "[audit_membership] entropy: AUC" in capsys.readouterr().out
