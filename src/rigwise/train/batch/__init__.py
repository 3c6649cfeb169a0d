"""The batch size that holds: searched in child processes, proved by a soak, kept when memory runs out in a run.

find         `find_batch`, the whole search          recognise    which failures mean out of memory
training     what a probe runs, given by the caller   causes       why probes failed: too big, leak, another process
probing      one probe in a child process            breakdown    where the bytes go, traced without memory
course       what the child told, and how it ended   recovery     a run that goes on with smaller micro-batches
search       which size is tried next                update       memory that ends in the optimiser's own update
"""
