"""StyleID's learned swapper, and the analyses of the generator's latent space."""

import json
from xml.etree import ElementTree

import numpy as np
import pytest
from typer.testing import CliRunner

from faceveil.cli import app
from faceveil.faces import find_faces
from faceveil.methods import method
from faceveil.methods.styleid.channels import Block, Step, best, curve, joined
from faceveil.methods.styleid.channels import read_table as read_blocks
from faceveil.methods.styleid.correlation import links
from faceveil.methods.styleid.figure import bars, draw, draw_blocks, draw_curve
from faceveil.methods.styleid.layers import preview, random_codes
from faceveil.methods.styleid.layers import read_table as read_windows
from faceveil.methods.styleid.regions import NAMES, table
from faceveil.methods.styleid.score import identity_distance, read
from faceveil.methods.styleid.swapper import DATA, MODULES, alpha, mixed
from faceveil.methods.styleid.tables import read_rows, write_table

RNG = np.random.default_rng
A = ["mobilenet.facelib"]


@pytest.fixture(scope="module")
def pair() -> tuple[np.ndarray, np.ndarray]:
    """The codes of two generated faces."""
    source, target = random_codes(1, 3)[0]
    return source, target


def test_the_swapper_mixes_two_codes_channel_by_channel(pair):
    source, target = pair
    keep = alpha(source, target)
    assert keep.shape == (23, 512) and keep.min() > 0 and keep.max() < 1 and keep.std() > 0.02
    new = mixed(source, target)
    low, high = np.minimum(source, target), np.maximum(source, target)
    assert (new >= low - 1e-5).all() and (new <= high + 1e-5).all()
    np.testing.assert_allclose(mixed(source, source), source, atol=1e-5)


def test_the_swapper_takes_most_from_the_target_where_identity_lies(pair):
    keep = alpha(*pair)
    coarse, identity, fine = (keep[slice(*slots)].mean() for slots in MODULES.values())
    assert identity < coarse and identity < fine


def test_the_swapper_takes_away_identity_and_keeps_the_surroundings(pair):
    source, target = pair
    before, new, other = (preview(code) for code in (source, mixed(source, target), target))
    reading = read(before, A)
    assert identity_distance(reading.identity, read(new, A).identity) > 0.6
    border = np.r_[0:12, 116:128]
    gap, whole = (np.abs(image[:, border].astype(float) - before[:, border]).mean() for image in (new, other))
    assert gap < 0.6 * whole


def test_the_swapper_in_openvino_is_the_one_that_was_trained(pair):
    torch = pytest.importorskip("torch")
    from training.swapper import Swapper

    network = Swapper()
    with np.load(DATA) as stored:
        network.load_state_dict({name: torch.from_numpy(stored[name]).float() for name in stored})
    with torch.no_grad():
        trained = network(*(torch.from_numpy(code)[None] for code in pair))[0].numpy()
    np.testing.assert_allclose(alpha(*pair), trained, atol=1e-5)
    assert DATA.stat().st_size < 3_000_000


def test_the_swapper_replaces_a_face_and_nothing_around_it(portrait):
    (face,) = find_faces(portrait, "yunet", mesh=True)
    chosen = method("styleid-swapper")
    after, where = chosen.protect(portrait, face, RNG(5))
    changed = (after != portrait).any(axis=2)
    covered = np.zeros(changed.shape, bool)
    covered[where.window] = where.mask > 0
    assert changed.any() and not (changed & ~covered).any()
    again, _ = chosen.protect(portrait, face, RNG(5))
    assert (again == after).all()


def test_wider_blocks_hold_what_their_parts_did():
    narrow = [Block(4, 64 * i, 64, i, 1.0, i) for i in range(8)] + [Block(5, 0, 64, 9.0, 1.0, 9.0)]
    first, second, third = joined(narrow, 256)
    assert (first.slot, first.score) == (5, 9.0)
    assert (second.slot, second.first, second.width, second.identity) == (4, 256, 256, 5.5)
    assert (third.first, third.score) == (0, 1.5)
    assert best([second, third], 256) == [second.part]


def test_more_channels_lead_further_away():
    few, all_of_them = curve(read_blocks(), (256, 4608), 2, 5, A)
    assert few.identity < all_of_them.identity and few.width == 64


def test_larger_regions_lead_further_away():
    rows = {row.region: row for row in table(2, 4, A, slice(4, 13))}
    assert list(rows) == list(NAMES)
    assert rows["eyes"].identity < rows["face"].identity < rows["all"].identity + 0.2
    assert rows["eyes"].attributes < rows["all"].attributes


def test_attributes_are_linked_to_the_identity_by_correlations():
    found = links(3, 2, A, slice(4, 13))
    values = [link.correlation for link in found]
    assert values == sorted(values, reverse=True) and -1 <= values[-1] <= values[0] <= 1
    assert {"female", "smiling"} <= {link.attribute for link in found}


def test_figures_are_drawn_from_the_shipped_tables():
    steps = [Step(64, 512, 0.5, 0.1), Step(64, 1024, 0.8, 0.2), Step(256, 512, 0.4, 0.1)]
    lines = {draw(read_windows()): 6, draw_blocks(read_blocks()): 9, draw_curve(steps): 2}
    for text, count in lines.items():
        assert len(ElementTree.fromstring(text).findall("{*}polyline")) == count
    rects = ElementTree.fromstring(bars({"up": 0.5, "down": -0.25}, "r")).findall("{*}rect")[1:]
    up, down = (float(rect.get("width", 0)) for rect in rects)
    assert up == pytest.approx(2 * down, abs=0.1)
    assert float(rects[1].get("x", 0)) + down == pytest.approx(float(rects[0].get("x", 0)), abs=0.2)


def test_tables_come_back_as_they_were_written(tmp_path):
    rows = [Step(64, 512, 0.5, 0.1), Step(64, 1024, 0.8, 0.2)]
    write_table(rows, tmp_path / "curve.csv")
    assert read_rows(Step, tmp_path / "curve.csv") == rows


def test_an_analysis_writes_its_table_and_prints_it(tmp_path):
    result = CliRunner().invoke(app, ["analyze", "regions", "-o", str(tmp_path), "--pairs", "1", "--json"])
    assert result.exit_code == 0, result.output
    rows = json.loads(result.output)["regions"]
    assert [row["region"] for row in rows] == list(NAMES)
    assert (tmp_path / "regions.csv").read_text().startswith("region,identity,spread,attributes")
