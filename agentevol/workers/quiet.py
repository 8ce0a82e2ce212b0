"""What libraries say to terminals, in processes that have none."""


def quiet() -> None:
    """Keep libraries' progress bars out of the workers' logs."""
    import transformers

    transformers.utils.logging.disable_progress_bar()
