"""Process settings of workers, which have no terminal and share their machine."""

import os


def settle(threads: int) -> None:
    """Keep libraries' progress bars out of the log, and limit torch, which must not be loaded yet, to
    `threads` CPU threads.
    """
    os.environ["OMP_NUM_THREADS"] = os.environ["MKL_NUM_THREADS"] = str(threads)
    import transformers

    transformers.utils.logging.disable_progress_bar()
