"""What audits of membership detect, and how often they raise a false alarm.

Classifiers of the digits claim ε = 1 for a record, with half of the rows as members. False alarms
are refuted audits of a right mechanism at 90 % confidence, each with a seed of its own.
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
    OptimalDPNoise,
    PrivacyGuarantee,
)
from skdp.privacy import Mechanism
from skdp.privacy.audit import audit_membership


class Weak(OptimalDPNoise):
    """A thousandth of the noise."""

    def fit_transform(self, X, y=None):
        return X + 1e-3 * (super().fit_transform(X) - X)


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


def false_alarms(n):
    X, y = load_digits(return_X_y=True)
    members, others = ((X[k:600:2] / 16, y[k:600:2]) for k in range(2))
    refuted = 0
    for seed in range(n):
        settings = {"perturb": "fit", "random_state": np.random.RandomState(seed)}
        noise = OptimalDPNoise(1.0, 0.0, sensitivity=1.0, privacy_unit="record", **settings)
        model = make_pipeline(noise, KNeighborsClassifier(1)).fit(*members)
        report = audit_membership(model, members, others, confidence=0.9, random_state=seed)
        refuted += not report.passed
    row = {"audit": "false alarms", "audited": "1-NN of noisy rows", "unit": "record"}
    return {**row, "size": 600, "audits": n, "refuted": refuted}


def rows(options):
    yield from audited_models()
    yield false_alarms(options.alarms)


if __name__ == "__main__":
    _bench.run("audit_power", rows, __doc__, alarms=40)
