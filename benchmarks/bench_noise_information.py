"""What noise leaves to be known: E|v|, E v² and the exact information of a noisy value."""

import _bench

from skdp import GaussianDPNoise, OptimalDPNoise, StaircaseDPNoise
from skdp.information import noise_information


def rows(options):
    for epsilon in (0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0):
        for noise in (
            OptimalDPNoise(epsilon, 0.0, sensitivity=1.0),
            StaircaseDPNoise(epsilon, 0.0, sensitivity=1.0),
            GaussianDPNoise(epsilon, options.delta, sensitivity=1.0),
        ):
            guarantee = noise.fit([[0.5]]).guarantee_
            yield {
                "epsilon": epsilon,
                "noise": guarantee.mechanism,
                "delta": guarantee.delta,
                "expected_magnitude": noise.expected_magnitude_,
                "variance": noise.variance_,
                "nats_of_a_uniform_value": noise_information(noise),
                "nats_of_two_points": noise_information(noise, "two-point"),
                "bound_of_any_prior": guarantee.information_bound().nats,
                "bound_of_two_points": guarantee.information_bound([0.5, 0.5]).nats,
            }


if __name__ == "__main__":
    _bench.run("noise_information", rows, __doc__, delta=1e-5)
