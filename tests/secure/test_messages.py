"""Bytes that are not what they should be: each is refused, and the error says what is wrong."""

import json
import struct

import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from skdp.secure import Identity, Participant, PublicIdentity, Server, Session
from skdp.secure._messages import read_message, write_message

from .conftest import encrypt_all, make_parties

SCORES = [[[9, 4, 7, 7]], [[3, 8, 9, 9]], [[5, 5, 5, 2]]]


def test_what_is_written_is_read(plain):
    parts = [b"", b"abc", bytes(1000)]
    message = write_message(
        "scores", plain.session, plain.identities[2], parts, ["a", "b", "c"], key_id="k"
    )
    assert read_message(message, "scores", plain.session) == (
        "ward 0",
        parts,
        ["a", "b", "c"],
        "k",
    )


def test_truncated_and_extended_bytes(plain):
    message = encrypt_all(plain, SCORES)[0]
    for length in [*range(0, len(message), 7), len(message) - 1]:
        with pytest.raises(ValueError, match="truncated, altered, or was written by another"):
            read_message(message[:length], "scores", plain.session)
    with pytest.raises(ValueError, match="truncated, altered"):
        read_message(message + b"x", "scores", plain.session)


def test_no_altered_bit_passes(plain):
    message = encrypt_all(plain, SCORES)[0]
    rng = np.random.RandomState(0)
    for _ in range(1500):
        altered = bytearray(message)
        altered[rng.randint(len(message))] ^= 1 << rng.randint(8)
        with pytest.raises(ValueError, match=r"[Aa]sk|Use|Pass|Only|Update"):
            read_message(bytes(altered), "scores", plain.session)


@pytest.mark.parametrize("foreign", [b"", b"PK\x03\x04" * 100, bytes(500), "text", None])
def test_foreign_bytes(plain, foreign):
    with pytest.raises(ValueError, match="another program"):
        read_message(foreign, "scores", plain.session)


def test_lengths_that_no_file_has_are_refused_before_anything_is_read(plain):
    message = encrypt_all(plain, SCORES)[0]
    for header, parts in [(2**32 - 1, 10), (100, 2**63)]:
        lying = struct.pack("<8sIIQ", b"skdp-sec", 1, header, parts) + message[24:]
        with pytest.raises(ValueError, match="truncated"):
            read_message(lying, "scores", plain.session)


@pytest.mark.parametrize(
    "change",
    [
        {"lengths": [1e9]}, {"lengths": [-4, 8]}, {"lengths": [True, 3]}, {"lengths": 4},
        {"query_ids": [1]}, {"kind": 3}, {"extra": 1}, None,
        {"session": "\x1b[2J"}, {"sender": "a" * 10**6}, {"kind": "\n"},
    ],
)  # fmt: skip
def test_headers_of_other_types(plain, change):
    message = write_message(
        "scores", plain.session, plain.identities[2], [b"abcd"], ["a"], key_id="k"
    )
    n = struct.unpack_from("<8sIIQ", message)[2]
    header = None if change is None else {**json.loads(message[24 : 24 + n]), **change}
    text = json.dumps(header).encode()
    start = struct.pack("<8sIIQ", b"skdp-sec", 1, len(text), 4)
    signed = start + text + b"abcd"
    with pytest.raises(ValueError, match="truncated, altered"):
        read_message(signed + plain.identities[2].sign(signed), "scores", plain.session)


def test_more_queries_than_a_message_may_have(plain):
    ids = [f"{i:060}" for i in range(50_000)]

    def write(ids):
        parts = [b""] * len(ids)
        return write_message("scores", plain.session, plain.identities[2], parts, ids, key_id="k")

    assert read_message(write(ids), "scores", plain.session).query_ids == ids
    longer = [f"{i:0100}" for i in range(50_000)]
    with pytest.raises(ValueError, match=r"message of 50000 queries .* Ask fewer"):
        write(longer)


def test_other_version(plain):
    message = bytearray(encrypt_all(plain, SCORES)[0])
    message[8] = 9
    with pytest.raises(ValueError, match="format version 9, this skdp reads 1"):
        read_message(bytes(message), "scores", plain.session)


def test_replay_into_another_session(plain):
    other = make_parties(3, 4, "plain")
    with pytest.raises(ValueError, match="belongs to another session"):
        other.server.combine(encrypt_all(plain, SCORES))
    again = Session.create(
        plain.session.classes,
        plain.session.scale,
        plain.session.key_holder,
        plain.session.server,
        plain.session.participants,
        backend="plain",
    )  # the same parties, another day
    with pytest.raises(ValueError, match="belongs to another session"):
        read_message(plain.secret_key, "secret key", again)


def test_wrong_kind_and_wrong_role(plain):
    messages = encrypt_all(plain, SCORES)
    with pytest.raises(ValueError, match="holds 'evaluation keys', not 'scores'"):
        plain.server.combine([*messages[:2], plain.evaluation_keys])
    with pytest.raises(ValueError, match="holds 'scores', not 'classes'"):
        plain.key_holder.decrypt(messages[0], plain.secret_key, ["query 0"])
    with pytest.raises(ValueError, match="holds 'secret key', not 'evaluation keys'"):
        Server(plain.session, plain.identities[1], plain.secret_key)
    ward = plain.identities[2]
    forged = write_message("classes", plain.session, ward, [b"\0\0\0\0"], ["query 0"], key_id="k")
    with pytest.raises(ValueError, match=r"'ward 0', who is no server.*Only 'server' may"):
        plain.key_holder.decrypt(forged, plain.secret_key, ["query 0"])


def test_keys_that_were_made_twice(plain):
    """Classes would be arbitrary, and for many classes mostly without an error."""
    secret_key, evaluation_keys = plain.key_holder.generate_keys()
    server = Server(plain.session, plain.identities[1], evaluation_keys)
    messages = encrypt_all(plain, SCORES)
    with pytest.raises(ValueError, match="of 'ward 0' was made with other keys"):
        server.combine(messages)
    again = Participant(plain.session, plain.identities[2], secret_key)
    mixed = again.encrypt(SCORES[0], classes=[0, 1, 2, 3], query_ids=["query 0"])
    with pytest.raises(ValueError, match="of 'ward 0' was made with other keys"):
        plain.server.combine([mixed, *messages[1:]])
    result = plain.server.combine(messages)
    with pytest.raises(ValueError, match="of 'server' was made with other keys"):
        plain.key_holder.decrypt(result, secret_key, ["query 0"])
    assert plain.key_holder.decrypt(result, plain.secret_key, ["query 0"]).tolist() == [3]


def test_signature_of_somebody_else(plain):
    stranger = Identity.generate("ward 0")
    forged = write_message("scores", plain.session, stranger, [bytes(4)], ["query 0"], key_id="k")
    with pytest.raises(ValueError, match=r"signature .* is not from 'ward 0'"):
        read_message(forged, "scores", plain.session)


def test_identities_survive_their_files(tmp_path):
    identity = Identity.generate("ward ü")
    identity.save(tmp_path / "key")
    assert (tmp_path / "key").stat().st_mode & 0o077 == 0
    again = Identity.load(tmp_path / "key")
    assert again.public == identity.public
    assert again.public.verifies(identity.sign(b"x"), b"x")
    assert not again.public.verifies(identity.sign(b"x"), b"y")
    content = (tmp_path / "key").read_bytes()
    assert content[8:40].hex() not in repr(again)
    with pytest.raises(FileExistsError):
        identity.save(tmp_path / "key")
    text = b"ward 1 " + identity.public.key.encode()  # long enough for a key and a name
    for bad in (b"", b"short", bytes(32), content[:8], content[:39], content + b"\xff", text):
        (tmp_path / "bad").write_bytes(bad)
        with pytest.raises(ValueError, match="is not an intact identity"):
            Identity.load(tmp_path / "bad")


@pytest.mark.parametrize(
    ("name", "key"),
    [("", "00" * 32), ("a\nb", "00" * 32), ("a", "00"), ("a", 5), ("a", "ZZ" * 32)],
)
def test_public_identities(name, key):
    with pytest.raises(ValueError, match=r"'(name|key)' parameter"):
        PublicIdentity(name, key)


P = 2**255 - 19
D = -121665 * pow(121666, -1, P) % P


def x_of(y):
    """Return a coordinate x of a point with this y, None where there is none (RFC 8032, 5.1.3)."""
    square = (y * y - 1) * pow(D * y * y + 1, -1, P) % P
    x = pow(square, (P + 3) // 8, P)
    roots = [root for root in (x, x * pow(2, (P - 1) // 4, P) % P) if root * root % P == square]
    return roots[0] if roots else None


def is_taken(y, sign=0):
    try:
        return bool(PublicIdentity("a", (y | sign << 255).to_bytes(32, "little").hex()))
    except ValueError:
        return False


def test_keys_are_points_of_the_curve_that_no_signature_can_be_forged_for():
    rng = np.random.RandomState(0)
    ys = [int.from_bytes(rng.bytes(32), "little") % P for _ in range(100)]
    assert 30 < sum(x_of(y) is None for y in ys) < 70
    # Those of order 8 or less, two points each, but for the neutral one and that of order 2.
    eighths = (
        "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
        "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
    )
    small = [0, 1, P - 1, *(int.from_bytes(bytes.fromhex(y), "little") for y in eighths)]
    assert all(x_of(y) is not None for y in small)
    for sign in (0, 1):
        assert [is_taken(y, sign) for y in ys] == [x_of(y) is not None for y in ys]
        assert not any(is_taken(y, sign) for y in small)
        assert not any(is_taken(P + y, sign) for y in range(19))  # another form of y
    # The library takes the neutral one, for which this is a signature of anything.
    neutral = (1).to_bytes(32, "little")
    Ed25519PublicKey.from_public_bytes(neutral).verify(neutral + bytes(32), b"anything")
