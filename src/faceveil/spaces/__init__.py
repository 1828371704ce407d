"""Faces ↔ vectors. A space encodes a FaceSet to an array; a synthesis space decodes it to crops again."""
