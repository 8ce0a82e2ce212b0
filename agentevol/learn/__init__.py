"""Training of policies, critics and reward models: token-exact training sequences, packed without padding,
and pure loss functions over them.
"""
