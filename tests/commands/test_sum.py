"""The secure sum by files: the whole course, and the mistakes of those who take part."""

import json
import stat
from pathlib import Path

import pandas as pd
import pytest

from skdp import Release
from skdp.privacy import PrivacyLedger

WARDS = ("north", "south", "west")


def plan(*options, owners=WARDS):
    files = [f"{ward}.pub" for ward in owners]
    return ("plan", "schema.json", *files, "--epsilon", 4, *options, "-o", "plan.json")


def join(ward, folder=None):
    own = ("--identity", f"{ward}.id", "--folder", folder or ward)
    return ("join", "plan.json", *own, "-o", f"{ward}.key.msg")


def answer(ward, number, *options, folder=None, limit=4):
    return (
        *("answer", "plan.json", f"request{number}.msg", f"{ward}.csv", "--label", "outcome"),
        *("--identity", f"{ward}.id", "--folder", folder or ward, "--ledger", f"{ward}.json"),
        *("--budget-epsilon", limit, "--budget-delta", 1e-5, "-o", f"{ward}.{number}.msg"),
        *(options or ("--accept", "people")),
    )


def combine(number, owners=WARDS, output=None):
    """Combine what the owners sent last: keys are round 0."""
    request = [f"request{number}.msg"] if number else []
    sent = [f"{ward}.{number or 'key'}.msg" for ward in owners]
    output = output or ("all.skdp" if number == 2 else f"request{number + 1}.msg")
    return ("combine", "plan.json", *request, *sent, "-o", output)


@pytest.fixture
def does(run, shows_nothing_private):
    """Run a step that succeeds, and return what it says."""

    def done(step, *arguments):
        code, out, err = run("sum", step, *arguments)
        assert code == 0, err
        assert shows_nothing_private(out, err)
        return out + err

    return done


@pytest.fixture
def refused(run, shows_nothing_private):
    """Run a step that is refused and writes nothing, and return why."""

    def why(step, *arguments):
        files = contents()
        code, out, err = run("sum", step, *arguments)
        assert (code, out) == (1, "")
        assert shows_nothing_private(err)
        assert contents() == files
        return err

    return why


@pytest.fixture
def wards(folder, does):
    """A folder with the rows and the identity of each owner."""
    rows = pd.read_csv("rows.csv", dtype=str, keep_default_na=False)
    for start, ward in enumerate(WARDS):
        rows[start * 200 : (start + 1) * 200].to_csv(f"{ward}.csv", index=False)
        does("identity", ward, "-o", f"{ward}.id")
    return folder


@pytest.fixture
def joined(wards, does):
    """And with a plan, keys, and the first request."""
    does(*plan("--least", 2))
    for ward in WARDS:
        does(*join(ward))
    does(*combine(0))
    return wards


def contents():
    """Return what files hold, but ledgers: an empty one may be begun."""
    ledgers = [f"{ward}.json" for ward in WARDS]
    return {p.name: p.read_bytes() for p in Path().glob("*.*") if p.name not in ledgers}


def spent(ward):
    path = Path(f"{ward}.json")
    return len(PrivacyLedger.open(path).entries) if path.exists() else 0


def test_the_whole_course(joined, does):
    for number in (1, 2):
        for ward in WARDS:
            said = does(*answer(ward, number))
            assert f"answer of '{ward}', masked" in said
            assert ("spent so far: epsilon 4 of 4" in said) == (number == 1)
        said = does(*combine(number))
        assert "key: of 3 of 3 owners" in said
        assert ("the second request, not yet a release" in said) == (number == 1)
    assert "Wrote 'all.skdp', the release" in said
    assert [spent(ward) for ward in WARDS] == [1, 1, 1]
    release = Release.load("all.skdp")
    assert release.guarantee.epsilon == 4
    # The noise of one release: some ten of 600 rows.
    assert release.statistics.sums.counts.sum() == pytest.approx(600, abs=40)


def test_identities_are_private_and_never_replaced(folder, does, refused):
    does("identity", "ward 1", "-o", "one.id")
    assert stat.S_IMODE(Path("one.id").stat().st_mode) == 0o600
    public = json.loads(Path("one.pub").read_text())
    assert public["name"] == "ward 1"
    assert set(public) == {"name", "key"}
    assert "Identities are not replaced" in refused("identity", "other", "-o", "one.id")
    Path("one.id").unlink()
    assert "Identities are not replaced" in refused("identity", "other", "-o", "one.id")
    assert "must end in .id" in refused("identity", "other", "-o", "other.pub")


def test_the_plan_says_what_is_agreed(wards, does, refused):
    said = does(*plan("--unit", "group", "--disjoint"))
    assert "for each person; owners 'north', 'south', 'west', at least 3 of them" in said
    fields = json.loads(Path("plan.json").read_text())
    assert (fields["privacy_unit"], fields["disjoint"], fields["delta"]) == ("group", True, 1e-5)
    digest = said.split("joins:\n  ")[1].split("\n")[0]
    assert f"\n  {digest}\n" in does(*join("north"))


@pytest.mark.parametrize(
    ("options", "owners", "why"),
    [
        (("--least", 4), WARDS, "--least 4, which must be at most the number of owners, 3"),
        (("--colluding", 2, "--least", 2), WARDS, "--colluding 2 must be 1 or more, and less"),
        (("--colluding", 0), WARDS, "--colluding 0 must be 1 or more"),
        ((), ("north",), "--colluding 1 must be"),
        ((), ("north", "north"), "a name each that no other has"),
    ],
)
def test_plans_that_are_none(wards, refused, options, owners, why):
    assert why in refused(*plan(*options, owners=owners))


def test_files_that_are_others_are_named(joined, refused):
    Path("altered.pub").write_text('{"name": "x"}')
    assert "'altered.pub' holds no public identity" in refused(
        *plan("--force", owners=["altered"])
    )
    assert "'north.id' holds no public" in refused(
        "plan", "schema.json", "north.id", *plan("--force")[5:]
    )
    steps = {
        "north.key.msg": combine(0, output="x.msg"),
        "request1.msg": answer("north", 1),
        "plan.json": join("north", "new"),
    }
    for name, step in steps.items():
        content = Path(name).read_bytes()
        Path(name).write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
        assert f"{name!r}: The" in refused(*step, "--force")
        Path(name).write_bytes(content)
    Path("north.key.msg").write_bytes(b"")
    assert "'north.key.msg': The file is empty" in refused(*combine(0, output="x.msg"))


def test_who_is_missing_is_named(joined, does, refused):
    said = refused(*combine(0, owners=["west"], output="x.msg"))
    assert "key: of 1 of 3 owners; missing: 'north', 'south'" in said
    assert "Only 1 of at least 2 owners have joined" in said
    does(*answer("north", 1))
    said = refused(*combine(1, owners=["north"]))
    assert "first answer: of 1 of 3 owners; missing: 'south', 'west'" in said
    assert "Wait for it, or begin a new secure sum" in said
    said = refused("combine", "plan.json", "north.1.msg", "-o", "x.msg")
    assert "Name the last request, too" in said


def test_an_owner_who_never_joins_is_left_out(wards, does):
    does(*plan("--least", 2))
    two = WARDS[:2]
    for ward in two:
        does(*join(ward))
    assert "key: of 2 of 3 owners; missing: 'west'" in does(*combine(0, two))
    for number in (1, 2):
        for ward in two:
            does(*answer(ward, number))
        does(*combine(number, two))
    assert "at most 1 of the 2 owners" in Release.load("all.skdp").guarantee.assumes


def test_a_wrong_folder_charges_nothing(joined, does, refused):
    assert "--folder 'none' is none" in refused(*answer("north", 1, folder="none"))
    said = refused(*answer("north", 1, folder="south"))
    assert "'request1.msg', --folder 'south': " in said
    assert spent("north") == 0
    does(*plan("--force"))
    assert "--folder 'north': " in refused(*join("north"), "--force")
    does(*join("north", "new"), "--force")


def test_another_s_identity_is_refused(joined, does, refused):
    does("identity", "north", "-o", "again.id")
    step = [word if word != "north.id" else "again.id" for word in answer("north", 1)]
    assert "--identity 'again.id' is of 'north', who with this key is no owner" in refused(*step)
    assert not Path("north.json").exists()


def test_a_table_with_stops_is_refused_before_anything_is_charged(joined, refused):
    assert "--accept people" in refused(*answer("north", 1, "--force"))
    rows = pd.read_csv("north.csv", dtype=str).drop(columns="age")
    rows.to_csv("north.csv", index=False)
    assert "lacks the column 'age' of the plan 'plan.json'" in refused(*answer("north", 1))
    assert not Path("north.json").exists()


def test_people_are_named_where_the_plan_protects_them(wards, does, refused):
    does(*plan("--unit", "group", "--disjoint"))
    for ward in WARDS:
        does(*join(ward))
    does(*combine(0))
    assert "protects people. Name the column" in refused(*answer("north", 1))
    does(*answer("north", 1, "--group", "person"))


def test_rows_are_not_grouped_where_the_plan_protects_rows(joined, refused):
    assert "protects rows: leave --group out" in refused(*answer("west", 1, "--group", "person"))


def test_an_exhausted_ledger_refuses_and_a_repeated_answer_is_free(joined, does, refused):
    said = refused(*answer("north", 1, limit=3))
    assert "bring epsilon to 4, above the 3 of the ledger" in said
    assert spent("north") == 0
    does(*answer("south", 1))
    first = Path("south.1.msg").read_bytes()
    assert "spent so far" not in does(*answer("south", 1), "--force")
    assert Path("south.1.msg").read_bytes() == first
    assert spent("south") == 1


def test_the_output_says_what_it_is(joined, refused):
    assert "must end in .msg" in refused(*combine(0, output="all.skdp"))
    assert "is also a file that is read" in refused(*combine(0, output="north.key.msg"), "--force")
    assert "is there already" in refused(*combine(0))
