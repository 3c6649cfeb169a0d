"""How fast a training loop is, how fast each of its stages would be alone, and which levers are worth it.

loop      the loop and its batches          timeline  when the device reached a point
pace      rates in blocks, with intervals   parts     where a step went
stages    loader, transfer, compute, actual launch    what submitting a step costs the host
gap       parts against the wall            judging   the bound, and contradictions that are refused
lever     something to switch on and off    usual     the levers every loop has
comparing A B B A, kept or not              measure   all of it: `rigwise.ceilings`
"""
