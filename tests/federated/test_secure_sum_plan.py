"""The plan of a secure sum: its file, what it refuses, and what its guarantee assumes."""

import json
from dataclasses import replace

import numpy as np
import pytest

from skdp import DPStatisticsSource, Release
from skdp.commands import main
from skdp.federated import SecureSum
from skdp.privacy import PrivacyLedger
from skdp.release import report_page
from skdp.secure import Identity

from .conftest import CLASSES, SCHEMA, Owners, people, private_table

WARDS = [Identity.generate(f"ward {i}") for i in range(4)]
PUBLIC = [ward.public for ward in WARDS]


def create(schema=SCHEMA, owners=PUBLIC, **settings):
    return SecureSum.create(
        {"columns": schema, "classes": CLASSES, "version": 1}, owners, **settings
    )


@pytest.fixture(scope="module")
def plan():
    return create()


def test_a_plan_is_the_same_from_its_file(plan, tmp_path):
    plan.save(tmp_path / "plan")
    again = SecureSum.load(tmp_path / "plan", plan.digest)
    assert again == plan
    assert again.to_bytes() == plan.to_bytes()
    assert again.schema.names == tuple(SCHEMA)  # not sorted
    with pytest.raises(ValueError, match="holds the skdp secure sum"):
        SecureSum.load(tmp_path / "plan", "0" * 64)


def test_every_other_plan_has_another_digest(plan):
    others = [
        create(),  # another session
        *(replace(plan, **{name: 2}) for name in ("epsilon", "n_colluding")),
        replace(plan, disjoint=True),
        replace(plan, privacy_unit="group"),
        replace(plan, least_owners=3),
        replace(plan, owners=[*PUBLIC[:3], Identity.generate("ward 3").public], least_owners=3),
        replace(plan, owners=PUBLIC[::-1]),
        replace(plan, schema=create(dict(reversed(SCHEMA.items()))).schema),
    ]
    assert len({other.digest for other in [plan, *others]}) == 10


def test_a_plan_of_another_version_is_refused(plan):
    shares = {**plan.shares, "counts": 0.2, "contrast": 0.55}
    with pytest.raises(ValueError, match=r"'shares' of this SecureSum .* another version of skdp"):
        replace(plan, shares=shares)


WRONG = {
    "schema": ["no.json", "/dev/null", "a" * 5000, "{", "{}", None, [], 3],
    "owners": [None, [], [{}], ["a"], {}, 3],
    "epsilon": [None, "1", -1, 10**400, float("nan"), float("inf")],
    "delta": [None, "x", 0, 1, 10**400],
    "model": [None, "auto", "mixtures", "gradients", []],
    "privacy_unit": [None, "people", []],
    "n_colluding": [0, 1.0, True, 4, 10**400, None],
    "least_owners": [1, 5, "3", None],
    "disjoint": [None, 1],
    "radius": [None, "1", 0, 10**400, []],
    "shares": [None, {}, {"counts": 1.0}],
    "nonce": [None, "", {}, 3, "0" * 31, "0" * 33, "G" * 32, "A" * 32, "0" * 31 + "\n"],
    "format": ["skdp.secure session", None],
    "version": [2, None],
    "another": [1],
}


@pytest.mark.parametrize("name", WRONG)
def test_a_file_with_another_value_is_no_plan(name, plan, tmp_path):
    schema = tmp_path / "schema.json"  # a file that is there
    schema.write_text(plan.schema.to_json())
    for value in [*WRONG[name], *([str(schema)] if name == "schema" else [])]:
        fields = {**json.loads(plan.to_bytes()), name: value}
        said = r"not an intact skdp secure sum.* Ask its maker"
        said = "made by another version of skdp" if name == "version" else said
        with pytest.raises(ValueError, match=said):
            SecureSum.from_bytes(json.dumps(fields).encode())


def test_no_altered_bit_leaves_another_plan_with_the_same_digest(plan):
    content, rng = plan.to_bytes(), np.random.RandomState(0)
    refused = 0
    for _ in range(300):
        altered = bytearray(content)
        altered[rng.randint(len(content))] ^= 1 << rng.randint(8)
        try:
            again = SecureSum.from_bytes(bytes(altered))
        except ValueError:
            refused += 1
        else:
            assert (again.digest == plan.digest) == (again == plan)
    assert refused > 100


def test_parameters_that_do_not_fit_are_refused_by_name():
    for name in ("epsilon", "delta", "privacy_unit"):
        with pytest.raises(ValueError, match=f"The '{name}' parameter"):
            create(**{name: "many"})
    with pytest.raises(ValueError, match="must be a finite number, got inf"):
        create(epsilon=np.inf)
    for few in (0, 1):
        with pytest.raises(ValueError, match="'least_owners' <= the number of owners"):
            create(owners=PUBLIC[:few])
    with pytest.raises(ValueError, match="have different names"):
        create(owners=PUBLIC[:1] * 2)
    with pytest.raises(ValueError, match="list of PublicIdentity"):
        create(owners=WARDS)


@pytest.mark.filterwarnings("ignore:(This release|Release 1 has so much noise)")
def test_what_a_guarantee_assumes_is_said_wherever_it_goes(tmp_path, quick_noise, capsys):
    owners = Owners(privacy_unit="group", disjoint=True)
    release = owners.course().release
    assumed = release.guarantee.assumes
    assert assumed == owners.plan.guarantee().assumes
    assert assumed.startswith("that at most 1 of the 4 owners reveal what they know, or add less")
    assert "X25519, HKDF-SHA256 and ChaCha20" in assumed
    assert assumed.endswith("; that nobody has rows at two owners, which they have agreed on")
    path = tmp_path / "sum.skdp"
    release.save(path)
    again = Release.load(path)
    settings = {"encoder": owners.plan.schema, "privacy_unit": "group", "model": "linear"}
    alone = DPStatisticsSource(1.0, **settings).fit(*private_table(9), people(9)).release_
    ledger = PrivacyLedger(9.0, 1e-3, path=tmp_path / "ledger")
    for made in (release, alone):
        ledger.spend(made.guarantee)
    for guarantee in (
        again.guarantee,
        again.restrict(["age"]).guarantee,
        Release.merge([again, alone], disjoint=False).guarantee,
        release.guarantee + alone.guarantee,
        alone.guarantee + release.guarantee,
        release.guarantee.compose(3),
        release.guarantee.to_replace_one(),
        PrivacyLedger.open(tmp_path / "ledger").total,
        PrivacyLedger.open(tmp_path / "ledger").entries[0][1],
    ):
        assert guarantee.assumes == assumed
    assert alone.guarantee.assumes == ""
    merged = Release.merge([again, alone], disjoint=True).guarantee.assumes
    claim = "that nobody has rows in two of the 2 sources, as whoever merged them claimed"
    assert merged == f"{assumed}; {claim}"
    assert main(["describe", str(path)]) == 0
    for text in (capsys.readouterr().out, str(again.summary()), str(again.guarantee)):
        assert "most 1 of the 4 owners" in " ".join(text.split())
        assert "nobody has rows at two owners" in " ".join(text.split())
    assert "What it assumes" in str(again.summary())
    assert "two owners" not in create(privacy_unit="group").guarantee().assumes


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({}, "per record, each at one owner,"),
        ({"privacy_unit": "group"}, "per person, at any number of owners,"),
        ({"privacy_unit": "group", "disjoint": True}, "per person, nobody at two owners,"),
    ],
)
def test_a_plan_says_who_may_be_at_several_owners(settings, said):
    owners = Owners(2, **settings)
    for shown in (owners.plan, owners.owners[0]):
        assert said in repr(shown)
    assumed = owners.plan.guarantee().assumes
    assert ("each record is at one owner" in assumed) == (settings == {})


@pytest.mark.filterwarnings("ignore:This release may")
def test_a_report_trusts_no_single_owner_where_the_noise_is_that_of_several(owners):
    page = report_page(owners.course().release).html
    assert "at most 1 of the 4 owners reveal what they know" in page
    assert "each record is at one owner" in page
    assert "Each owner added a part of the noise" in page
    alone = owners.plan.source().fit(*private_table(9)).release_
    assert "Each owner" not in report_page(alone).html
    assert "added the noise before anything left" in report_page(alone).html
    assert "added the noise before anything left" not in page
