"""What k releases, and a record of 784 elements, amount to: closed forms and distributions."""

import _bench
import numpy as np

from skdp import GaussianDPNoise, OptimalDPNoise, StaircaseDPNoise


def rows(options):
    X = np.zeros((2, 784))
    for epsilon in (0.01, 0.1, 1.0):
        # Of δ, the point masses of all 784 elements or 100 releases take one part in a hundred.
        atom = options.delta / 100 / 784
        for noise in (
            OptimalDPNoise(epsilon, atom, sensitivity=1.0),
            StaircaseDPNoise(epsilon, atom, sensitivity=1.0),
            GaussianDPNoise(epsilon, options.delta, sensitivity=1.0),
        ):
            guarantee = noise.fit(X).guarantee_
            compositions = {f"{k} releases, per element": guarantee.compose(k) for k in (10, 100)}
            compositions["a record of 784"] = guarantee.to_record()
            for what, many in compositions.items():
                with _bench.Timer() as timer:
                    tight = many.epsilon_at(options.delta)
                yield {
                    "what": what,
                    "noise": guarantee.mechanism,
                    "epsilon": guarantee.epsilon,
                    "closed_form_epsilon": many.epsilon,
                    "closed_form_delta": many.delta,
                    "tight_epsilon": tight,
                    "seconds": timer.seconds,
                }


if __name__ == "__main__":
    _bench.run("accounting", rows, __doc__, delta=1e-5)
