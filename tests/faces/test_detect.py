"""Detection on scenes with known answers, made of people who do not exist."""

import cv2
import numpy as np
import pytest

from faceveil.errors import UsageError
from faceveil.faces import DETECTORS, blazeface, detect, find_faces, yunet
from faceveil.faces.boxes import best_of_each, iou
from faceveil.faces.views import Sizes, close_up
from faceveil.photos import read_photo


def canvas(width: int, height: int, seed: int = 0) -> np.ndarray:
    """Textured ground in which nobody sees a face."""
    rng = np.random.default_rng(seed)
    coarse = cv2.resize(rng.normal(size=(9, 13, 3)), (width, height), interpolation=cv2.INTER_CUBIC)
    fine = cv2.resize(rng.normal(size=(height // 4, width // 4, 3)), (width, height))
    return np.clip(120 + 35 * coarse + 12 * fine, 0, 255).astype(np.uint8)


def put(image: np.ndarray, portrait: np.ndarray, x: int, y: int, side: int, degrees: float = 0) -> np.ndarray:
    """The portrait, `side` px wide (its face fills about two fifths of that), turned clockwise about x, y."""
    small = cv2.resize(portrait, (side, side), interpolation=cv2.INTER_AREA)
    turn = cv2.getRotationMatrix2D((side / 2, side / 2), -degrees, 1.0)
    disc = (np.hypot(*(np.mgrid[:side, :side] - side / 2)) < side * 0.48).astype(np.float32)
    mask = cv2.warpAffine(disc, turn, (side, side))[..., None]
    out = image.copy()
    window = out[y - side // 2 : y - side // 2 + side, x - side // 2 : x - side // 2 + side]
    window[:] = (window * (1 - mask) + cv2.warpAffine(small, turn, (side, side)) * mask).astype(np.uint8)
    return out


def near(faces, x, y, within) -> bool:
    return any(np.hypot(*(face.centre - [x, y])) < within for face in faces)


@pytest.mark.parametrize("side", [90, 200, 500, 900])
@pytest.mark.parametrize("degrees", [-45, -20, 0, 20, 45])
def test_faces_of_every_size_and_tilt_are_found(portrait, side, degrees):
    image = put(canvas(1400, 1000), portrait, 700, 500, side, degrees)
    (face,) = find_faces(image)
    assert near([face], 700, 500, side * 0.12)
    assert abs(face.roll - degrees) < 8


def test_a_face_that_fills_the_frame_is_found(portrait):
    close = cv2.resize(portrait[90:470, 90:420], (1650, 1900), interpolation=cv2.INTER_CUBIC)
    (face,) = find_faces(close)
    assert face.size_wh[0] > 1000


@pytest.mark.parametrize("width", [300, 1650, 3300])
def test_a_face_that_fills_the_frame_is_found_where_a_box_is_enough(portrait, width):
    close = cv2.resize(portrait[90:470, 90:420], (width, width * 38 // 33), interpolation=cv2.INTER_CUBIC)
    largest = max(find_faces(close, mesh=False), key=lambda face: face.size_wh)
    assert np.abs(largest.size_wh / np.array(close.shape[1::-1]) - [0.84, 0.96]).max() < 0.08


@pytest.mark.parametrize(("x", "y"), [(700, 500), (30, 40), (1370, 960)])
@pytest.mark.parametrize("side", [45, 60])
def test_a_face_that_only_the_full_size_shows_is_found_where_a_box_is_enough(portrait, side, x, y):
    image = put(canvas(1401, 1001), portrait, x, y, side)
    assert near(find_faces(image, mesh=False), x, y, side * 0.12)


def test_every_face_of_a_crowd_is_found_where_a_box_is_enough(portrait):
    image, places = canvas(900, 600), [(x, y) for y in range(60, 560, 60) for x in range(60, 860, 60)]
    for x, y in places:
        image = put(image, portrait, x, y, 54)
    found = find_faces(image, mesh=False)
    assert all(near(found, x, y, 8) for x, y in places)


def test_a_picture_smaller_than_a_window_is_searched_where_a_box_is_enough(portrait):
    small = cv2.resize(portrait, (60, 60), interpolation=cv2.INTER_AREA)
    assert len(find_faces(small, mesh=False)) == 1
    assert find_faces(canvas(31, 8), mesh=False) == find_faces(canvas(31, 8)[:, :1], mesh=False) == []


@pytest.mark.parametrize("count", range(1, 7))
def test_looks_at_several_places_give_what_looks_at_each_give(wall, count):
    pictures = [np.ascontiguousarray(wall[90 * n : 90 * n + 128, 200:328]) for n in range(count)]
    each = [yunet._looked_at([picture]) for picture in pictures]
    for level, alone in zip(yunet._looked_at(pictures), zip(*each, strict=True), strict=True):
        assert np.array_equal(level, np.concatenate(alone))


@pytest.mark.parametrize(("width", "height"), [(1200, 800), (800, 1200), (1000, 900)])
def test_the_second_detector_sees_in_one_view_what_it_sees_in_squares(portrait, width, height):
    image = put(canvas(width, height), portrait, 250, 260, 300)
    image = put(image, portrait, width - 200, height - 210, 240)
    squares, view = (
        np.array([f.box_xyxy for f in find(image)]) for find in (blazeface.find, blazeface.find_boxes)
    )
    assert blazeface._frame(image) is not None
    assert len(squares) == len(view) == 2
    assert iou(squares, view).max(axis=1).min() > 0.8


def test_a_twelve_pixel_face_and_a_large_one_are_found_in_a_24_megapixel_photo(examples):
    image = cv2.GaussianBlur(canvas(6000, 4000), (0, 0), 3)
    portraits = [read_photo(examples / f"portrait-{i}.jpg").pixels for i in range(1, 7)]
    image = put(image, portraits[0], 1500, 2000, 2600)
    for i, portrait in enumerate(portraits):
        image = put(image, portrait, 3500 + 400 * i, 700 + 450 * i, 32)  # a face of about 13 px
    faces = find_faces(image, thorough=True)
    assert near(faces, 1500, 2050, 300)
    found = sum(near(faces, 3500 + 400 * i, 700 + 450 * i, 8) for i in range(6))
    assert found >= 5
    assert len(faces) <= 8


def test_every_face_on_the_wall_is_found_once(wall):
    faces = find_faces(wall)
    assert len(faces) == 17
    boxes = np.array([face.box_xyxy for face in faces])
    assert (iou(boxes, boxes) - np.eye(17)).max() < 0.1


def test_half_a_face_at_the_frame_is_found(portrait):
    image = canvas(900, 700)
    image[:512, :300] = portrait[:, 212:]
    assert near(find_faces(image), 44, 290, 90)


@pytest.mark.parametrize("detector", sorted(DETECTORS))
def test_every_detector_finds_a_portrait_and_its_points(portrait, detector):
    face = find_faces(portrait, detector)[0]
    right, left, nose, mouth_right, mouth_left = face.points
    assert right[0] < nose[0] < left[0]
    assert right[1] < nose[1] < mouth_right[1]
    assert mouth_right[0] < mouth_left[0]
    assert 0 < face.score <= 1 and face.detector == detector


@pytest.mark.parametrize("detector", ["yunet", "blazeface"])
@pytest.mark.parametrize("seed", range(3))
def test_no_face_is_seen_where_there_is_none(detector, seed):
    assert find_faces(canvas(1200, 900, seed), detector) == []


@pytest.mark.parametrize("size", [(1, 1), (1, 400), (7, 3), (33, 31)])
@pytest.mark.parametrize("detector", sorted(DETECTORS))
def test_tiny_pictures_do_no_harm(detector, size):
    assert find_faces(np.full((*size, 3), 99, np.uint8), detector) == []


def test_the_same_picture_gives_the_same_faces(wall):
    one, other = find_faces(wall), find_faces(wall)
    assert all(np.array_equal(a.box_xyxy, b.box_xyxy) for a, b in zip(one, other, strict=True))


@pytest.mark.parametrize(
    "bad", [np.zeros((4, 4), np.uint8), np.zeros((4, 4, 3)), np.zeros((4, 4, 4), np.uint8)]
)
def test_what_is_no_rgb_picture_is_refused(bad):
    with pytest.raises(UsageError, match="height × width × 3"):
        find_faces(bad)


def test_an_unknown_detector_is_refused_with_the_known_ones(portrait):
    with pytest.raises(UsageError, match="yunet, blazeface, centerface, haar"):
        find_faces(portrait, "magic")


def test_the_best_of_overlapping_boxes_is_kept():
    boxes = np.array([[0, 0, 10, 10], [1, 1, 11, 11], [50, 50, 60, 60.0]])
    assert best_of_each(boxes, np.array([0.5, 0.9, 0.1]), 0.4) == [1, 2]


def test_real_faces_are_found(shared_data):
    photos = sorted((shared_data / "lfw" / "images").rglob("*.jpg"))[::127]
    missed = [path.name for path in photos if not find_faces(read_photo(path).pixels)]
    assert len(photos) >= 30 and missed == []


@pytest.mark.parametrize("side", [60, 300, 900])
@pytest.mark.parametrize("degrees", [-40, 0, 40])
def test_boxes_alone_are_found_as_well(portrait, side, degrees):
    image = put(canvas(1400, 1000), portrait, 700, 500, side, degrees)
    (face,) = find_faces(image, mesh=False)
    assert near([face], 700, 500, side * 0.12)


def test_faces_that_are_known_already_are_left_out(wall):
    faces = find_faces(wall, "blazeface", mesh=False)
    rest = find_faces(wall, "blazeface", mesh=False, besides=[face.box_xyxy for face in faces[:2]])
    assert len(faces) > 2
    assert [tuple(face.box_xyxy) for face in rest] == [tuple(face.box_xyxy) for face in faces[2:]]


@pytest.mark.parametrize("scale", [2.0, 0.9, 0.4, 0.11])
@pytest.mark.parametrize("degrees", [0, 30])
def test_close_ups_from_halves_show_the_same_place(portrait, scale, degrees):
    centre = np.array([240.0, 270.0])
    direct, shared = (
        close_up(portrait, centre, scale, degrees, 64),
        Sizes(portrait).close_up(centre, scale, degrees, 64),
    )
    assert np.allclose(direct.to_view, shared.to_view)
    assert np.abs(direct.pixels.astype(float) - shared.pixels).mean() < 4


@pytest.fixture
def loaded(monkeypatch):
    """What detectors were asked to load, as if nothing had been before."""
    asked = []
    monkeypatch.setattr(detect, "_begun", set())
    monkeypatch.setattr(detect, "_load", lambda name, mesh, nothing: asked.append((name, nothing.shape[:2])))
    return asked


def test_each_detector_is_loaded_once_and_for_the_shape_of_the_photo(loaded):
    photo = np.zeros((400, 600, 3), np.uint8)
    begun = detect.prepare_ahead("yunet", mesh=False)
    begun += detect.prepare(photo, "yunet", "blazeface", mesh=False)
    begun += detect.prepare(photo, "yunet", "blazeface", mesh=False)
    for thread in begun:
        thread.join()
    assert sorted(loaded) == [("blazeface", (22, 32)), ("yunet", (32, 32))]


@pytest.mark.parametrize("detector", ["blazeface", "haar", "none"])
def test_what_depends_on_the_photo_is_not_loaded_ahead(loaded, detector):
    assert detect.prepare_ahead(detector) == []


def test_nothing_is_fetched_ahead(loaded, monkeypatch, tmp_path):
    monkeypatch.setenv("FACEVEIL_HOME", str(tmp_path))
    assert detect.prepare_ahead("yunet") == [] and not any(tmp_path.iterdir())
