"""The reasons a GPU gives for holding its clocks back, as NVML's bit mask names them.

Values: nvmlClocksEventReasons in nvml.h (the same as DCGM_CLOCKS_EVENT_REASON_* in dcgm_fields.h).
"""

from enum import IntFlag


class ClockEvent(IntFlag):
    """One bit each; several may be set at once."""

    GPU_IDLE = 0x1
    APPLICATIONS_CLOCKS_SETTING = 0x2
    SW_POWER_CAP = 0x4
    HW_SLOWDOWN = 0x8
    SYNC_BOOST = 0x10
    SW_THERMAL_SLOWDOWN = 0x20
    HW_THERMAL_SLOWDOWN = 0x40
    HW_POWER_BRAKE_SLOWDOWN = 0x80
    DISPLAY_CLOCKS_SETTING = 0x100
