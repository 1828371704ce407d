"""Pixels ↔ faces: detect, landmarks and mesh, alignment, regions, paste."""

from faceveil.faces.align import Alignment, align_arcface, align_ffhq
from faceveil.faces.blendshapes import Blendshapes, blendshapes
from faceveil.faces.detect import DETECTORS, find_faces
from faceveil.faces.face import Face
from faceveil.faces.face_set import FaceSet
from faceveil.faces.mesh import Pose, pose, with_mesh
from faceveil.faces.paste import blended, paste
from faceveil.faces.regions import REGIONS, Region, region

__all__ = [
    "DETECTORS",
    "REGIONS",
    "Alignment",
    "Blendshapes",
    "Face",
    "FaceSet",
    "Pose",
    "Region",
    "align_arcface",
    "align_ffhq",
    "blended",
    "blendshapes",
    "find_faces",
    "paste",
    "pose",
    "region",
    "with_mesh",
]
