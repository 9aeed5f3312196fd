"""What the operator wants: prloom.toml, presets, the environment and flags, merged and checked.

Nothing is imported here, because the state commands need `prloom.config.layers` without the cost of pydantic.
"""
