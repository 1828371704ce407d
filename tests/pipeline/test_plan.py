"""Plans: what is refused before anything is written."""

import shutil
from pathlib import Path

import pytest

from faceveil import Settings, anonymize, method
from faceveil.cli.summary import print_summary
from faceveil.errors import OutputError, UsageError
from faceveil.pipeline import make_plan


def test_names_and_folders_are_kept(photos, tmp_path):
    plan = make_plan([photos], tmp_path / "out")
    assert [job.name for job in plan.jobs] == ["a.jpg", "sub/b.jpg", "sub/c.jpg", "sub/deep/d.jpg"]
    assert plan.jobs[3].target == tmp_path / "out" / "sub" / "deep" / "d.jpg"


def test_files_and_folders_may_be_mixed(photos, tmp_path, examples):
    plan = make_plan([photos, examples / "wall.jpg"], tmp_path / "out")
    assert len(plan.jobs) == 5


def test_one_photo_goes_to_one_file(photos, tmp_path):
    plan = make_plan([photos / "a.jpg"], tmp_path / "b.png")
    assert plan.jobs[0].target == tmp_path / "b.png"
    assert plan.manifest == tmp_path / "b.run.json"


@pytest.mark.parametrize("output", ["photos", "photos/out", "photos/sub/out"])
def test_an_output_inside_the_input_is_refused(photos, output):
    with pytest.raises(OutputError, match="inside"):
        make_plan([photos], photos.parent / output)


def test_an_input_inside_the_output_is_refused(photos):
    with pytest.raises(OutputError, match="among the results"):
        make_plan([photos], photos.parent)


def test_a_link_does_not_hide_that_output_and_input_are_one(photos, tmp_path):
    (tmp_path / "link").symlink_to(photos)
    with pytest.raises(OutputError, match="inside"):
        make_plan([photos], tmp_path / "link" / "out")


def test_a_photo_is_not_written_over_itself(photos):
    with pytest.raises(OutputError, match="is an original"):
        make_plan([photos / "a.jpg"], photos / "a.jpg")


def test_a_file_as_output_folder_is_refused(photos, tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(OutputError, match="is a file"):
        make_plan([photos], tmp_path / "file")


def test_a_folder_without_photos_is_a_usage_error(tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(UsageError, match="no photo"):
        make_plan([tmp_path / "empty"], tmp_path / "out")


def test_a_missing_input_is_named():
    with pytest.raises(UsageError, match="nowhere"):
        make_plan([Path("nowhere")], Path("out"))


def picture(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"\xff\xd8\xff\xe0 and more")
    return path


@pytest.mark.parametrize("name", ["run.json", "RUN.JSON", "run.json/a.jpg"])
def test_a_photo_that_would_take_the_place_of_the_runs_own_file_is_refused(tmp_path, name):
    picture(tmp_path / "photos" / name)
    with pytest.raises(OutputError, match=r"Rename it"):
        make_plan([tmp_path / "photos"], tmp_path / "out")
    picture(tmp_path / "photos" / "sub" / "run.json")
    (tmp_path / "photos" / name).rename(tmp_path / "photos" / "other.jpg")
    assert len(make_plan([tmp_path / "photos"], tmp_path / "out").jobs) >= 1


def test_an_original_is_not_overwritten_by_the_record_of_the_run(tmp_path):
    picture(tmp_path / "b.run.json")
    with pytest.raises(OutputError, match="is an original"):
        make_plan([tmp_path / "b.run.json"], tmp_path / "b.jpg")
    picture(tmp_path / ".faceveil")
    with pytest.raises(OutputError, match="Rename it"):
        make_plan([tmp_path / ".faceveil"], tmp_path / "out")


def test_a_folder_that_cannot_be_opened_is_said_where_there_is_no_photo(tmp_path, monkeypatch):
    locked(tmp_path, monkeypatch, "locked")
    with pytest.raises(UsageError, match=r"locked: the folder cannot be opened \(Permission denied\)"):
        make_plan([tmp_path / "photos"], tmp_path / "out")


def locked(place: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """A folder of photos with one in it that may not be opened, whoever runs the test."""
    (place / "photos" / name).mkdir(parents=True)
    search = Path.iterdir

    def iterdir(path):
        if path.name == name:
            raise PermissionError(13, "Permission denied")
        return search(path)

    monkeypatch.setattr(Path, "iterdir", iterdir)


def test_what_could_not_be_opened_is_named_and_the_exit_code_says_so(photos, tmp_path, monkeypatch, capsys):
    locked(tmp_path, monkeypatch, "locked\x1b[2J")
    shutil.rmtree(photos / "sub")
    summary = anonymize(photos, tmp_path / "out", settings=Settings(method=method("blackout")))
    print_summary(summary, as_json=False)
    said = capsys.readouterr().err
    assert summary.exit_code == 3 and summary.quarantined == []
    assert "not searched" in said and "locked\\x1b[2J" in said and "\x1b" not in said
