"""The typed records every layer exchanges. Import nothing of ours.

evidence  what a source answered, raw        reading   one parsed value, or why there is none
rig       a machine at one moment            finding   what a check concluded, and the decision
run       what training recorded: trials, steps, samples, predictions
"""
