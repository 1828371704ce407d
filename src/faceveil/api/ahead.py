"""What a run would wait for is loaded ahead, alike for the command line and for Python.

Networks of the detectors prepare themselves while the rest is imported, those of the method while the first photos
are read and searched; weights are fetched once, before there are workers.
"""

from collections.abc import Callable
from threading import Thread
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from faceveil.methods import Method
    from faceveil.pipeline import Settings


def load_detectors(method: "Method", detector: str, engine: str, workers: int | None) -> None:
    """Begin with the detectors, where threads of this program will use them."""
    from faceveil.faces.detect import prepare_ahead
    from faceveil.models.runtime import allow_threads, threads_wanted

    if count := threads_wanted(engine, workers):
        allow_threads(count)
        prepare_ahead(detector, mesh=getattr(method, "needs_mesh", True))


def load_method(
    settings: "Settings",
    engine: str,
    workers: int | None,
    downloading: Callable[[str, int, int], None] | None = None,
) -> None:
    """Fetch and check the weights, and begin with what the method's first face would wait for."""
    from faceveil.models import Store
    from faceveil.models.runtime import threads_wanted

    store = Store()
    store.pull([card for card in settings.cards if not store.has(card)], downloading)
    for card in settings.cards:
        store.path(card)
    load = getattr(settings.method, "load", None)
    if load is not None and threads_wanted(engine, workers):
        Thread(target=load, daemon=True).start()
