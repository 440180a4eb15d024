from hashlib import sha256
from pathlib import Path


def test_one_page_from_files(hospital, run, release_command, shows_nothing_private):
    Path("audit.txt").write_text("verdict:  not refuted by this canary\n")
    code, out, err = run(
        *("report", "hospital.skdp", "--owner", "North & South", "--audit", "audit.txt"),
        *("-o", "page.html"),
    )
    assert (code, err) == (0, "skdp: reading 'hospital.skdp'\n")
    assert out == "Wrote 'page.html', a page for the browser or the printer, without scripts.\n"
    html = Path("page.html").read_text(encoding="utf-8")
    assert sha256(Path("hospital.skdp").read_bytes()).hexdigest() in html
    assert "North &amp; South" in html
    assert "not refuted by this canary" in html
    assert shows_nothing_private(html, out, err)
