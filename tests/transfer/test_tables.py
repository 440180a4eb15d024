"""Tables as they come: encoded by the release's own schema, in fit and in predictions."""

import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from skdp import DPStatisticsSource, DPTransferClassifier

pytestmark = [
    pytest.mark.filterwarnings("ignore::skdp.PrivacyLeakWarning"),
    pytest.mark.filterwarnings("ignore:.*were drawn before"),
]
SCHEMA = {
    "age": {"type": "numeric", "low": 0, "high": 100, "missing": True},
    "ward": {"type": "category", "categories": ["A", "B", "C"]},
}


def table(n, seed):
    rng = np.random.RandomState(seed)
    age, ward = rng.uniform(0, 100, n), rng.choice(list("ABC"), n)
    y = np.where(rng.rand(n) < 0.1 + 0.006 * age + 0.2 * (ward == "B"), "ill", "well")
    age[rng.rand(n) < 0.1] = np.nan
    return pd.DataFrame({"age": age, "ward": ward}), y


def release_of(seed=0, encoder=SCHEMA):
    source = DPStatisticsSource(
        4.0, encoder=encoder, classes=["ill", "well"], random_state=np.random.RandomState(seed)
    )
    return source.fit(*table(2000, seed)).release_


@pytest.fixture(scope="module")
def release():
    return release_of()


@pytest.fixture(scope="module")
def target():
    X, y = table(100, 7)
    marked = y[:40].astype(object)
    marked[20:] = None
    return X[:40], marked, X[40:]


@pytest.fixture(scope="module")
def fitted(release, target):
    return DPTransferClassifier(release, random_state=0).fit(*target[:2])


def test_raw_and_encoded_rows_are_learned_from_alike(release, target, fitted):
    X, marked, X_test = target
    expected = fitted.predict_proba(X_test)
    assert_array_equal(fitted.feature_names_in_, ["age", "ward"])
    assert fitted.n_features_in_ == 2
    rows, test = release.encode(X), release.encode(X_test)
    named = [pd.DataFrame(part, columns=release.feature_names) for part in (rows, test)]
    for own, asked in ((rows, test), named):
        model = DPTransferClassifier(release, random_state=0).fit(own, marked)
        assert model.n_features_in_ == 5
        assert_array_equal(model.predict_proba(asked), expected)
    assert_array_equal(model.feature_names_in_, release.feature_names)
    for method in ("scores", "predict", "predict_proba"):
        assert len(getattr(release, method)(X_test)) == 60
    for method in ("predict", "decision_function", "source_scores", "target_scores"):
        assert_array_equal(getattr(fitted, method)(X_test), getattr(model, method)(named[1]))
    assert fitted.score(X_test, fitted.predict(X_test)) == 1


def test_a_table_of_other_columns_is_refused(release, target, fitted):
    X, marked, X_test = target
    with pytest.raises(ValueError, match="needs some of those of the source"):
        DPTransferClassifier(release).fit(X.set_axis(["Age", "Ward"], axis=1), marked)
    with pytest.raises(ValueError, match="feature names should match"):
        fitted.predict(X_test[["age"]])
    with pytest.raises(ValueError, match=r"X is an array, .* DataFrame with the columns \['age'"):
        fitted.predict(release.encode(X_test))


def test_tables_and_arrays_are_not_taken_for_each_other():
    # As many encoded columns as the table has, so that their number tells nothing.
    schema = {name: {"type": "numeric", "low": 0, "high": 100} for name in ("age", "stay")}
    rng = np.random.RandomState(0)
    X = pd.DataFrame(rng.uniform(0, 100, (900, 2)), columns=list(schema))
    y = np.where(X["age"] + X["stay"] > 100, "ill", "well")
    source = DPStatisticsSource(4.0, encoder=schema, classes=["ill", "well"], random_state=0)
    release = source.fit(X[:800], y[:800]).release_
    X, y = X[800:], y[800:]
    model = DPTransferClassifier(release, random_state=0).fit(X, y)
    for rows in (X.to_numpy(), release.encode(X)):
        with pytest.raises(ValueError, match="was fitted to a table"):
            model.predict(rows)
    encoded = DPTransferClassifier(release, random_state=0).fit(release.encode(X), y)
    for table in (X, X[["stay", "age"]]):
        assert_array_equal(encoded.predict_proba(table), model.predict_proba(X))


def test_columns_of_one_name_are_refused(release, target):
    X, marked, _ = target
    for twice in (pd.concat([X, X[["age"]]], axis=1), X.assign(a=1.0, b=2.0)):
        twice = twice.rename(columns={"b": "a"})
        with pytest.raises(ValueError, match=r"more than one column named 'ag?e?'"):
            DPTransferClassifier(release).fit(twice, marked)


def test_sources_of_tables_share_their_encoder(release, target):
    X, marked, _ = target
    both = DPTransferClassifier([release, release_of(1)], random_state=0).fit(X, marked)
    assert len(both.predict(target[2])) == 60
    older = SCHEMA | {"age": SCHEMA["age"] | {"high": 120}}
    other = release_of(1, older)
    for rows in (X, release.encode(X)):
        with pytest.raises(ValueError, match=r"'source' .* encoded by different schemas") as error:
            DPTransferClassifier([release, other]).fit(rows, marked)
        both = "'age': numeric, 0 to 100; may be missing here; numeric, 0 to 120; may be missing"
        assert f"Source 0 here, source 1 there: {both} there. Remove" in str(error.value)
        assert "ward" not in str(error.value)
    rows, y = table(2000, 1)
    bare = DPStatisticsSource(4.0, classes=["ill", "well"], random_state=0)
    bare = bare.fit(release.encode(rows), y).release_
    with pytest.raises(ValueError, match="Source 1 has no encoder"):
        DPTransferClassifier([release, bare]).fit(X, marked)
    encoded = release.encode(X)
    assert DPTransferClassifier([release, bare], random_state=0).fit(encoded, marked).model_


def test_sources_of_tables_may_have_their_columns_in_another_order(release, target):
    X, marked, X_test = target
    turned = dict(reversed(SCHEMA.items()))
    # The same sums in another order, and sums that were made in it.
    same, other = release_of(1), release_of(1, turned)
    assert other.encoder.names == ("ward", "age") != release.encoder.names
    for rows, asked in ((X, X_test), (release.encode(X), release.encode(X_test))):
        straight, twisted, made = (
            DPTransferClassifier([release, each], random_state=0).fit(rows, marked)
            for each in (same, same.restrict(["ward", "age"]), other)
        )
        expected = straight.predict_proba(asked)
        assert_allclose(twisted.predict_proba(asked), expected, rtol=0, atol=1e-9)
        # Their noise is another, their rows are the same: a wrong order would be far off.
        assert np.abs(made.predict_proba(asked) - expected).mean() < 0.05
    assert made.guarantee_ == straight.guarantee_


def test_other_units_warn(rng, release, target):
    people, marked, _ = target
    with pytest.warns(UserWarning, match=r"columns \['age'\] of X .* other units"):
        DPTransferClassifier(release, random_state=0).fit(people.assign(age=400.0), marked)
    plain = DPStatisticsSource(4.0, bounds=(0, 9), classes=[0, 1], random_state=0)
    X = rng.rand(300, 3)
    plain = plain.fit(9 * X, (X[:, 0] > 0.5).astype(int)).release_
    rows = rng.rand(20, 3)
    y = (rows[:, 0] > 0.5).astype(int)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        DPTransferClassifier(plain, random_state=0).fit(rows * 9, y)
    with pytest.warns(UserWarning, match=r"columns \['x0', 'x1', 'x2'\] of X"):
        DPTransferClassifier(plain, random_state=0).fit(rows * 9 + 20, y)
    with pytest.warns(UserWarning, match="hardly any rows") as found:
        DPTransferClassifier(plain, random_state=0).fit(rows * 9 + 20, y)
    assert found[-1].filename == __file__
    far = DPStatisticsSource(4.0, bounds=(0, 9), classes=[0, 1], random_state=0)
    far = far.fit(0.1 * rng.rand(300, 3), np.arange(300) % 2).release_
    with pytest.warns(UserWarning, match="source 1 has hardly any rows") as found:
        DPTransferClassifier([plain, far], random_state=0).fit(rows * 9, y)
    assert not any("source 0 has" in str(each.message) for each in found)


def numbers(n, seed):
    rng = np.random.RandomState(seed)
    X = pd.DataFrame(rng.uniform(0, 9, (n, 2)), columns=["age", "dose"])
    return X, (X["age"] + rng.normal(0, 3, n) > 4.5).to_numpy().astype(int)


def of_numbers():
    return DPStatisticsSource(4.0, bounds=(0, 9), classes=[0, 1]).fit(*numbers(800, 0)).release_


@pytest.mark.parametrize("source", ["table", "numbers", None])
def test_record_numbers_are_no_features(source, target):
    """Of rows sorted by outcome, where their numbers would predict it perfectly."""
    X, y = (*target[:2],) if source == "table" else numbers(40, 1)
    X, y = X.iloc[np.argsort(y == y[0])], y[np.argsort(y == y[0])]
    numbered = X.assign(**{"Unnamed: 0": np.arange(40), "patient_id": np.arange(40) ** 2 * 97})
    release = {"table": release_of, "numbers": of_numbers, None: lambda: None}[source]()
    expected, model = (DPTransferClassifier(release, random_state=0) for _ in range(2))
    with pytest.warns(
        UserWarning, match=r"in each row, (as|like) record numbers.* not used"
    ) as caught:
        model.fit(numbered, y)
    expected.fit(X, y)
    text = " ".join(str(warning.message) for warning in caught)
    assert "'Unnamed: 0'" in text
    assert "'patient_id'" in text
    for rows in (X, numbered[::-1]):
        # Tables of other columns have others in memory, whose sums differ in their last bits.
        assert_allclose(model.predict_proba(rows), expected.predict_proba(rows[[*X]]), rtol=1e-11)
    assert_array_equal(model.feature_names_in_, X.columns)
    # Measurements of as many different whole numbers are used, here too.
    costs = X.assign(cost=(np.arange(40) * 997) % 10_007)
    assert list(DPTransferClassifier(release).fit(costs, y).feature_names_in_)[-1] == "cost"


def test_arrays_that_the_schema_would_encode_are_refused_with_advice(release, target):
    rows = release.encode(target[0])
    rows[0, 0] = np.nan
    with pytest.raises(ValueError, match=r"^Input X contains NaN\. Pass a DataFrame") as refusal:
        DPTransferClassifier(release).fit(rows, target[1])
    assert len(str(refusal.value).split()) <= 40


def test_tables_without_an_encoder_are_refused_with_advice(target):
    X, marked, _ = target
    with pytest.raises(
        ValueError, match=r"^Input X contains NaN\. Rows .* encoder=schema"
    ) as refusal:
        DPStatisticsSource(4.0, bounds=(0, 100)).fit(X[["age"]], np.arange(len(X)) % 2)
    assert len(str(refusal.value).split()) <= 40
    with pytest.raises(ValueError, match=r"'ward'.* TabularEncoder\(release\.encoder\)"):
        DPTransferClassifier(None).fit(X, marked)
