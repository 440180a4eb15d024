from hashlib import sha256
from pathlib import Path


def test_one_page_from_files(hospital, run, release_command, shows_nothing_private):
    Path("audit.txt").write_text("verdict:  not refuted by this canary\n")
    code, out, err = run(
        *("report", "hospital.skdp", "--owner", "North & South", "--audit", "audit.txt"),
        *("-o", "page.html"),
    )
    assert (code, err) == (0, "skdp: reading 'hospital.skdp'\n")
    assert out == "Wrote 'page.html', a page without scripts that a browser shows and prints.\n"
    html = Path("page.html").read_text(encoding="utf-8")
    assert sha256(Path("hospital.skdp").read_bytes()).hexdigest() in html
    assert "North &amp; South" in html
    assert "not refuted by this canary" in html
    assert shows_nothing_private(html, out, err)


def test_what_is_refused_writes_nothing(hospital, run):
    for arguments, what in (
        (("-o", "page.txt"), "must end in .html"),
        (("-o", "page.html", "--ledger", "none.json"), "none.json"),
        (("-o", "page.html", "--audit", "hospital.skdp"), "is no text"),
    ):
        code, out, err = run("report", "hospital.skdp", *arguments)
        assert (code, out) == (1, "")
        assert what in err
        assert not Path(arguments[1]).exists()
    Path("page.html").write_text("mine")
    assert run("report", "hospital.skdp", "-o", "page.html")[0] == 1
    assert Path("page.html").read_text() == "mine"
    assert run("report", "hospital.skdp", "-o", "page.html", "--force")[0] == 0
