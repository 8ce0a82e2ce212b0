"""Contract, options and registry of learning algorithms, below configuration and learner.

Names for other packages: `contract.ABSENT`, `contract.Advantages`, `contract.Algorithm`, `contract.Batch`,
`contract.Column`, `contract.Floats`, `contract.Integers`, `contract.Loss`, `contract.MOST_TIED`,
`contract.Objective`, `contract.Option`, `contract.Rollouts`, `contract.Steps`, `contract.Switch`,
`contract.Totals`, `contract.conditions`, `contract.is_on`, `options.Finite`, `options.Fraction`,
`options.NotNegative`, `options.OffOrAboveOne`, `options.Positive`, `options.check_option`,
`options.options_of`, `options.own`, `options.takes_options_of`, `options.unbound`, `registry.Objective`,
`registry.algorithm`, `registry.objective`, `registry.option_defaults`, `registry.option_types`.
"""
