"""Judge by sampled digits, for a model behind an endpoint, which hides the probabilities of its tokens.

The mean of n sampled digits estimates the expected one (arXiv:2303.16634, section 3).
"""

import re
from hashlib import sha256
from statistics import fmean

from agentevol.core.judges import JudgedEpisode, Verdict
from agentevol.core.protocols import ContextFull, Conversation, Policy, Sampling
from agentevol.data.self_evaluation.digits import scaled
from agentevol.data.self_evaluation.rubric import HIGHEST, LOWEST, VERSION, messages

SAMPLING = Sampling(temperature=1.0, max_new_tokens=8)
_DIGIT = re.compile(rf"(?<![0-9])[{LOWEST}-{HIGHEST}](?![0-9])")


class SampledDigits:
    """Judge of episodes by `samples` answers of a policy; answers without a digit do not count."""

    scale = (0.0, 1.0)
    stochastic = True

    def __init__(self, policy: Policy, samples: int, *, shows_end: bool, seed: int) -> None:
        self._policy, self._samples = policy, samples
        self._shows_end, self._seed = shows_end, seed
        self.version = sampled_version(samples)

    async def judge(self, episode: JudgedEpisode) -> Verdict:
        """Ask `samples` times. Raises `PolicyFault` where there is no answer."""
        asked = messages(episode, shows_end=self._shows_end)
        digits = list[int]()
        for number in range(self._samples):
            conversation = Conversation(f"{episode.task_id}/{number}", list(asked))
            try:
                said = await self._policy.act(conversation, seed=self._seed + number)
            except ContextFull:
                return Verdict(None, "the transcript is longer than the model's context")
            finally:
                self._policy.release(conversation.id)
            if digit := _DIGIT.search(said.text):
                digits.append(int(digit.group()))
        if not digits:
            return Verdict(None, f"no digit from {LOWEST} to {HIGHEST} in {self._samples} answers")
        return Verdict(scaled(fmean(digits)))

    async def close(self) -> None:
        """Close the policy's connections, if it has any."""
        close = getattr(self._policy, "close", None)
        if close is not None:
            await close()


def sampled_version(samples: int) -> str:
    """Version of scores by this number of samples."""
    return sha256(f"{VERSION}/{samples}/{SAMPLING}".encode()).hexdigest()[:16]
