"""What learns: token-exact rows, packed without padding, and pure losses over them."""
