"""Customer service domains of tau-bench and tau2-bench: telecom, retail, airline and mock.

A domain is a sub-package with its tools, state and built-in tasks; tasks, data, rewards and simulated users
are shared. The benchmarks' own data are imported: `agentevol data import tau-telecom DIR`.

Sources: tau-bench (arXiv:2406.12045) and tau2-bench (arXiv:2506.07982), both MIT.
"""
