"""The starter policies: small language models of our own, and the recipe that makes them."""
