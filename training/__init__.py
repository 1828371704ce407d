"""What faceveil trains itself, and how: README.md. Run as `python -m training.encoder …` from the project."""
