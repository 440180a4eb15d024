"""What audits detect: leak × sample size × verdict, and how often they raise a false alarm.

Mechanisms claim ε = 1 for an element of a row of five, or for a label; classifiers of the digits
for a record, with half of the rows as members. False alarms are refuted audits of right mechanisms
at 90 % confidence, each with a seed of its own.
"""

from itertools import product

import _bench
import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier

from skdp import (
    DPSource,
    GaussianDPNoise,
    OptimalDPNoise,
    PrivacyGuarantee,
    RandomizedResponse,
    StaircaseDPNoise,
)
from skdp.privacy import Mechanism
from skdp.privacy.audit import audit_mechanism, audit_membership

N_FEATURES = 5
NOISES = (OptimalDPNoise, StaircaseDPNoise, GaussianDPNoise)


class Leaking(OptimalDPNoise):
    """Noise of which the last column has a part, or that of the first column."""

    def __init__(self, epsilon=1.0, delta=0.0, sensitivity=1.0, *, leak=1.0, random_state=None):
        super().__init__(epsilon, delta, sensitivity, random_state=random_state)
        self.leak = leak

    def transform(self, X):
        noisy = super().transform(X)
        if self.leak == "copy":
            noisy[:, -1] = X[:, 0]
        elif self.leak == "shared":
            noisy[:, -1] = X[:, -1] + noisy[:, 0] - X[:, 0]
        elif self.leak == 0:
            noisy[:, -1] = X[:, -1]
        elif self.leak != 1:
            part = OptimalDPNoise(self.epsilon, self.delta, float(self.leak))
            noisy[:, -1:] = part.fit_transform(X[:, -1:])
        return noisy


class Generous(RandomizedResponse):
    """Labels kept as for a multiple of the ε that is stated."""

    factor = 1.3

    def transform(self, y):
        response = RandomizedResponse(self.factor * self.epsilon, classes=self.classes)
        return response.fit_transform(y)


class Weak(OptimalDPNoise):
    """A thousandth of the noise."""

    def fit_transform(self, X, y=None):
        return X + 1e-3 * (super().fit_transform(X) - X)


def mechanisms():
    leaks = {
        "no noise in one column": 0.0,
        "a tenth of the noise in one column": 0.1,
        "half of the noise in one column": 0.5,
        "0.8 of the noise in one column": 0.8,
        "a copy of another column": "copy",
        "noise shared by two columns": "shared",
        "none": 1.0,
    }
    for leak, value in leaks.items():
        yield "optimal noise", leak, Leaking(leak=value)
    yield "randomized response", "labels kept as for 1.3 ε", Generous(classes=range(10))
    yield "randomized response", "none", RandomizedResponse(classes=range(10))


def found(audit, kind, leak, size, report, seconds, event):
    """Return the row of an audit."""
    return {
        "audit": audit,
        "audited": kind,
        "leak": leak,
        "size": size,
        "epsilon_lower": str(report.epsilon_lower),
        "epsilon_detectable": report.epsilon_detectable,
        "epsilon_limit": report.epsilon_limit,
        "refuted": not report.passed,
        "event": event,
        "seconds": seconds,
    }


def audited_mechanisms(sizes):
    for (kind, leak, mechanism), size in product(mechanisms(), sizes):
        with _bench.Timer() as timer:
            audit = audit_mechanism(mechanism, n_trials=size, n_features=N_FEATURES)
        yield found("mechanism", kind, leak, size, audit, timer.seconds, audit.event)


def models():
    noise = OptimalDPNoise(1.0, 0.0, sensitivity=1.0, privacy_unit="record", perturb="fit")
    for model in (
        KNeighborsClassifier(1),
        DecisionTreeClassifier(random_state=0),
        LogisticRegression(max_iter=300),
    ):
        name = type(model).__name__
        yield name, "no noise", model
        yield name, "none", make_pipeline(noise, model)
    for leak, source_noise in (("a thousandth of the noise", Weak), ("none", OptimalDPNoise)):
        noise = source_noise(1.0, 0.0, privacy_unit="record")
        source = DPSource(sensitivity=1.0, noise=noise, parts="papers", n_layers=1, random_state=0)
        yield "DPSource", leak, source


def audited_models():
    X, y = load_digits(return_X_y=True)
    X = X / 16
    stated = [Mechanism("any", 1.0)]
    claim = PrivacyGuarantee("claimed", stated, 1.0, 64, "rows", "labels", unit="record")
    for (name, leak, model), size in product(models(), (200, 1797)):
        order = np.random.RandomState(0).permutation(len(y))[:size]
        members, others = ((X[order[k::2]], y[order[k::2]]) for k in range(2))
        model.fit(*members)
        with _bench.Timer() as timer:
            report = audit_membership(model, members, others, guarantee=claim, random_state=0)
        what = ("membership inference", name, leak, size)
        yield found(*what, report, timer.seconds, report.attack)


def false_alarms(alarms, n_trials):
    kinds = [(noise, unit) for noise in NOISES for unit in ("element", "record")]
    n = alarms // len(kinds)
    for noise, unit in [*kinds, (RandomizedResponse, "label")]:
        refuted = 0
        for seed in range(n):
            settings = {"random_state": np.random.RandomState(seed)}
            if unit == "label":
                settings["classes"] = range((2, 3, 10)[seed % 3])
            else:
                settings["privacy_unit"] = unit
            how = {"n_trials": n_trials, "n_features": 3, "confidence": 0.9}
            refuted += not audit_mechanism(noise(1.0, **settings), **how).passed
        yield alarm_row(noise.__name__, unit, n_trials, n, refuted)
    X, y = load_digits(return_X_y=True)
    members, others = ((X[k:600:2] / 16, y[k:600:2]) for k in range(2))
    refuted = 0
    for seed in range(n):
        settings = {"perturb": "fit", "random_state": np.random.RandomState(seed)}
        noise = OptimalDPNoise(1.0, 0.0, sensitivity=1.0, privacy_unit="record", **settings)
        model = make_pipeline(noise, KNeighborsClassifier(1)).fit(*members)
        report = audit_membership(model, members, others, confidence=0.9, random_state=seed)
        refuted += not report.passed
    yield alarm_row("1-NN of noisy rows", "record", 600, n, refuted)


def alarm_row(audited, unit, size, audits, refuted):
    row = {"audit": "false alarms", "audited": audited, "unit": unit}
    return {**row, "size": size, "audits": audits, "refuted": refuted}


def rows(options):
    yield from audited_mechanisms(list(map(int, options.sizes.split(","))))
    yield from audited_models()
    yield from false_alarms(options.alarms, options.alarm_trials)


if __name__ == "__main__":
    settings = {"sizes": "10000,100000,1000000", "alarms": 240, "alarm_trials": 20_000}
    _bench.run("audit_power", rows, __doc__, **settings)
