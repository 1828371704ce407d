"""What a command does before it asks for gradients."""


def ready_to_refine(steps: int | None) -> None:
    """Say how to install torch where it is wanted and missing, and keep what it frees."""
    if steps:
        import faceveil.models.torch  # noqa: F401  (the one that says how)
        from faceveil.models.memory import keep_freed_memory

        keep_freed_memory()
