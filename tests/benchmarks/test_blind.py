"""Blind sheets: every picture once, the key apart, and a count that compares outputs with untouched photos."""

import json
from pathlib import Path

import numpy as np
import pytest
from benchmarks.blind import count, make, newcombe, numbers_in
from PIL import Image


@pytest.fixture
def folders(tmp_path) -> tuple[Path, Path]:
    for name, shade in (("outputs", 60), ("untouched", 200)):
        (tmp_path / name).mkdir()
        for number in range(8):
            Image.new("RGB", (50, 40 + number), (shade,) * 3).save(tmp_path / name / f"{name}-{number}.png")
    return tmp_path / "outputs", tmp_path / "untouched"


def test_sheets_hold_as_many_of_both_in_an_order_that_tells_nothing(folders, tmp_path):
    make(*folders, tmp_path / "sheets", each=7, side=60, seed=3)
    key = json.loads((tmp_path / "sheets" / "key.json").read_text())
    changed = [key[str(number)]["changed"] for number in range(1, 15)]
    assert sum(changed) == 7 and len({entry["file"] for entry in key.values()}) == 14
    assert changed != sorted(changed) and changed != sorted(changed, reverse=True)
    sheets = sorted((tmp_path / "sheets").glob("*.png"))
    assert [path.name for path in sheets] == ["sheet-01.png", "sheet-02.png"]
    shades = np.asarray(Image.open(sheets[0]))
    assert (shades == 60).any() and (shades == 200).any()


def test_what_counts_is_the_difference():
    key = {str(n): {"file": f"{n}.png", "changed": n <= 10} for n in range(1, 21)}
    found = count(key, {1, 2, 3, 4, 5, 11})
    assert (found["outputs_flagged"], found["untouched_flagged"], found["points"]) == (5, 1, 40.0)
    low, high = found["interval"]
    assert low < 40 < high
    with pytest.raises(SystemExit, match="21"):
        count(key, {21})


def test_the_interval_is_newcombes():
    """His example: 56 of 70 against 48 of 80, 0.2 (0.0524 to 0.3339)."""
    assert newcombe(56, 70, 48, 80) == pytest.approx((0.2, 0.0524, 0.3339), abs=2e-4)


def test_numbers_come_one_by_one_or_from_a_file(tmp_path):
    (tmp_path / "flags.txt").write_text("3, 7\n12")
    assert numbers_in(["1", str(tmp_path / "flags.txt")]) == {1, 3, 7, 12}
