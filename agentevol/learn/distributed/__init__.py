"""Distributed training: ranks, sharded weights, and forward passes shared among ranks.

Names for other packages: `forward_passes.Passes`, `forward_passes.shared_out`, `ranks.ALONE`, `ranks.Ranks`,
`ranks.join`, `ranks.meet`, `ranks.meeting_point`, `sharding.on_first`, `sharding.own_part`,
`sharding.part_like`, `sharding.shard`, `sharding.share_of`, `sharding.whole`.
"""
