"""Explanations of fuzzy classifiers: columns, rules, and where reconstructions differ."""

import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from skdp import DeepFuzzyClassifier, TabularEncoder
from skdp.fuzzy import FiredRule, FuzzyRule

SCHEMA = {
    "noise": {"type": "numeric", "low": 0, "high": 10},
    "age": {"type": "numeric", "low": 20, "high": 100},
    "sex": {"type": "category", "categories": ["F", "M"]},
}


@pytest.fixture(scope="module")
def records():
    """Records of which only the age tells the class, at about 60."""
    rng = np.random.RandomState(0)
    dead = np.arange(300) % 2 == 1
    frame = pd.DataFrame(
        {
            "noise": rng.uniform(4, 6, 300),
            "age": np.where(dead, 75, 45) + 5 * rng.randn(300),
            "sex": rng.choice(["F", "M"], 300),
        }
    )
    return frame, np.where(dead, "dead", "alive")


@pytest.fixture(scope="module")
def encoder(records):
    return TabularEncoder(SCHEMA).set_output(transform="pandas").fit(records[0])


@pytest.fixture(scope="module", params=["shared", "own"])
def model(request, records, encoder):
    model = DeepFuzzyClassifier(1, 5, error_scale=request.param, random_state=0)
    return model.fit(encoder.transform(records[0]), records[1])


def test_the_column_that_decides_is_named_in_its_unit(model, records, encoder):
    frame, y = records
    X = encoder.transform(frame)
    assert model.score(X, y) > 0.95
    for row in range(10):
        explanation = model.explain(X.iloc[[row]], SCHEMA)
        assert explanation.prediction == model.predict(X.iloc[[row]])[0]
        assert_allclose(explanation.probability, model.predict_proba(X.iloc[[row]]).max())
        age = explanation.columns[0]
        assert age.name == "age"
        assert_allclose(age.value, frame["age"][row])
        assert age.least < 0 < age.most  # another age gives the other class
        ages = encoder.transform(pd.concat([frame.iloc[[row]]] * 2).assign(age=[45, 75]))
        assert model.predict(ages).tolist() == ["alive", "dead"]


@pytest.mark.parametrize("n_voters", [1, 2])
def test_error_differences_add_up_to_the_difference_of_errors(split, together, n_voters):
    _, X_test, *_ = split
    model = DeepFuzzyClassifier.merge([together]).set_params(n_voters=n_voters)
    for x in X_test[:2]:
        explanation = model.explain(x)
        errors = model.reconstruction_errors(x[np.newaxis])[0]
        expected = errors[explanation.runner_up] - errors[explanation.prediction]
        assert_allclose(sum(explanation.error_differences), expected, rtol=1e-8)
        assert expected > 0
    if n_voters == 1:
        # Pixel by pixel, from the two strongest rules' own reconstructions.
        residuals = {}
        for label in (explanation.runner_up, explanation.prediction):
            pairs = zip(model.rules_, model.autoencoders_, strict=True)
            own = [a for rule, [a] in pairs if rule.label == label]
            squares = [np.square(x - a.reconstruct(x[np.newaxis])[0]) for a in own]
            residuals[label] = min(squares, key=np.sum)
        differences = residuals[explanation.runner_up] - residuals[explanation.prediction]
        table = explanation.to_frame()["error_difference"]
        assert_allclose(table[[f"x{j}" for j in range(64)]], differences, atol=1e-12)


def test_rules_are_told_apart_by_their_shares(split, together):
    _, X_test, *_ = split
    explanation = together.explain(X_test[0], n_rules=99)
    fired = explanation.rules
    assert len(fired) == 30
    strengths = [f.membership for f in fired]
    assert strengths == sorted(strengths, reverse=True)
    assert_allclose(strengths, np.sort(together.memberships(X_test[:1])[0])[::-1])
    assert_allclose(sum(f.share for f in fired), 1)
    # A ratio of shares is that of memberships, to the power 2p/T.
    power = 2 * 64 / together.temperature_
    ratio = (fired[1].membership / fired[0].membership) ** power
    assert_allclose(fired[1].share / fired[0].share, ratio, rtol=1e-6)
    assert fired[0].rule.label == explanation.prediction
    few = together.explain(X_test[0], n_rules=3)
    assert few.rules == fired[:3]
    lines = str(few).splitlines()
    assert lines[-4:] == ["shares of the rules:", *map(str, few.rules)]
    assert f"of participant '{fired[0].rule.participant}'" in lines[-3]


def test_a_row_of_a_table_keeps_its_names(model, records, encoder):
    X = encoder.transform(records[0])
    expected = str(model.explain(X.iloc[[0]], SCHEMA))
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # scikit-learn warns of rows without names
        assert str(model.explain(X.iloc[0], SCHEMA)) == expected


def test_explanations_of_wrong_rows_and_schemas_are_refused(model, records, encoder):
    X = encoder.transform(records[0])
    with pytest.raises(ValueError, match="'x' parameter of explain must be one row, got 2"):
        model.explain(X.iloc[:2], SCHEMA)
    with pytest.raises(ValueError, match="'x' parameter of explain must be one row, got 2"):
        model.explain(X.to_numpy()[:2], SCHEMA)
    other = {name: SCHEMA[name] for name in ("age", "noise", "sex")}
    with pytest.raises(ValueError, match="the row has 3 of other names"):
        model.explain(X.iloc[:1], other)
    with pytest.raises(ValueError, match="has 1 encoded columns, the row has 3"):
        model.explain(X.iloc[:1], {"age": SCHEMA["age"]})


def test_a_single_class_has_a_rule_and_no_rival(records, encoder):
    frame, y = records
    X = encoder.transform(frame)[y == "dead"]
    alone = DeepFuzzyClassifier(2, 10, random_state=0).fit(X, y[y == "dead"])
    explanation = alone.explain(X.iloc[[0]], SCHEMA)
    assert (explanation.prediction, explanation.runner_up) == ("dead", None)
    assert explanation.error_differences == (0.0, 0.0, 0.0)
    [fired] = explanation.rules
    membership = alone.memberships(X.iloc[[0]])[0, 0]
    assert fired == FiredRule(pytest.approx(membership), FuzzyRule(None, "dead"), 1.0)


def test_rules_are_sentences_with_or_without_a_participant():
    nameless, named = FuzzyRule(None, 3), FuzzyRule("ward 3", "ill")
    assert str(nameless) == "if a row is like class 3, then it is of class 3"
    assert "class 'ill' of participant 'ward 3', then it is of class 'ill'" in str(named)
    assert str(FiredRule(0.99, named, 0.25)) == f"0.2500: {named}"
