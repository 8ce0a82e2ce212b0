"""Sessions: episodes with their leases, turns and single outcome.

Names for other packages: `capacity.Slot`, `episodes.Episodes`, `idempotency.MAX_KEY_CHARS`,
`registry.Registry`, `session.Ending`, `session.JsonAction`, `session.Session`, `session.State`,
`session.instance_tag`.
"""
