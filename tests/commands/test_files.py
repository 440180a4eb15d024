import pytest

from skdp.commands._files import check_output, written_whole


def test_a_file_is_written_whole_or_not_at_all(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("before")
    with pytest.raises(UnicodeEncodeError), written_whole(path) as draft:
        draft.write_text("half of what \ud800", encoding="utf-8")
    assert path.read_text() == "before"
    assert list(tmp_path.iterdir()) == [path]
    with written_whole(path) as draft:
        draft.write_text("after")
        assert path.read_text() == "before"
    assert path.read_text() == "after"
    assert list(tmp_path.iterdir()) == [path]


def test_outputs_that_are_refused(tmp_path):
    (tmp_path / "folder.csv").mkdir()
    there = tmp_path / "there.csv"
    there.touch()
    refused = {"folder.csv": "is a folder", "there.csv": "is there already", "x.txt": "must end"}
    for name, message in refused.items():
        with pytest.raises(ValueError, match=message):
            check_output(str(tmp_path / name), (".csv",), force=False, inputs=[])
    assert check_output(str(there), (".csv",), force=True, inputs=[]) == there
    (tmp_path / "link.csv").symlink_to(there)
    with pytest.raises(ValueError, match="is also a file that is read"):
        check_output(str(tmp_path / "link.csv"), (".csv",), force=True, inputs=[str(there)])
