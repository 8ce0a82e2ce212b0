"""Process settings of workers, which have no terminal and share their machine."""

import os
import sys


def settle(threads: int) -> None:
    """Keep libraries' progress bars out of the log, and limit torch to `threads` CPU threads."""
    os.environ["OMP_NUM_THREADS"] = os.environ["MKL_NUM_THREADS"] = str(threads)
    if "torch" in sys.modules:  # it has read the variables already, as in a forked process
        sys.modules["torch"].set_num_threads(threads)
    import transformers

    transformers.utils.logging.disable_progress_bar()
