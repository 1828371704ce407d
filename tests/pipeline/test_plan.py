"""Plans: what is refused before anything is written."""

from pathlib import Path

import pytest

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
