"""What a process that has no terminal, and shares its machine with others, sets before it begins."""

import os


def settle(threads: int) -> None:
    """Keep libraries' progress bars out of the log, and torch, which must not be loaded yet, to so many CPU
    threads.
    """
    os.environ["OMP_NUM_THREADS"] = os.environ["MKL_NUM_THREADS"] = str(threads)
    import transformers

    transformers.utils.logging.disable_progress_bar()
