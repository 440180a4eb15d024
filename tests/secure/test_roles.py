"""The three roles, and all of them in one process."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression

import skdp
from skdp import CDMMAClassifier, DeepFuzzyClassifier
from skdp.secure import (
    Identity,
    KeyHolder,
    Participant,
    ScoreScale,
    SecureCombination,
    Server,
    combine_scores,
)
from skdp.secure._messages import read_message, write_message

from .conftest import ask, encrypt_all, make_parties, needs_concrete

# What a server runs; it has a folder of its own, and no other input.
SERVER = """
import sys
from pathlib import Path
from skdp.secure import Identity, Server, Session

session = Session.load("session", digest=sys.argv[1])
server = Server(session, Identity.load("identity"), Path("evaluation_keys").read_bytes())
messages = [path.read_bytes() for path in sorted(Path().glob("scores*"))]
Path("classes").write_bytes(server.combine(messages))
"""


def queries(n_participants, n_classes, n_queries, seed=0):
    """Return dissimilarities, half of them with many ties."""
    rng = np.random.RandomState(seed)
    values = rng.randint(0, 256, (n_participants, n_queries, n_classes))
    values[:, ::2] = rng.choice([0, 6, 7, 48, 49, 255], values[:, ::2].shape)
    return values


def test_classes_are_those_of_the_combination_in_clear(parties):
    scores = queries(2, 3, 6)
    assert ask(parties, scores) == combine_scores(scores).tolist()


def test_plain_is_the_formula():
    for shape in ((2, 2), (3, 10), (5, 4)):
        scores = queries(*shape, 50)
        expected = [
            int(np.argmin([min(own[i][c] for own in scores) for c in range(shape[1])]))
            for i in range(50)
        ]
        assert ask(make_parties(*shape, "plain"), scores[:, :50]) == expected


@needs_concrete
def test_encrypted_equals_plain_for_three_participants_and_ten_classes():
    scores = queries(3, 10, 4)
    assert ask(make_parties(3, 10, "fhe"), scores) == combine_scores(scores).tolist()


@needs_concrete
def test_ciphertexts_and_keys_differ_each_time():
    first, second = make_parties(2, 2, "fhe"), make_parties(2, 2, "fhe")
    assert secret_words(first) != secret_words(second)
    scores = [[[1, 2]], [[3, 4]]]
    assert encrypt_all(first, scores)[0] != encrypt_all(first, scores)[0]


# What a participant runs.
PARTICIPANT = """
from pathlib import Path
from skdp.secure import Identity, Participant, Session

participant = Participant(
    Session.load("session"), Identity.load("identity"), Path("secret_key").read_bytes()
)
message = participant.encrypt([[1, 2]], classes=[0, 1], query_ids=["query 0"])
with open("scores", "ab") as file:
    file.write(message)
"""


@needs_concrete
def test_processes_encrypt_with_randomness_of_their_own(tmp_path):
    """Equal randomness would let the server subtract ciphertexts, and read differences."""
    parties = make_parties(2, 2, "fhe")
    parties.session.save(tmp_path / "session")
    parties.identities[2].save(tmp_path / "identity")
    parties.key_holder.save_secret_key(tmp_path / "secret_key", parties.secret_key)
    for _ in range(2):
        environment = {
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(Path(skdp.__file__).parents[1]),
        }
        subprocess.run(
            [sys.executable, "-c", PARTICIPANT], cwd=tmp_path, env=environment, check=True
        )
    content = (tmp_path / "scores").read_bytes()
    halves = content[: len(content) // 2], content[len(content) // 2 :]
    first, second = (read_message(half, "scores", parties.session).parts[0] for half in halves)
    assert len(first) == len(second)
    equal = np.frombuffer(first, np.uint8) == np.frombuffer(second, np.uint8)
    # A seed of 16 bytes and 8 bytes for each of 16 numbers; the rest describes them.
    assert (~equal).sum() > 0.9 * 16 * 24


def secret_words(parties):
    """Return the words of each secret key of the encryption library."""
    from concrete.compiler import Keyset

    [secret] = read_message(parties.secret_key, "secret key", parties.session).parts
    keys = Keyset.deserialize(secret).get_client_keys().get_secret_keys()
    words = []
    for key in keys:
        raw = key.serialize()
        words.append(raw[-8 * (len(raw) // 8 - 10) :])
    return words


def test_a_server_without_a_key_computes_the_classes(parties, tmp_path):
    scores = queries(2, 3, 2)
    ids = ["query 0", "query 1"]
    parties.session.save(tmp_path / "session")
    parties.identities[1].save(tmp_path / "identity")
    (tmp_path / "evaluation_keys").write_bytes(parties.evaluation_keys)
    for i, message in enumerate(encrypt_all(parties, scores, ids)):
        (tmp_path / f"scores{i}").write_bytes(message)
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(Path(skdp.__file__).parents[1])}
    subprocess.run(
        [sys.executable, "-c", SERVER, parties.session.digest],
        cwd=tmp_path,
        env=environment,
        check=True,
        capture_output=True,
    )
    found = parties.key_holder.decrypt(
        (tmp_path / "classes").read_bytes(), parties.secret_key, ids
    )
    assert found.tolist() == combine_scores(scores).tolist()
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        *("classes", "evaluation_keys", "identity", "scores0", "scores1", "session"),
    ]
    files = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    seen = [*files.values(), "".join(environment.values()).encode()]
    assert not any(parties.secret_key in content for content in seen)
    with pytest.raises(ValueError, match="not 'secret key'"):
        Participant(parties.session, parties.identities[2], files["evaluation_keys"])
    if parties.session.backend == "plain":  # it has no keys, and hides nothing
        assert np.asarray(scores[0], np.uint8).tobytes() in files["scores0"]
        return
    assert np.asarray(scores[0], np.uint8).tobytes() not in files["scores0"]
    keys = secret_words(parties)
    assert keys
    for words in keys:
        assert any(words)
        assert words in parties.secret_key  # the search would find it
        assert not any(words in content for content in seen)


def test_processes_of_the_server_share_the_queries(plain):
    scores, ids = queries(3, 4, 7), [str(i) for i in range(7)]
    server = Server(plain.session, plain.identities[1], plain.evaluation_keys, n_jobs=2)
    result = server.combine(encrypt_all(plain, scores, ids))
    found = plain.key_holder.decrypt(result, plain.secret_key, ids)
    assert found.tolist() == combine_scores(scores).tolist()


def test_messages_that_do_not_belong_together(plain):
    messages = encrypt_all(plain, queries(3, 4, 2))
    with pytest.raises(ValueError, match="two messages of participant 'ward 0'"):
        plain.server.combine([messages[0], *messages])
    with pytest.raises(
        ValueError, match=r"Messages of 1 participants are missing, such as \['ward 1'\]"
    ):
        plain.server.combine([messages[0], messages[2]])
    others = encrypt_all(plain, queries(3, 4, 2), ["a", "b"])
    with pytest.raises(ValueError, match="on different queries"):
        plain.server.combine([*messages[:2], others[2]])


def test_an_answer_to_other_queries_is_refused(plain):
    result = plain.server.combine(encrypt_all(plain, queries(3, 4, 2), ["a", "b"]))
    for ids in (["b", "a"], ["a"], ["a", "c"]):
        with pytest.raises(ValueError, match="answers other queries"):
            plain.key_holder.decrypt(result, plain.secret_key, ids)


@pytest.mark.parametrize("ids", ["ab", [], [1, 2], ["a", "a"]])
def test_query_ids(plain, ids):
    with pytest.raises(ValueError, match="'query_ids' parameter"):
        plain.participants[0].encrypt(np.zeros((2, 4)), classes=[0, 1, 2, 3], query_ids=ids)


def test_classes_and_shapes_of_a_participant(plain):
    encrypt = plain.participants[0].encrypt
    for classes in ([0, 1, 2], [1, 0, 2, 3], ["0", "1", "2", "3"]):
        with pytest.raises(ValueError, match="are not the session's"):
            encrypt(np.zeros((1, len(classes))), classes=classes, query_ids=["a"])
    with pytest.raises(ValueError, match=r"\(2, 4\), got \(1, 4\)"):
        encrypt(np.zeros((1, 4)), classes=[0, 1, 2, 3], query_ids=["a", "b"])


def test_roles_take_identities_of_their_own(plain):
    holder, server, ward = plain.identities[:3]
    with pytest.raises(ValueError, match="'server', is not a key holder"):
        KeyHolder(plain.session, server)
    with pytest.raises(ValueError, match="'ward 0', is not a server"):
        Server(plain.session, ward, plain.evaluation_keys)
    with pytest.raises(ValueError, match="'key holder', is not a participant"):
        Participant(plain.session, holder, plain.secret_key)
    with pytest.raises(ValueError, match="is not a participant"):
        Participant(plain.session, Identity.generate("ward 0"), plain.secret_key)


def forge(parties, kind, position, part):
    """Return a message that an insider signed."""
    key_id = read_message(parties.secret_key, "secret key", parties.session).key_id
    identity = parties.identities[position]
    return write_message(kind, parties.session, identity, [part], ["query 0"], key_id=key_id)


def test_signed_bytes_that_are_no_ciphertexts(parties):
    messages = encrypt_all(parties, queries(2, 3, 1))
    wrong = forge(parties, "scores", 3, b"nonsense" * 20)
    with pytest.raises(ValueError, match="do not fit the session's circuit"):
        parties.server.combine([messages[0], wrong])
    result = forge(parties, "classes", 1, b"nonsense" * 20)
    with pytest.raises(ValueError, match="do not fit the session's circuit"):
        parties.key_holder.decrypt(result, parties.secret_key, ["query 0"])


def test_a_class_that_there_is_not(plain):
    result = forge(plain, "classes", 1, b"\x09\0\0\0")
    with pytest.raises(ValueError, match="no class of the session"):
        plain.key_holder.decrypt(result, plain.secret_key, ["query 0"])


def test_secret_keys_replace_nothing(plain, tmp_path):
    (tmp_path / "file").write_bytes(b"mine")
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    for name in ("file", "link"):
        with pytest.raises(FileExistsError):
            plain.key_holder.save_secret_key(tmp_path / name, plain.secret_key)
        with pytest.raises(FileExistsError):
            plain.identities[0].save(tmp_path / name)
    assert (tmp_path / "file").read_bytes() == b"mine"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "link"]


def test_secret_key_file(plain, tmp_path):
    plain.key_holder.save_secret_key(tmp_path / "key", plain.secret_key)
    assert (tmp_path / "key").stat().st_mode & 0o077 == 0
    assert (tmp_path / "key").read_bytes() == plain.secret_key
    with pytest.raises(ValueError, match="not 'secret key'"):
        plain.key_holder.save_secret_key(tmp_path / "other", plain.evaluation_keys)


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(n_class=4, return_X_y=True)
    return X / 16, y.astype(str)


@pytest.mark.parametrize(
    ("model", "method", "scale"),
    [
        (
            CDMMAClassifier(20, n_layers=1, error_scale="shared", random_state=0),
            *("decision_function", (-25.0, 0.0)),
        ),
        (DeepFuzzyClassifier(max_layers=1, random_state=0), "predict_proba", (0.0, 1.0)),
    ],
    ids=["cdmma", "fuzzy"],
)
def test_local_models_of_digits(digits, model, method, scale):
    X, y = digits
    models = [type(model)(**model.get_params()).fit(X[i:240:3], y[i:240:3]) for i in range(3)]
    combination = SecureCombination(models, scale=scale, method=method).fit()
    found = combination.predict(X[400:])
    scores = [ScoreScale(*scale).dissimilarities(getattr(m, method)(X[400:])) for m in models]
    assert found.tolist() == combination.classes_[combine_scores(scores)].tolist()
    assert combination.score(X[400:], y[400:]) > 0.9
    assert combination.n_features_in_ == 64


@needs_concrete
def test_encrypted_combination_equals_plain(digits):
    X, y = digits
    keep = np.isin(y, ["1", "2"])
    X, y = X[keep], y[keep]
    models = [LogisticRegression().fit(X[i::2], y[i::2]) for i in range(2)]
    plain, secret = (SecureCombination(models, backend=b).fit() for b in ("plain", "fhe"))
    assert plain.predict(X[:5]).tolist() == secret.predict(X[:5]).tolist()


def test_estimators_are_fitted_on_the_same_classes(digits):
    X, y = digits
    model, other = LogisticRegression().fit(X, y), LogisticRegression().fit(X[y < "3"], y[y < "3"])
    with pytest.raises(ValueError, match=r"estimators\[1\] and estimators\[0\] have different"):
        SecureCombination([model, other]).fit()
    with pytest.raises(ValueError, match="at least two fitted classifiers, got 1"):
        SecureCombination([model]).fit()
    with pytest.raises(NotFittedError):
        SecureCombination([model, LogisticRegression()]).fit()
    with pytest.raises(NotFittedError):
        SecureCombination([model, model]).predict(X)


def test_without_the_library_there_is_a_remedy():
    # Nor is it imported before it is used, or any other large one.
    code = (
        "import sys, skdp.secure; print('concrete' in sys.modules, 'torch' in sys.modules)\n"
        "sys.modules['concrete'] = None\n"
        "from skdp.secure import Identity, ScoreScale, Session\n"
        "parties = [Identity.generate(name).public for name in 'abcd']\n"
        "try: Session.create([0, 1], ScoreScale(0, 1), *parties[:2], parties[2:])\n"
        "except ImportError as error: print(error)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.startswith("False False\n")
    assert "pip install 'skdp[secure]'" in run.stdout
    assert "Python 3.11" in run.stdout
