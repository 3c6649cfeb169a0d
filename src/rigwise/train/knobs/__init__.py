"""Knobs of a trial: what spares memory, what speeds a step up, what steadies learning, and what each of them costs.

section       what a recipe may say             optimizers  the update, also in the midst of backward
model         freezing, layout, compiling       checkpointing  activations computed again
averaging     the average of the weights        early_stop  a trial that no longer gains
allocator     how PyTorch takes VRAM            peaks       the predicted peak by category
variants      what is compared with what        gains       the comparison
sweep curve   `rigwise.find_lr`                 for_trials  the same for the experiment
"""
