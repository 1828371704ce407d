"""The front door: what `import faceveil` offers, one thin function for each command of the command line.

Nothing is imported here; `faceveil/__init__.py` says where each name is.
"""
