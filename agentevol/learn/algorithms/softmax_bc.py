"""Softmax-weighted behaviour cloning: a group's weight is divided among its episodes by a softmax of their
returns.
"""

from agentevol.learn.algorithms.contract import Algorithm
from agentevol.learn.algorithms.sft import sft
from agentevol.learn.algorithms.weights import softmax

ALGORITHM = Algorithm(loss=sft, data="episodes", weigh=softmax)
