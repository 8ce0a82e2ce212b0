"""Learning speed: the learner against TRL's SFTTrainer and DPOTrainer, and a padded transformers loop.

    python -m agentevol.cli.benchmarks.learn --lanes sft dpo --steps 8 --runs 3

`lanes` are the comparisons: algorithm, model and device; `sequences` makes the data; `sides` train on it,
each in a separate process; `flops` counts the operations of a model; `main` runs them and prints. TRL takes
part where the interpreter has it (`pip install trl==1.16.0`); it is not one of this project's dependencies.

On every side a step trains on the same sequences with the same optimiser, and the losses of the first steps
are compared: a side with another training is an error.

    learner   packed without padding, head and loss on trained tokens only
    padded    transformers' own forward pass with labels, the sequences of a step padded to the longest (sft)
    trl       SFTTrainer or DPOTrainer with their own collators, in passes of about as many tokens as the
              learner's (more with --trl-sequences); its reference is a second model, read in every step,
              which is its default: the learner reads the reference once before the first step

Sides alternate, so that a machine shared with others slows all of them alike, and ratios are taken within a
run; with one thread, CPU time is more reliable than wall time beside other work. Tokens are those of the
training sequences, each sequence of a pair with its prompt: padding and the reference model's pass do not
count. The learner's time includes loading and saving, the others' does not.
"""

from agentevol.cli.benchmarks.learn.main import main, script

__all__ = ["main", "script"]
