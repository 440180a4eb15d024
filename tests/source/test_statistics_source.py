"""The source of noisy statistics: what it guarantees, what it refuses, what it releases."""

import pickle
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from scipy.special import softmax
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

from skdp import (
    DPStatisticsSource,
    PrivacyLeakWarning,
    RandomizedResponse,
    Release,
    TabularEncoder,
)
from skdp.privacy import PrivacyLedger, gaussian_delta
from skdp.tabular import as_schema

# Sources of the same seed are compared on purpose.
pytestmark = pytest.mark.filterwarnings("ignore:.*were drawn before")
CLASSES = ["ill", "well"]
SCHEMA = {
    "age": {"type": "numeric", "low": 0, "high": 100},
    "smokes": {"type": "category", "categories": ["never", "formerly", "now"]},
}


def seeded(*args, **settings):
    """A source whose noise can be repeated; the warning about it is tested elsewhere."""
    return DPStatisticsSource(*args, **settings, random_state=np.random.RandomState(0))


@pytest.fixture(scope="module")
def rows():
    rng = np.random.RandomState(0)
    y = rng.randint(2, size=2000)
    X = pd.DataFrame(np.clip(rng.normal(0.4 + 0.2 * y[:, None], 0.15, (2000, 4)), 0, 1))
    return X.set_axis(list("abcd"), axis=1), np.array(CLASSES)[y]


@pytest.fixture(scope="module")
def source(rows):
    return seeded(2.0, classes=CLASSES).fit(*rows)


def test_it_learns_what_tells_the_classes_apart(rows, source):
    X, y = rows
    release = source.release_
    assert release.score(X, y) > 0.87
    best = LogisticRegression().fit(X, y).score(X, y)
    assert release.score(X, y) > best - 0.03
    assert_array_equal(release.predict_proba(X), softmax(release.scores(X), axis=1))
    # Probabilities are calibrated: of rows that are about 80% sure, about 80% are right.
    sure = release.predict_proba(X)[:, 1]
    some = (sure > 0.7) & (sure < 0.9)
    # Some 200 rows: three standard errors.
    assert abs(np.mean(y[some] == "well") - sure[some].mean()) < 0.08


def test_it_states_what_is_guaranteed(source):
    guarantee = source.guarantee_
    assert guarantee == source.release_.guarantee == source.release_.record_guarantee
    assert (guarantee.epsilon, guarantee.delta) == (2.0, 1e-5)
    assert (guarantee.unit, guarantee.relation) == ("labeled record", "add/remove")
    [mechanism] = guarantee.mechanisms
    mu = guarantee.gaussian_distance
    assert gaussian_delta(1 / mu, 2.0 - mechanism.slack) <= 1e-5
    assert gaussian_delta(0.99 / mu, 2.0) > 1e-5  # no more noise than needed
    assert source.release_.label_guarantee is None
    text = source.release_.summary()
    assert "Labels\n  Protected together with the columns." in text
    assert "one of which lacks one record" in " ".join(text.split())
    assert guarantee.to_replace_one().epsilon > guarantee.epsilon


def test_a_seed_repeats_noise_and_warns(rows):
    source = DPStatisticsSource(classes=CLASSES, random_state=3)
    with pytest.warns(PrivacyLeakWarning, match="guesses this seed"):
        first = source.fit(*rows).release_
    with pytest.warns(PrivacyLeakWarning):
        second = clone(source).fit(*rows).release_
    assert_array_equal(first.moments.means, second.moments.means)
    stored = pickle.loads(pickle.dumps(source))
    assert_array_equal(stored.release_.moments.means, first.moments.means)


def test_names_of_classes_that_are_taken_from_y_warn_and_count_as_public(rows):
    with pytest.warns(PrivacyLeakWarning, match="takes the names of the classes from y"):
        source = seeded().fit(*rows)
    assert "the list was taken from y" in source.guarantee_.excludes
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", ".*were drawn before")
        listed = seeded(classes=CLASSES).fit(*rows)
    assert "taken from y" not in listed.guarantee_.excludes


def test_classes_that_are_listed_are_released_and_others_left_out(rows):
    X, y = rows
    release = seeded(20.0, classes=["dead", "ill", "well"]).fit(X, y).release_
    assert release.classes.tolist() == ["dead", "ill", "well"]
    assert release.moments.class_counts[0] < 0.01 * release.moments.class_counts[1]
    assert set(release.predict(X)) == {"ill", "well"}
    three = y.astype(object)
    three[::4] = "unknown"
    kept = seeded(classes=CLASSES).fit(X, three).release_
    expected = seeded(classes=CLASSES).fit(X[three != "unknown"], y[three != "unknown"]).release_
    assert_array_equal(kept.moments.means, expected.moments.means)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"classes": ["ill"]}, "'classes' parameter .* two or more"),
        ({"classes": ["ill", "ill"]}, "'classes' parameter .* different"),
        ({"classes": ["ill", None]}, "'classes' parameter .* different"),
        ({"bounds": (1, 0)}, "'bounds' parameter .* low < high"),
        ({"bounds": (0, np.inf)}, "'bounds' parameter .* finite"),
        ({"bounds": (0, [1, 1])}, "'bounds' parameter .* pair"),
        ({"bounds": (0, 1, 2)}, "'bounds' parameter .* pair"),
        ({"bounds": (0, 2), "encoder": SCHEMA}, r"'bounds' parameter .* \(0, 2\) beside an 'enc"),
        ({"bounds": ([0] * 4, [1] * 4), "encoder": SCHEMA}, "Leave out 'bounds'"),
        ({"encoder": "{}"}, "has 0 columns"),
        ({"epsilon": 1e-9}, "'epsilon' parameter, 1e-09, is smaller than the sampler"),
        ({"epsilon": 1e4}, "'epsilon' parameter, 10000, exceeds the precision of the sampler"),
    ],
)
def test_what_it_cannot_use_is_refused_before_anything_is_spent(rows, settings, message):
    settings = {"classes": CLASSES} | settings
    ledger = PrivacyLedger(10.0)
    with pytest.raises(ValueError, match=message):
        ledger.release(DPStatisticsSource(**settings), *rows)
    assert not ledger.entries


@pytest.mark.parametrize("n", [2, 10, 30])
@pytest.mark.parametrize("epsilon", [0.05, 1.0, np.inf])
def test_few_rows_or_little_budget_still_make_a_valid_release(n, epsilon, rng, tmp_path):
    X, y = rng.rand(n, 3), np.arange(n) % 2
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyLeakWarning)
        release = DPStatisticsSource(epsilon, classes=[0, 1, 2]).fit(X, y).release_
    release.save(tmp_path / "release")
    loaded = Release.load(tmp_path / "release")
    assert np.isfinite(loaded.scores(X)).all()
    assert loaded.summary() == release.summary()
    assert np.isfinite(loaded.sample(20, random_state=0)[0]).all()


def table(rng, n=200):
    smokes = rng.choice(["never", "formerly", "now"], n)
    return pd.DataFrame({"age": rng.uniform(0, 100, n), "smokes": smokes}), np.arange(n) % 2


def test_an_encoder_may_be_a_schema_in_any_form(rng, tmp_path):
    (tmp_path / "schema.json").write_text(as_schema(SCHEMA).to_json())
    forms = [TabularEncoder(SCHEMA), SCHEMA, as_schema(SCHEMA), tmp_path / "schema.json"]
    releases = []
    for form in [*forms, as_schema(SCHEMA).to_json(), TabularEncoder(tmp_path / "schema.json")]:
        source = seeded(encoder=form, classes=[0, 1])
        assert source.get_params()["encoder"] is form
        fitted = clone(source).set_params(random_state=np.random.RandomState(0))
        releases.append(fitted.fit(*table(np.random.RandomState(0))).release_)
        assert source.accumulator().plan.columns.schema == as_schema(SCHEMA)
    for release in releases:
        assert release.encoder == as_schema(SCHEMA)
        assert_array_equal(release.moments.means, releases[0].moments.means)


@pytest.mark.parametrize("missing", ["text", "nan"])
def test_tables_without_an_encoder_are_told_of_it(rng, missing):
    X, y = table(rng)
    if missing == "nan":
        X = X[["age"]].where(X["age"] > 50)
    source = seeded(classes=[0, 1])
    remedy = r"encoder=schema\."
    with pytest.raises((TypeError, ValueError), match=remedy):
        source.fit(X, y)
    with pytest.raises((TypeError, ValueError), match=remedy):
        source.accumulator(feature_names=list(X.columns)).add(X, y)
    with pytest.raises((TypeError, ValueError), match=remedy):
        source.fit(X.to_numpy(), y)
    with pytest.raises(ValueError, match="Expected 2D array") as error:
        source.fit(y, y)
    assert "encoder" not in str(error.value)


def test_a_release_says_one_thing_about_labels(source):
    labels = RandomizedResponse(1.0).fit([0, 1]).guarantee_
    with pytest.raises(ValueError, match=r"'label_guarantee' .* None where the guarantee"):
        replace(source.release_, label_guarantee=labels)


@pytest.mark.parametrize(("delta", "warns"), [(1e-5, False), (1e-3, False), (0.1, True)])
def test_a_large_slack_warns(rows, delta, warns):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        seeded(2.0, delta=delta, classes=CLASSES).fit(*rows)
    said = [str(each.message) for each in caught if each.category is PrivacyLeakWarning]
    assert any("'delta' parameter of DPStatisticsSource, 0.1," in each for each in said) == warns


def test_progress_names_the_queries_and_nothing_else(rows, capsys):
    seeded(classes=CLASSES, verbose=1, model="linear").fit(*rows)
    names = ["counts", "second", "total", "contrast"]
    lines = [f"[DPStatisticsSource] adds noise to: {name}" for name in names]
    assert capsys.readouterr().out.splitlines() == lines
