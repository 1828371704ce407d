"""What a result may claim, and the checks that it holds."""

from faceveil.privacy.guarantee import Guarantee

__all__ = ["Guarantee"]
