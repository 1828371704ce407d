"""Files ↔ pixels: read within limits, write atomically without metadata, scan for what is left."""

from faceveil.photos.files import open_regular
from faceveil.photos.find import Found, FoundPhoto, SkippedFile, find_photos
from faceveil.photos.leak import Leak
from faceveil.photos.leaks import scan_leaks
from faceveil.photos.metadata import KEEPABLE
from faceveil.photos.names import name_bytes, shown, shown_in_json
from faceveil.photos.photo import FORMATS, Encoding, JpegTables, Photo
from faceveil.photos.read import MAX_PIXELS, decode_photo, read_photo
from faceveil.photos.write import encode_photo, format_for, remove_leftovers, write_bytes, write_photo

__all__ = [
    "FORMATS",
    "KEEPABLE",
    "MAX_PIXELS",
    "Encoding",
    "Found",
    "FoundPhoto",
    "JpegTables",
    "Leak",
    "Photo",
    "SkippedFile",
    "decode_photo",
    "encode_photo",
    "find_photos",
    "format_for",
    "name_bytes",
    "open_regular",
    "read_photo",
    "remove_leftovers",
    "scan_leaks",
    "shown",
    "shown_in_json",
    "write_bytes",
    "write_photo",
]
