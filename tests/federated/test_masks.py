"""Masks: uniform for all who lack a key, nothing in the sum over all owners."""

import hashlib
import hmac
import json
import struct
from itertools import combinations, product

import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from scipy import stats

from skdp.federated import _masks
from skdp.federated._masks import mask, new_key

N = 2**14
NAMES = ["east", "north", "south", "west"]
CONTEXTS = [hashlib.sha256(bytes([i])).hexdigest() for i in range(2)]


def keys(names=NAMES, session=b""):
    """Return private and public keys by owner, the same at each call."""
    private = {name: hashlib.sha256(session + name.encode()).digest() for name in names}
    key = X25519PrivateKey.from_private_bytes
    return private, {n: key(p).public_key().public_bytes_raw() for n, p in private.items()}


def masks(context=CONTEXTS[0], size=N, names=NAMES, session=b""):
    """Return the masks of all owners, one row each."""
    private, public = keys(names, session)
    return np.stack([mask(private[name], public, name, context, size) for name in names])


def is_uniform(integers):
    """Return whether integers of 64 bits look uniform and independent: bits, bytes, neighbors."""
    bits = np.unpackbits(np.ascontiguousarray(integers).view(np.uint8).reshape(-1, 8), axis=1)
    n = len(bits)
    ones = stats.norm.sf(np.abs(bits.sum(axis=0) - n / 2) / np.sqrt(n / 4)) * 2 * 64
    octets = np.ascontiguousarray(integers).view(np.uint8).reshape(-1, 8)
    counts = [np.bincount(octet, minlength=256) for octet in octets.T]
    flat = [stats.chisquare(count).pvalue * 8 for count in counts]
    repeats = (np.diff(np.sort(integers)) == 0).any()
    return min(ones.min(), *flat) > 1e-4 and not repeats


@pytest.mark.parametrize("n_owners", [2, 3, 20])
def test_all_masks_cancel_exactly(n_owners):
    names = [f"ward {i}" for i in range(n_owners)]
    all_masks = masks(names=names, size=100)
    assert (all_masks.sum(axis=0, dtype=np.uint64) == 0).all()
    assert all_masks.any(axis=1).all()
    # Of keys that are drawn, too, in any order of owners.
    drawn = {name: new_key() for name in names}
    public = {name: drawn[name][1] for name in reversed(names)}
    total = sum(mask(drawn[name][0], public, name, CONTEXTS[0], 100) for name in names)
    assert (total == 0).all()
    for left_out in names[:3]:
        others = [name for name in names if name != left_out]
        rest = sum(mask(drawn[name][0], public, name, CONTEXTS[0], 100) for name in others)
        assert rest.any()


def combinations_of(all_masks):
    """Yield sums and differences of the masks of fewer than all owners."""
    for n in range(1, len(all_masks)):
        for chosen in combinations(all_masks, n):
            for signs in product([False, True], repeat=n - 1):
                terms = [
                    chosen[0],
                    *(-m if s else m for m, s in zip(chosen[1:], signs, strict=True)),
                ]
                yield np.sum(terms, axis=0, dtype=np.uint64)


def test_masks_of_fewer_than_all_are_uniform_one_by_one_and_together():
    all_masks = masks()
    assert all(map(is_uniform, combinations_of(all_masks)))
    # A masked answer is uniform too, whatever it is.
    for answer in (0, 2**63, 12345):
        assert is_uniform(all_masks[0] + np.uint64(answer))
    # The three lowest and highest bits of three masks together: all 2^9 patterns alike.
    for shift in (0, 61):
        patterns = np.zeros(N, dtype=np.int64)
        for row in all_masks[:3]:
            patterns = 8 * patterns + ((row >> np.uint64(shift)) & np.uint64(7)).astype(np.int64)
        assert stats.chisquare(np.bincount(patterns, minlength=512)).pvalue > 1e-4


@pytest.fixture
def unit_streams(monkeypatch):
    """Streams are unit vectors, one for each pair of owners: masks then show whose they are."""
    secrets = {}

    def stream(secret, pair, context, size):
        unit = np.zeros(size, dtype=np.uint64)
        unit[secrets.setdefault(secret, len(secrets))] = 1
        return unit

    monkeypatch.setattr(_masks, "_stream", stream)


def exposed(rows, n_colluding):
    """Return sets of owners whose sum has no mask that some colluding others do not know."""
    found = []
    for colluding in combinations(range(len(rows)), n_colluding):
        honest = [i for i in range(len(rows)) if i not in colluding]
        secret = ~rows[list(colluding)].any(axis=0)  # streams of no pair with one of these
        for n in range(1, len(honest)):
            for chosen in combinations(honest, n):
                if not rows[list(chosen)].sum(axis=0)[secret].any():
                    found.append(chosen)
    return found


def test_every_two_owners_share_one_stream_that_one_adds_and_the_other_subtracts(unit_streams):
    rows = masks(size=6).view(np.int64)
    assert sorted(map(tuple, np.sort(rows, axis=0).T)) == [(-1, 0, 0, 1)] * 6
    assert len({tuple(np.flatnonzero(column)) for column in rows.T}) == 6
    # Any three rows have a minor of ±1: they map uniform streams to uniform masks.
    for left_out in range(4):
        others = np.delete(rows, left_out, axis=0)
        minors = [round(np.linalg.det(others[:, list(c)])) for c in combinations(range(6), 3)]
        assert 1 in np.abs(minors)
    # Whoever colludes learns the sum of the others, and nothing of a part of it.
    assert not any(exposed(rows, n_colluding) for n_colluding in (0, 1, 2))


def test_a_mask_that_is_missing_between_two_owners_exposes_them_to_colluders(unit_streams):
    rows = masks(size=6).view(np.int64)
    shared = np.flatnonzero(rows[0] & rows[1])
    rows[:, shared] = 0
    assert not exposed(rows, 1)
    assert exposed(rows, 2) == [(0,), (1,)]


def independent(first, second):
    """Return whether masks tell nothing of others."""
    return is_uniform(first) and is_uniform(first - second) and is_uniform(first + second)


def test_masks_of_other_contexts_and_sessions_are_independent():
    first = masks()
    for other in (masks(CONTEXTS[1]), masks(session=b"other")):
        assert all(map(independent, first, other))
        # They cancel in no sum of masks of both.
        assert is_uniform(np.sum([*first[:2], *other[2:]], axis=0, dtype=np.uint64))
    assert not independent(first[0], masks()[0])


def test_a_mask_that_is_used_again_in_the_next_round_is_found_out(monkeypatch):
    stream = _masks._stream
    monkeypatch.setattr(_masks, "_stream", lambda *s: stream(s[0], s[1], CONTEXTS[0], s[3]))
    assert not any(map(independent, masks(), masks(CONTEXTS[1])))


def hkdf(secret, salt, info):
    """Return 32 bytes of HKDF-SHA256 (RFC 5869)."""
    key = hmac.digest(salt, secret, "sha256")
    return hmac.digest(key, info + b"\x01", "sha256")


def chacha20(key, n_blocks):
    """Return a keystream of ChaCha20 with counter and nonce zero (RFC 8439)."""
    stream = b""
    for counter in range(n_blocks):
        start = [*struct.unpack("<4I", b"expand 32-byte k"), *struct.unpack("<8I", key)]
        start += [counter, 0, 0, 0]
        x = list(start)
        columns = [(i, i + 4, i + 8, i + 12) for i in range(4)]
        diagonals = [(i, 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4) for i in range(4)]
        for a, b, c, d in (columns + diagonals) * 10:
            for i, j, k, n in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
                x[i] = (x[i] + x[j]) % 2**32
                mixed = x[k] ^ x[i]
                x[k] = (mixed << n | mixed >> (32 - n)) % 2**32
        stream += struct.pack("<16I", *((a + b) % 2**32 for a, b in zip(x, start, strict=True)))
    return stream


def test_a_mask_is_the_stream_that_the_standards_define():
    private, public = keys(["a", "b"])
    key = X25519PrivateKey.from_private_bytes(private["a"])
    secret = key.exchange(X25519PrivateKey.from_private_bytes(private["b"]).public_key())
    derived = hkdf(secret, bytes.fromhex(CONTEXTS[0]), json.dumps(["a", "b"]).encode())
    expected = np.frombuffer(chacha20(derived, 3), dtype="<u8")
    assert mask(private["a"], public, "a", CONTEXTS[0], 24).tolist() == expected.tolist()
    assert mask(private["b"], public, "b", CONTEXTS[0], 24).tolist() == (-expected).tolist()


LOW_ORDER = [
    bytes(32),
    (1).to_bytes(32, "little"),
    (2**255 - 20).to_bytes(32, "little"),
    (2**255 - 19).to_bytes(32, "little"),
    (2**255 - 18).to_bytes(32, "little"),
    bytes.fromhex("e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800"),
    bytes.fromhex("5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157"),
]


@pytest.mark.parametrize("high_bit", [0, 128])
@pytest.mark.parametrize("key", LOW_ORDER, ids=lambda key: key.hex()[:8])
def test_keys_of_low_order_are_refused(key, high_bit):
    private, public = keys()
    public["west"] = key[:31] + bytes([key[31] | high_bit])
    with pytest.raises(ValueError, match="key of 'west' is not a valid X25519 key"):
        mask(private["east"], public, "east", CONTEXTS[0], 3)
