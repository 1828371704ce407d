"""What all tests share: the example photos (people who do not exist) and where other data may be."""

import ctypes
import gc
import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from faceveil.photos import read_photo

ROOT = Path(__file__).parent.parent
EXAMPLES = ROOT / "examples" / "photos"
LARGE = 3 << 30  # bytes


@pytest.fixture(scope="session", autouse=True)
def _state_of_its_own(tmp_path_factory: pytest.TempPathFactory) -> None:
    """What runs that are cut off remember stays among the tests' files."""
    os.environ["XDG_STATE_HOME"] = str(tmp_path_factory.mktemp("state"))


@pytest.fixture(scope="module", autouse=True)
def _memory_for_the_next_file() -> Iterator[None]:
    """Networks that a file of tests has built go when the process has grown large: two of them share a machine."""
    yield
    status = Path("/proc/self/statm")
    if status.exists() and int(status.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") > LARGE:
        from faceveil.models.runtime import forget

        forget()
        gc.collect()
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            trim(0)


@pytest.fixture(scope="session")
def examples() -> Path:
    """The folder of example photos."""
    return EXAMPLES


@pytest.fixture(scope="session")
def portrait() -> np.ndarray:
    """A frontal face, 512 × 512."""
    return read_photo(EXAMPLES / "portrait-1.jpg").pixels


@pytest.fixture(scope="session")
def wall() -> np.ndarray:
    """Seventeen faces from 14 to 250 px, tilted up to 42°."""
    return read_photo(EXAMPLES / "wall.jpg").pixels


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Real faces that are not part of the project; tests that need them are skipped where they are absent."""
    folder = Path(os.environ.get("FACEVEIL_DATA", ROOT.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip("needs the face data beside the project or at FACEVEIL_DATA")
    return folder


@pytest.fixture(scope="session")
def made_up_people():
    """Twelve people who do not exist, as a FaceSet; persons 0 and 1 have a second photo."""
    from faceveil.faces.crops import face_set
    from faceveil.models.generator import Generator

    generator = Generator()
    codes = generator.mapping(generator.sample_z(12, np.random.default_rng(11)))
    first = generator.truncate(codes, 0.8)
    crops = generator.render(np.concatenate([first, generator.truncate(codes[:2], 0.65)]), 256)
    return face_set(crops, np.array([*range(12), 0, 1]))


@pytest.fixture(scope="session")
def real_people(shared_data):
    """Forty people of LFW as a FaceSet, one photo each."""
    from faceveil.faces import align_ffhq, find_faces
    from faceveil.faces.crops import face_set

    crops = []
    for person in sorted((shared_data / "lfw" / "images").iterdir())[:44]:
        image = read_photo(sorted(person.iterdir())[0]).pixels
        faces = find_faces(image)
        if faces and len(crops) < 40:
            crops.append(align_ffhq(faces[0], 256).crop(image))
    return face_set(np.array(crops))
