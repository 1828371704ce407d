"""StyleID: hide the identity and keep the rest (Le and Carlsson, PoPETs 2023)."""

from faceveil.methods.styleid.method import STYLEID

__all__ = ["STYLEID"]
