"""Training data: training sequences built from episodes and data sets."""
