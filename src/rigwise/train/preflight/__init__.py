"""Before a loader runs: what of this machine or process would stop it or slow it down, in words.

    from rigwise.train.preflight.preflight import LoaderPlan, preflight

    for concern in preflight(LoaderPlan(num_workers=8, batch_bytes=19_300_000)):
        print(concern.because, concern.next_step)

limits       what the machine allows, and what state this process is in
preflight    a plan against the limits
first_batch  a first batch in time, or why there is none
sweep        rates side by side, and the least costly of the fastest
"""
