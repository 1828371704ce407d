"""YuNet: the first detector. It proposes at a low threshold and confirms each proposal by a close look.

A single pass of the network overlooks small and tilted faces, and a low threshold floods the photo with false
boxes. So every weak proposal is looked at again, enlarged to the size the network knows best and turned three
ways; what then scores high is a face. Measured on scenes with known answers (docs/benchmarks/filters.md) this
finds more than a pass at double size and has fewer false boxes, at a third of the cost.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from faceveil.faces.boxes import best_of_each, part_of_any
from faceveil.faces.face import Face, Floats, Image
from faceveil.faces.mesh import with_mesh
from faceveil.faces.views import Sizes, View, close_up, tiles
from faceveil.models.runtime import Network, once
from faceveil.models.yunet import STRIDES, yunet

Cut = Callable[[Image, float], Iterator[View]]  # a photo at a scale into tiles
Proposals = tuple[Floats, Floats]  # boxes and scores
CloseUp = Callable[..., View]  # centre, scale, degrees, size; whether mirrored
ENLARGE = 1.5  # first pass of a thorough scan: brings 12-px faces well into the network's range
LEVEL = 5  # each further pass is smaller by this factor
SMALLEST_PASS = 320  # px; a face that fills the frame is then well inside the network's range
PROPOSE = {False: 0.12, True: 0.05}  # lower in a thorough scan: four times as many close looks
HINT, CONFIRM = 0.06, 0.85
HINT_OF_BOX = 0.15  # among boxes alone: a quarter fewer turned looks for patterns, and no face fewer
TINY, CONFIRM_TINY = 18, 0.875  # px; among boxes alone, patterns of this size pass for faces more often
TURNS = (-30.0, 30.0)  # degrees; upright looks come first, and within ±15 of each the network is at its best
QUARTERS = (90.0, 180.0, 270.0)  # degrees
AT_FRAME = 0.1  # of a box's width: what is nearer to the frame may be cut by it
WEAK, SURE = 0.5, 0.85  # scores of the network and of the mesh network that together make a face
LOOK, FACE_IN_LOOK = 128, 56  # px: side of a close-up, and how wide the proposed face is in it
TOGETHER = 4  # close-ups in one call
GLANCE = 112  # px: a photo's longer side when it is seen whole, with black around that helps at the edges
TILE, OVERLAP, GRID = 1600, 128, 64  # px
QUICK_TILE, QUICK_GRID = 2048, 32  # px, in eight bits: fewer cuts, less black around a photo
GATE = -0.5  # logit: from there on a face is taken for possible
REACH = 48  # px: how far from the middle of a window, which is as large as a look, such places may be
FAINT, FAINT_WIDTHS = (
    0.08,
    (14, 40),
)  # what boxes of these widths (px) must score in windows: small tilted faces
SMALL, LARGE = 48, 86  # px: the widest that windows are for, and the widest that fits in
MOST = 0.6  # of the photo in windows: from there on the whole is seen at full size
RANGE = 320  # px: wider boxes of a pass show parts of large faces more often than faces
SEEN_AT_HALF = 250  # px: what is smaller a glance need not propose
PLAIN, MIDDLE = (
    0.3,
    24,
)  # what large boxes must score in windows, and how far from the middle they may be (px)
SETTLED = 0.5  # what scores this at half size needs no window


def find(image: Image, thorough: bool = False) -> list[Face]:
    """Faces from 12 px to the whole frame, upright or tilted up to 45°, best first.

    A thorough scan starts from the enlarged photo and looks at weaker proposals: it takes three times as long and
    finds more faces under 24 px.
    """
    scale = ENLARGE if thorough else 1.0
    cut = partial(tiles, longest=TILE, overlap=OVERLAP, grid=GRID)
    found = _proposals(image, _proposer(), scale, PROPOSE[thorough], cut, SMALLEST_PASS)
    return _confirmed_once(image, partial(close_up, image), found, HINT)


def find_boxes(image: Image, thorough: bool = False) -> list[Face]:
    """The same faces in half the time, where a box is enough: proposed in eight bits, looked at from halves.

    What fills the frame is seen at a glance: passes cover faces of up to 300 px, the glance those from a tenth of the
    frame on.
    Boxes differ from those of `find` by a hundredth of their width or two, and so do points.
    """
    sizes, threshold = Sizes(image), PROPOSE[thorough]
    if thorough:
        found = _proposals(image, _quick_proposer(), ENLARGE, threshold, _quick_cut, QUICK_TILE)
        found.append(_proposed(_glance(sizes, image), _looker(1), threshold))
    else:
        found = _gated_proposals(image, sizes, threshold)
    faces = _confirmed_once(image, sizes.close_up, found, HINT_OF_BOX)
    return [face for face in faces if face.size_wh[0] >= TINY or face.score >= CONFIRM_TINY]


def load_for_boxes() -> None:
    """The network that `find_boxes` wants only where there is something to see."""
    _looker(TOGETHER)


def _quick_cut(image: Image, scale: float) -> Iterator[View]:
    return tiles(image, scale, longest=QUICK_TILE, overlap=OVERLAP, grid=QUICK_GRID)


def _confirmed_once(image: Image, close_up: CloseUp, found: Sequence[Proposals], hint: float) -> list[Face]:
    """A close look at what was proposed, at each face once; best first."""
    boxes, scores = (np.concatenate(part) for part in zip(*found, strict=True))
    faces = _confirmed(image, close_up, boxes[best_of_each(boxes, scores, 0.4)], hint)
    seen = np.array([face.box_xyxy for face in faces]).reshape(-1, 4)
    return [faces[i] for i in best_of_each(seen, np.array([face.score for face in faces]), 0.4)]


def _proposals(
    image: Image, proposer: Network, scale: float, threshold: float, cut: Cut, smallest: int
) -> list[Proposals]:
    """Boxes and scores of passes over the photo, each smaller, until its longer side is at most `smallest`."""
    found: list[Proposals] = []
    while True:
        found += [_proposed(view, proposer, threshold) for view in cut(image, scale)]
        if max(image.shape[:2]) * scale <= smallest:
            return found
        scale /= LEVEL


def _gated_proposals(image: Image, sizes: Sizes, threshold: float) -> list[Proposals]:
    """Proposals at half size, and at full size from around the places where the gate takes faces for possible."""
    found, places = [], []
    for view in _quick_cut(sizes.half, 1.0):
        *levels, gate = _quick_proposer()(view.pixels[None])
        boxes, scores = _of_width(_in_photo(view, cells_of(levels, threshold), 2), 0, 2 * RANGE)
        found.append((boxes, scores))
        places.append(_places(view, gate[0, 0], boxes[scores > SETTLED]))
    if max(image.shape) > QUICK_TILE:
        found += _proposals(image, _quick_proposer(), 0.5 / LEVEL, threshold, _quick_cut, QUICK_TILE)
    windows = _windows(image, np.concatenate(places))
    if len(windows) * LOOK**2 > MOST * image.shape[0] * image.shape[1]:
        found += [_proposed(view, _quick_proposer(), threshold) for view in _quick_cut(image, 1.0)]
        windows = []
    return found + _in_windows(windows, _glance(sizes, image), threshold)


def _of_width(proposals: Proposals, least: float, most: float) -> Proposals:
    boxes, scores = proposals
    width = boxes[:, 2] - boxes[:, 0]
    fitting = (width >= least) & (width <= most)
    return boxes[fitting], scores[fitting]


def _places(view: View, gate: Floats, settled: Floats) -> Floats:
    """Places in the photo that the gate lets pass and that no settled face explains, best first (N×2)."""
    row, column = np.nonzero(gate > GATE)
    best = np.argsort(-gate[row, column], kind="stable")
    cells = np.stack([column, row], axis=1)[best].astype(np.float64)
    places = 2 * view.to_photo((cells + 0.5) * STRIDES[0])
    centres, sizes = (settled[:, :2] + settled[:, 2:]) / 2, settled[:, 2:] - settled[:, :2]
    inside = np.abs(places[:, None] - centres) < sizes / 2 + STRIDES[0]
    return np.asarray(places[~np.any(np.all(inside, axis=2), axis=1)])


def _windows(image: Image, places: Floats) -> list[View]:
    """Squares of the photo around places, the first of them first, until each place is near the middle of one."""
    views = []
    while len(places):
        centre = places[0]
        places = places[np.abs(places - centre).max(axis=1) > REACH]
        y, x = (
            max(0, min(round(c - LOOK / 2), side - LOOK))
            for c, side in zip(centre[::-1], image.shape, strict=False)
        )
        part = image[y : y + LOOK, x : x + LOOK]
        pixels = np.zeros((LOOK, LOOK, 3), np.uint8)
        pixels[: part.shape[0], : part.shape[1]] = part
        views.append(View(pixels, np.array([[1.0, 0, -x], [0, 1.0, -y]])))
    return views


def _in_windows(windows: Sequence[View], glance: View, threshold: float) -> list[Proposals]:
    """What windows propose, and what the glance does, all seen together."""
    views = [*windows, glance]
    cells = cells_of(_looked_at([view.pixels for view in views]), FAINT)
    boxes, scores = cells.boxes, cells.scores
    width = boxes[:, 2] - boxes[:, 0]
    off = np.abs((boxes[:, :2] + boxes[:, 2:]) / 2 - LOOK / 2).max(axis=1)
    faint = (width > FAINT_WIDTHS[0]) & (width < FAINT_WIDTHS[1])
    small = (width <= SMALL) & (off < REACH + STRIDES[0]) & (faint | (scores > threshold))
    # What fills a window is mostly no face; the few that half a size does not show are plain and in the middle.
    large = (width <= LARGE) & (off < MIDDLE) & (scores > PLAIN)
    at_glance = cells.picture == len(windows)
    near, far = (small | large) & ~at_glance, at_glance & (scores > threshold)
    corners = np.array([view.to_view[:, 2] for view in views])[cells.picture]
    whole = glance.to_photo(boxes[far].reshape(-1, 2, 2)).reshape(-1, 4), scores[far]
    return [
        ((boxes - np.tile(corners, 2))[near], scores[near]),
        _of_width(whole, SEEN_AT_HALF, np.inf),
    ]


def _glance(sizes: Sizes, image: Image) -> View:
    """The whole photo made small, where a face may fill the frame."""
    height, width = image.shape[:2]
    return sizes.close_up(np.array([width, height]) / 2, GLANCE / max(height, width), 0.0, LOOK)


def _proposed(view: View, network: Network, threshold: float) -> Proposals:
    return _in_photo(view, cells_of(network(view.pixels[None])[: len(STRIDES)], threshold))


def _in_photo(view: View, cells: "Cells", zoom: float = 1) -> Proposals:
    return zoom * view.to_photo(cells.boxes.reshape(-1, 2, 2)).reshape(-1, 4), cells.scores


def _confirmed(image: Image, close_up: CloseUp, boxes: Floats, hint: float) -> list[Face]:
    """Look closely at each box; other looks only where the upright one gives a hint but does not settle it."""
    best = _faces_in_looks([_look(close_up, box, 0.0) for box in boxes], hint)
    open_ = [i for i in sorted(best) if best[i].score < CONFIRM]
    turned = _faces_in_looks([_look(close_up, boxes[i], degrees) for degrees in TURNS for i in open_], hint)
    for n in sorted(turned):
        i = open_[n % len(open_)]
        if best[i].score < min(
            CONFIRM, turned[n].score
        ):  # the second turn only where the first settled nothing
            best[i] = turned[n]
    best |= _better_on_their_side(close_up, boxes, {i: best[i] for i in open_}, hint)
    sure = [face.box_xyxy for face in best.values() if face.score >= CONFIRM]
    open_ = [
        i for i in open_ if best[i].score < CONFIRM and not part_of_any(boxes[i], sure)
    ]  # no parts of faces
    settled = _settled_otherwise(image, close_up, {i: boxes[i] for i in open_}, hint)
    settled |= _settled_by_mesh(image, {i: best[i] for i in open_ if i not in settled})
    best |= settled
    return [best[i] for i in sorted(best) if best[i].score >= CONFIRM or i in settled]


def _better_on_their_side(
    close_up: CloseUp, boxes: Floats, faces: dict[int, Face], hint: float
) -> dict[int, Face]:
    """Of faces that tilted looks settled those that a quarter turn shows better: their box is another."""
    views = [
        (i, _look(close_up, boxes[i], degrees))
        for i in faces
        if faces[i].score >= CONFIRM
        for degrees in QUARTERS
    ]
    seen = _faces_in_looks([view for _, view in views], hint)
    weakest_first = sorted(seen, key=lambda n: seen[n].score)
    return {views[n][0]: seen[n] for n in weakest_first if seen[n].score > faces[views[n][0]].score}


def _settled_otherwise(
    image: Image, close_up: CloseUp, boxes: dict[int, Floats], hint: float
) -> dict[int, Face]:
    """Faces on their side or head, in negative, or cut by the frame, where mirroring completes them."""
    views = [(i, _look(close_up, box, degrees)) for i, box in boxes.items() for degrees in QUARTERS]
    upright = [(i, _look(close_up, box, 0.0)) for i, box in boxes.items()]
    views += [(i, View(255 - view.pixels, view.to_view)) for i, view in upright]
    mirrored = partial(close_up, mirrored=True)
    views += [
        (i, _look(mirrored, box, degrees))
        for i, box in boxes.items()
        if _at_frame(box, image)
        for degrees in (0.0, *TURNS)
    ]
    seen = _faces_in_looks([view for _, view in views], hint)
    weakest_first = sorted(seen, key=lambda n: seen[n].score)
    return {views[n][0]: seen[n] for n in weakest_first if seen[n].score >= CONFIRM}


def _at_frame(box: Floats, image: Image) -> bool:
    near = AT_FRAME * (box[2] - box[0])
    return bool((box[:2] < near).any() or (box[2:] > np.array(image.shape[1::-1]) - near).any())


def _settled_by_mesh(image: Image, faces: dict[int, Face]) -> dict[int, Face]:
    """Faces that neither network is sure enough of by itself, as bleached ones are."""
    weak = {i: with_mesh(image, [face])[0] for i, face in faces.items() if face.score >= WEAK}
    return {i: faces[i] for i, face in weak.items() if (face.presence or 0) >= SURE}


def _look(close_up: CloseUp, box: Floats, degrees: float) -> View:
    width, height = box[2:] - box[:2]
    return close_up((box[:2] + box[2:]) / 2, FACE_IN_LOOK / max(width, 0.8 * height), degrees, LOOK)


def _faces_in_looks(views: Sequence[View], hint: float) -> dict[int, Face]:
    """In each view the best of what stands where the proposal was, about as large, in the photo's coordinates."""
    if not views:
        return {}
    cells = cells_of(_looked_at([view.pixels for view in views]), hint)
    boxes = cells.boxes
    centres, sizes = (boxes[:, :2] + boxes[:, 2:]) / 2, boxes[:, 2:] - boxes[:, :2]
    widths = np.maximum(sizes[:, 0], 0.8 * sizes[:, 1])
    central = np.abs(centres - LOOK / 2).max(axis=1) < 0.35 * FACE_IN_LOOK
    alike = (widths > 0.6 * FACE_IN_LOOK) & (widths < 1.7 * FACE_IN_LOOK)
    fitting = np.flatnonzero(central & alike)
    order = fitting[np.argsort(-cells.scores[fitting], kind="stable")]
    shown, first = np.unique(cells.picture[order], return_index=True)
    return {
        int(n): _face(views[n], centres[j], sizes[j], cells.points(j), float(cells.scores[j]))
        for n, j in zip(shown, order[first], strict=True)
    }


def _looked_at(pictures: list[Image]) -> list[Floats]:
    """The network's three levels for all pictures, asked for four at a time: a call alone costs as much as a look."""
    count = len(pictures)
    if count % TOGETHER == TOGETHER - 1:
        pictures = [*pictures, np.zeros_like(pictures[0])]
    whole = len(pictures) - len(pictures) % TOGETHER
    answers = _looker(TOGETHER).each(
        [np.stack(pictures[i : i + TOGETHER]) for i in range(0, whole, TOGETHER)]
    ) + _looker(1).each([picture[None] for picture in pictures[whole:]])
    return [np.concatenate(level)[:count] for level in zip(*answers, strict=True)]


def _face(view: View, centre: Floats, size: Floats, points: Floats, score: float) -> Face:
    across, along = np.abs(view.to_view[0, :2])
    centre, half = view.to_photo(centre), (size if across > along else size[::-1]) / 2 / view.zoom
    return Face(np.concatenate([centre - half, centre + half]), view.to_photo(points), score, "yunet")


@dataclass(frozen=True, eq=False)
class Cells:
    """What the network says of those of its cells that score high, in the pixels of the picture it saw."""

    picture: NDArray[np.intp]  # which one of several
    scores: Floats
    numbers: Floats  # centre (from the cell's corner, in cells), logarithm of the size, then points
    grid: Floats  # column, row, stride

    @property
    def boxes(self) -> Floats:
        stride = self.grid[:, 2:]
        centre = (self.grid[:, :2] + self.numbers[:, :2]) * stride
        half = np.exp(self.numbers[:, 2:4]) * stride / 2
        return np.hstack([centre - half, centre + half])

    def points(self, cell: int) -> Floats:
        """The five points, from a network that has them."""
        corner, stride = self.grid[cell, :2], self.grid[cell, 2]
        return np.asarray((corner + self.numbers[cell, 4:].reshape(5, 2)) * stride)


def cells_of(levels: Sequence[Floats], threshold: float) -> Cells:
    """The cells that score more than the threshold, level by level."""
    least = np.log(threshold**2 / (1 - threshold**2))  # of both logits: neither can make up for the other
    picture, numbers, grid = [], [], []
    for stride, level in zip(STRIDES, levels, strict=True):
        n, row, column = np.nonzero(np.minimum(level[:, 0], level[:, 1]) > least)
        picture.append(n)
        numbers.append(level[n, :, row, column])
        grid.append(np.stack([column, row, np.full(len(n), stride)], axis=1))
    said = np.concatenate(numbers)
    scores = 1 / np.sqrt(np.prod(1 + np.exp(-said[:, :2]), axis=1))
    strong = scores > threshold
    return Cells(
        np.concatenate(picture)[strong],
        scores[strong],
        said[strong, 2:],
        np.concatenate(grid)[strong].astype(np.float64),
    )


@once
def _proposer() -> Network:
    return yunet(("cls", "obj", "bbox"))


@once
def _quick_proposer() -> Network:
    """The same in eight bits and with the gate; a close look in full precision decides what is a face."""
    return yunet(("cls", "obj", "bbox"), eight_bits=True, gate=True)


@once
def _looker(count: int) -> Network:
    return yunet(("cls", "obj", "bbox", "kps"), count=count, side=LOOK)
