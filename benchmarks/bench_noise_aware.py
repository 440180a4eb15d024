"""All strategies, all transfers, all privacy levels: is the private source worth anything?

    python benchmarks/bench_noise_aware.py --transfer mnist-mnist

One transfer at a time: mnist-mnist, mnist-usps, usps-mnist (10 labels a class), activity (ten
people to twenty, 5 labels a class), office (12 pairs, its canonical labels). Features are
in [0, 1]; those of activity are clipped to the 1st and 99th percentile of the target, those of
office are z-scores, see ``bench_office.py``. ``--levels`` are budgets: "8" is epsilon for an
element (optimal noise), "record 8" for a whole record (Gaussian noise), "-" is no source.
``--fresh 1`` draws new noise for every draw of labels, in place of one source for all;
``--first 3`` leaves out the first three draws, which another run has.
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import warnings

from _report import Timer, parse, save
from _tasks import task
from _transfer import transfer

from skdp import DPSource, GaussianDPNoise, PrivacyLeakWarning

args = parse(
    __doc__,
    transfer="mnist-mnist",
    levels="-,inf,8,2,1,0.5,0.1,0.05,record 16,record 8,record 4,record 1",
    strategies="noise_aware",
    draws=5,
    first=0,
    labels=0,
    source_layers=1,
    fresh=0,
    n_jobs=1,
    name="",
)
warnings.simplefilter("ignore", PrivacyLeakWarning)  # epsilon = inf is the yardstick here


def make_source(level, rows, denoise):
    kind, _, epsilon = level.rpartition(" ")
    settings = {"n_layers": args.source_layers, "n_jobs": args.n_jobs, "random_state": 0}
    if kind:
        settings["noise"] = GaussianDPNoise(float(epsilon), privacy_unit=kind)
    return DPSource(float(epsilon), denoise=denoise, **settings).fit(*rows)


rows: list = []


def record(**row):
    rows.append(row)
    print(row, flush=True)
    name = args.name or f"noise_aware_{args.transfer.replace('-', '_')}"
    save(name, {**vars(args), "delta": 1e-5, "sensitivity": 1.0}, rows)


for case, source_rows, draws in task(args.transfer, args.draws, args.labels):
    for level in args.levels.split(","):
        for strategy in args.strategies.split(","):
            source, label = None, "no source"
            for draw, data in list(enumerate(draws))[args.first :]:
                if level != "-" and (source is None or args.fresh):
                    with Timer() as timer:
                        source = make_source(level, source_rows, strategy == "noise_aware")
                    label, alone = strategy, None
                    if source.n_features_in_ == data[0].shape[1]:
                        alone = 100 * source.score(*data[3:])
                    own = {"accuracy": alone, "fit_seconds": timer.seconds}
                    record(case=case, level=level, model=f"source alone ({strategy})", **own)
                settings = {"strategy": strategy, "random_state": 0, "n_jobs": args.n_jobs}
                result = transfer(source, *data, **settings)
                record(case=case, level=level, model=label, draw=draw, **result)
