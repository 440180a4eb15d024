import json
from dataclasses import replace

import numpy as np
import pytest

from skdp.secure import Identity, ScoreScale, Session

NAMES = ["holder", "server", "a", "b"]


def create(classes=(0, 1), names=NAMES, backend="plain"):
    holder, server, *wards = (Identity.generate(name).public for name in names)
    return Session.create(classes, ScoreScale(0, 1), holder, server, wards, backend=backend)


@pytest.mark.parametrize(
    "classes", [[3, 1, 2], ["ü", "b"], np.array([0, 1]), np.array([False, True])]
)
def test_file_and_digest(tmp_path, classes):
    session = create(classes)
    session.save(tmp_path / "session")
    again = Session.load(tmp_path / "session", digest=session.digest)
    assert again == session
    assert again.digest == session.digest
    assert again.classes == np.asarray(classes).tolist()
    assert create(classes).digest != session.digest
    with pytest.raises(ValueError, match=r"holds the skdp\.secure session"):
        Session.load(tmp_path / "session", digest="0" * 64)


def test_anything_altered_is_refused_or_has_another_digest():
    session = create()
    content = session.to_bytes()
    rng = np.random.RandomState(0)
    refused = 0
    for _ in range(1000):
        altered = bytearray(content)
        altered[rng.randint(len(content))] ^= 1 << rng.randint(8)
        try:
            found = Session.from_bytes(bytes(altered))
        except ValueError:
            refused += 1
        else:
            assert found.digest != session.digest
    assert refused > 300


@pytest.mark.parametrize(
    "content",
    [b"", b"[]", b"{}", b"[" * 10**5, bytes(100), b"1", None, "text"],
    ids=lambda content: repr(content)[:9],
)
def test_other_bytes(content):
    with pytest.raises(ValueError, match=r"not an intact skdp\.secure session"):
        Session.from_bytes(content)


def test_a_file_is_not_parsed_beyond_its_largest_size(tmp_path):
    content = create().to_bytes()
    assert Session.from_bytes(content + b" " * (2**22 - len(content))).to_bytes() == content
    longer = content + b" " * (2**22 - len(content) + 1)
    (tmp_path / "session").write_bytes(longer)
    for read in (lambda: Session.from_bytes(longer), lambda: Session.load(tmp_path / "session")):
        with pytest.raises(ValueError, match=r"not an intact skdp\.secure session"):
            read()


@pytest.mark.parametrize("classes", [[], [0], [0, 0], [0, "a"], [0.5, 1.5], [[0], [1]]])
def test_classes(classes):
    with pytest.raises(ValueError, match="'classes' parameter of Session"):
        create(np.array(classes, dtype=object) if classes == [0, "a"] else classes)


def test_parties_are_several_and_different():
    with pytest.raises(ValueError, match="at least two, got 1"):
        create(names=NAMES[:3])
    with pytest.raises(ValueError, match="different names"):
        create(names=["x", "server", "a", "x"])
    one = Identity.generate("a").public
    with pytest.raises(ValueError, match="must have different"):
        Session.create([0, 1], ScoreScale(0, 1), one, one, [one, one], backend="plain")


def test_circuit_of_other_parties_is_refused():
    fields = json.loads(create().to_bytes())
    for circuit in (json.dumps({"participants": 3, "classes": 2}), "[]", "", "{"):
        with pytest.raises(ValueError, match=r"not an intact skdp\.secure session"):
            Session.from_bytes(json.dumps({**fields, "circuit": circuit}).encode())


@pytest.mark.parametrize("nonce", [None, "", {}, 3, "0" * 31, "G" * 32, "0" * 32 + "\n"])
def test_a_nonce_that_makes_no_session_of_its_own_is_refused(nonce):
    with pytest.raises(ValueError, match="'nonce' of a Session must be 32 hexadecimal digits"):
        replace(create(), nonce=nonce)


def test_backends():
    with pytest.raises(ValueError, match=r"one of \['fhe', 'plain'\], got 'none'"):
        create(backend="none")
    assert "NO ENCRYPTION" in repr(create())
