"""One HTML page from one results object."""

from faceveil.report.page import Picture, page

__all__ = ["Picture", "page"]
