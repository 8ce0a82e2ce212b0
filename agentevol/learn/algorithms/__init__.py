"""Learning algorithms by family, one module each, and the losses and advantages that they share."""
