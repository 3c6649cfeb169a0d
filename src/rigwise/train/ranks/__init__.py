"""One trial by several processes of one machine, each on its own GPU: started, watched, ended with a reason.

The process of the command is the leader: it alone writes the run folder, and starts each trial as a job of its own
through torchrun's agent. A rank never outlives its job; whatever one of them dies of, the job ends within 30 s and says
so.
"""
