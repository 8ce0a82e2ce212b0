"""Episodes of the environment `sotopia`: partners, judges, verifiers, and what is told at the end."""
