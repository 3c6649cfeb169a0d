"""Checkpoints that survive being killed, and what goes on from them.

checkpoint_file  one file: written whole or not at all, known to be whole when read
parts            models, optimisers and whatever else has a state: taken, compared, put back
random_state     every generator a step draws from
checkpoints      a folder of them, for any loop: `rigwise.Checkpoints`
sample_order     which sample comes when, from any sample on
trial            checkpoints of one trial of the guided experiment
interrupted      what a run that was cut short left, and why it cannot go on
run_lock         one process at a time in a run folder
"""
