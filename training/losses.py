"""What the encoder is trained for: the right styles, the right pixels, the same look, the same person."""

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from faceveil.models import mobilestylegan as arrays
from faceveil.models.generator import synthesis
from faceveil.models.torch.encoder import arcface_crop
from faceveil.models.torch.lpips import Lpips
from faceveil.models.torch.mobilenet import face_recognizer
from faceveil.models.torch.mobilestylegan import Synthesis, cut
from faceveil.models.windows import CELLS, Window
from faceveil.models.wspace import w_space

WEIGHTS = {"pixels": 1.0, "lpips": 1.5, "identity": 1.0, "detail": 3.0}
WINDOW = 32  # cells of 1/64: half the side


class StyleLoss(nn.Module):
    """Squared error of the styles that W+ becomes, relative to each slot's variance: 1 is the mean face's."""

    grams: Tensor

    def __init__(self) -> None:
        super().__init__()
        space = w_space()
        covariance = (space.axes.T * space.spread**2) @ space.axes
        grams = [style.weight.T @ style.weight for style in styles(synthesis())]
        self.register_buffer(
            "grams",
            torch.from_numpy(np.stack([g / np.trace(g @ covariance) for g in grams]).astype(np.float32)),
        )

    def forward(self, wplus: Tensor, truth: Tensor) -> Tensor:
        error = (wplus - truth).transpose(0, 1)  # slots × N × 512
        return (torch.bmm(error, self.grams) * error).sum(2).mean()


def styles(network: arrays.Synthesis) -> list[arrays.Style]:
    """The 23 affine maps in the order of their slots."""
    found = [network.first.style, network.output.style]
    for block in network.blocks:
        found += [block.up, *(c.style for c in block.convolutions)]
    return sorted(found, key=lambda style: style.slot)


class ImageLoss(nn.Module):
    """Pixels, LPIPS and identity of a render through an early exit against the photo at that size."""

    weight: Tensor

    def __init__(self, size: int = 64) -> None:
        super().__init__()
        self.size = size
        self.generator = Synthesis(synthesis(size))
        self.lpips = Lpips("alexnet")
        self.register_buffer("weight", face_weight(size))

    def forward(self, wplus: Tensor, photos: Tensor, masks: Tensor) -> dict[str, Tensor]:
        """Photos in [-1, 1] and masks in [0, 1], both at `size`; the mean of each loss."""
        return self.compare(self.generator(wplus), photos, masks)

    def compare(self, renders: Tensor, photos: Tensor, masks: Tensor) -> dict[str, Tensor]:
        renders = masks * renders + (1 - masks) * photos  # what is beyond the photo's border costs nothing
        pixels = (self.weight * (renders - photos).square()).mean()
        wide, wide_photos = _enlarge(renders, 128), _enlarge(photos, 128)
        with torch.no_grad():
            looks, who = self.lpips.taps(wide_photos), face_recognizer()(arcface_crop((photos + 1) / 2))
        lpips = self.lpips.distance(self.lpips.taps(wide), looks).mean()
        identity = 1 - (face_recognizer()(arcface_crop((renders + 1) / 2)) * who).sum(1).mean()
        return {"pixels": pixels, "lpips": lpips, "identity": identity}


class DetailLoss(nn.Module):
    """LPIPS at 256 px, which early exits below do not show, in one window of the picture at a time."""

    size = 256

    def __init__(self) -> None:
        super().__init__()
        self.generator = Synthesis(synthesis(self.size))
        self.lpips = Lpips("alexnet")

    def forward(self, wplus: Tensor, photos: Tensor, masks: Tensor, window: Window) -> Tensor:
        """Photos in [-1, 1] and masks in [0, 1], both at 256 px."""
        photos, masks = (cut(images, window.part(images.shape[-1])) for images in (photos, masks))
        renders = masks * self.generator(wplus, window) + (1 - masks) * photos
        return self.lpips(renders, photos).mean()


def any_window(rng: np.random.Generator) -> Window:
    """A quarter of the picture, anywhere in it."""
    top, left = rng.integers(0, CELLS - WINDOW + 1, 2)
    return Window(int(top), int(left), WINDOW)


def face_weight(size: int) -> Tensor:
    """1 in the face's ellipse, 0.3 around it, so that the background does not lead."""
    line = (torch.arange(size) + 0.5) / size
    y, x = torch.meshgrid(line, line, indexing="ij")
    inside = ((x - 0.5) / 0.33).square() + ((y - 0.54) / 0.42).square() < 1
    return torch.where(inside, 1.0, 0.3)[None, None]


def _enlarge(images: Tensor, size: int) -> Tensor:
    if images.shape[-1] >= size:
        return images
    return F.interpolate(images, size=(size, size), mode="bilinear", align_corners=False)
