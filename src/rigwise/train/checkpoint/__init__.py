"""Checkpoints that survive being killed, and what goes on from them.

checkpoint_file  one file: written whole or not at all, known to be whole when read
checkpoint       what is known of one beside the states in it
parts            models, optimisers and whatever else has a state: taken, compared, put back
random_state     every generator a step draws from
checkpoints      a folder of them, for any loop: `rigwise.Checkpoints`
sample_order     which sample comes when, from any sample on
run_checkpoints  those of all trials of a run, and what it recorded before it was interrupted
trial            those of one trial, saved and put back
interrupted      what a run that was cut short left, and why it cannot go on
run_lock         one process at a time in a run folder
"""
