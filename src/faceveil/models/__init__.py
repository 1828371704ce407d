"""Networks and their weights.

`weights("yunet.2023mar")` is the path of a card's file, downloaded once and checked on each load.
"""

from faceveil.models.cards import Card, card, cards
from faceveil.models.store import Store, weights

__all__ = ["Card", "Store", "card", "cards", "weights"]
