"""What episodes and turns are worth beyond what the environment says: reward and process-reward models."""
