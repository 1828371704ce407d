"""StyleID: hide the identity and keep the rest (Le and Carlsson, PoPETs 2023)."""
