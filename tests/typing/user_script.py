"""What users write, once for each callable of the front door; mypy --strict accepts it.

It is checked and never run: see the session ``lint`` of noxfile.py and test_user_script.py.
"""

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

import skdp
from skdp.datasets import (
    fetch_mnist,
    hide_labels,
    load_adult,
    load_digits_domains,
    load_heart_disease,
)
from skdp.federated import collect_answers, owner_answer
from skdp.information import information_leakage, transferability
from skdp.privacy import (
    BudgetExceededError,
    PrivacyLedger,
    gaussian_epsilon,
    gaussian_sigma,
    joint_guarantee,
    record_guarantee,
)
from skdp.privacy.audit import audit_membership, audit_release
from skdp.release import PrivateEvaluation, report_page
from skdp.source import ReleasePlan, StatisticsAccumulator
from skdp.tabular import check_table, explain_prediction


def data() -> tuple[pd.DataFrame, NDArray[Any]]:
    heart = load_heart_disease()
    load_adult(random_state=0)
    load_digits_domains()
    fetch_mnist(subset="test")
    hidden: NDArray[Any] = hide_labels(heart.target, 30, random_state=0)
    return heart.data, hidden


def schema(frame: pd.DataFrame) -> skdp.Schema:
    draft = skdp.schema_from(frame, public=True, label="outcome")
    other = skdp.Schema.from_mapping({"age": {"type": "numeric", "low": 0, "high": 100}})
    lines: tuple[str, ...] = draft.difference(other)
    print(*lines, draft.summary(), check_table(frame, draft, label="outcome"))
    common = skdp.Schema.common([draft, other], columns="all")
    return common.restrict(["age"])


def planned(known: skdp.Schema) -> float:
    plan: ReleasePlan = skdp.plan_release(known, [500, 2000], [0.3, 0.7], epsilon=[0.5, 1.0])
    print(plan.summary(), plan.epsilon_needed(0.8), plan.chance(0.8), plan.is_worth_it)
    spent: float = gaussian_epsilon(gaussian_sigma(1.0, 1e-5), 1e-5)
    return spent


def numbers(frame: pd.DataFrame, y: NDArray[Any], release: skdp.Release) -> NDArray[Any]:
    source = skdp.DPStatisticsSource(outcome={"type": "number", "low": 0, "high": 80})
    model = skdp.DPTransferRegressor([release, source.fit(frame, y).release_], disjoint=True)
    predicted: NDArray[Any] = model.fit(frame, y).predict(frame)
    return predicted


def times(frame: pd.DataFrame, y: NDArray[Any], release: skdp.Release) -> NDArray[Any]:
    model = skdp.DPTransferSurvival(release).fit(frame, y)
    print(model.score(frame, y), model.report(), model.unique_times_, model.outcome_.horizon)
    risks: NDArray[Any] = model.predict(frame)
    print(risks, model.predict_cumulative_hazard_function(frame)[0](30.0))
    return model.predict_survival_function(frame, return_array=True)


def released(frame: pd.DataFrame, y: NDArray[Any], known: skdp.Schema) -> skdp.Release:
    ledger = PrivacyLedger(epsilon=4.0, delta=1e-5)
    bounds = skdp.quantile_bounds(frame, ["age"], ["ward"], epsilon=0.2, ledger=ledger)
    source = skdp.DPStatisticsSource(epsilon=1.0, encoder=bounds.schema, ledger=ledger)
    try:
        release: skdp.Release = source.fit(frame, y, groups=frame["patient"]).release_
    except BudgetExceededError:
        print(ledger.total)
    source = skdp.DPStatisticsSource(encoder=known, classes=["dead", "alive"])
    accumulator: StatisticsAccumulator = source.accumulator()
    accumulator.add(frame, y)
    accumulator.add_parquet("visits", label="outcome")
    release = source.fit_accumulated(accumulator).release_
    release.save("hospital.skdp")
    print(audit_release(source, frame, y, n_trials=200))
    report_page(release, owner="North hospital", ledger=ledger).save("report.html")
    return skdp.Release.load("hospital.skdp", mmap_mode="r")


def used(release: skdp.Release, frame: pd.DataFrame, y: NDArray[Any]) -> NDArray[Any]:
    labels: NDArray[Any] = release.predict(frame)
    probabilities: NDArray[Any] = release.predict_proba(frame)
    accuracy: float = release.score(frame, y)
    rows, classes = release.sample(100, random_state=0, as_frame=True)
    print(release.summary(), release.effects(), release.describe_columns(), labels, accuracy)
    print(rows, len(classes))
    merged = skdp.Release.merge([release, release.restrict(["age"])], disjoint=True)
    print(explain_prediction(merged.model.score, rows[0], release.classes, names=["age"]))
    evaluation: PrivateEvaluation = skdp.evaluate_privately(release, frame, y, epsilon=0.5)
    print(evaluation.auc().value, evaluation.summary(), transferability(release, frame))
    return probabilities


def transferred(release: skdp.Release, frame: pd.DataFrame, y: NDArray[Any]) -> NDArray[Any]:
    schedule = skdp.SelfTrainingSchedule(n_layers=1)
    model = skdp.DPTransferClassifier([release], self_training=schedule, random_state=0)
    model.fit(frame, y)
    print(model.report(), model.explain(frame[:1]), model.score(frame, y))
    splitter = skdp.LabeledSplit(5)
    print(splitter.get_n_splits(frame, y), skdp.LabeledScorer("accuracy")(model, frame, y))
    predicted: NDArray[Any] = model.predict(frame)
    return predicted


def perturbed(X: NDArray[np.float64], y: NDArray[Any]) -> skdp.PrivacyGuarantee | None:
    for noise in (
        skdp.OptimalDPNoise(epsilon=1.0, bounds=(0, 1)),
        skdp.StaircaseDPNoise(epsilon=1.0, sensitivity=0.5),
        skdp.GaussianDPNoise(epsilon=1.0, delta=1e-5),
    ):
        noise.fit(X).transform(X)
        print(noise.guarantee_)
    unit = skdp.OptimalDPNoise(epsilon=1.0, bounds=(0, 1))
    pairs = skdp.DPNoiseRegressor(skdp.MembershipMapping(), noise=unit, target_noise=unit)
    print(pairs.fit(X, y).predict(X), pairs.guarantee_.epsilon)
    response = skdp.RandomizedResponse(epsilon=2.0, classes=[0, 1])
    print(response.fit(y).transform(y), information_leakage(y, X))
    encoder = skdp.TabularEncoder({"age": {"type": "numeric", "low": 0, "high": 100}})
    gradients = skdp.OrientedGradients(image_shape=(8, 8))
    print(encoder.fit(X).transform(X), gradients.fit(X).transform(X))
    source = skdp.DPSource(epsilon=4.0, bounds=(0, 1), label_noise=response).fit(X, y)
    guarantee: skdp.PrivacyGuarantee = source.guarantee_
    whole = record_guarantee(guarantee, source.label_guarantee_, n_elements=8)
    print(whole, guarantee.epsilon_at(1e-6))
    return joint_guarantee([guarantee, guarantee.compose(2)])


def models(X: NDArray[np.float64], y: NDArray[Any]) -> None:
    print(skdp.MembershipMapping(n_inducing=0.5).fit(X, X).predict(X))
    print(skdp.CDMMA(n_layers=2).fit(X).transform(X), skdp.WideCDMMA().fit(X).transform(X))
    print(skdp.DeepFuzzyRegressor().fit(X, X).predict(X), skdp.DeepFuzzyAutoencoder().fit(X))
    for model in (
        skdp.CDMMAClassifier(n_layers=1),
        skdp.WideCDMMAClassifier(n_layers=1, n_jobs=2),
        skdp.DeepFuzzyClassifier(noise=skdp.OptimalDPNoise()),
    ):
        model.fit(X, y)
        labels: NDArray[Any] = model.predict(X)
        print(labels, model.predict_proba(X), audit_membership(model, X, X))


def federated(release: skdp.Release) -> None:
    def make() -> skdp.Release:
        return release

    answers = {
        "north": owner_answer(make, path="north.skdp"),
        "south": owner_answer(make, path="south.skdp"),
    }
    print(collect_answers(answers, disjoint=True))


def leaks(warning: Warning) -> bool:
    return isinstance(warning, skdp.PrivacyLeakWarning)
