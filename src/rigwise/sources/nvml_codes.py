"""NVML return codes: what each means for an answer, and NVML's own words for it.

From nvmlReturn_t in nvml.h; the words are those of nvmlErrorString. Kept here because a recording holds only the
code, and a machine without a driver has no library to ask.
"""

from typing import NamedTuple

from rigwise.records.evidence import Status


class ReturnCode(NamedTuple):
    """One NVML return code: the status it gives an answer, its constant's name, and NVML's words."""

    status: Status
    constant: str
    words: str


_CODES = {
    0: ReturnCode(Status.OK, "NVML_SUCCESS", "Success"),
    1: ReturnCode(Status.FAILED, "NVML_ERROR_UNINITIALIZED", "Uninitialized"),
    2: ReturnCode(Status.FAILED, "NVML_ERROR_INVALID_ARGUMENT", "Invalid Argument"),
    3: ReturnCode(Status.NOT_SUPPORTED, "NVML_ERROR_NOT_SUPPORTED", "Not Supported"),
    4: ReturnCode(Status.NOT_PERMITTED, "NVML_ERROR_NO_PERMISSION", "Insufficient Permissions"),
    6: ReturnCode(Status.NOT_FOUND, "NVML_ERROR_NOT_FOUND", "Not Found"),
    8: ReturnCode(Status.FAILED, "NVML_ERROR_INSUFFICIENT_POWER", "Insufficient External Power"),
    9: ReturnCode(Status.FAILED, "NVML_ERROR_DRIVER_NOT_LOADED", "Driver Not Loaded"),
    10: ReturnCode(Status.FAILED, "NVML_ERROR_TIMEOUT", "Timeout"),
    11: ReturnCode(Status.FAILED, "NVML_ERROR_IRQ_ISSUE", "Interrupt Request Issue"),
    12: ReturnCode(Status.NOT_FOUND, "NVML_ERROR_LIBRARY_NOT_FOUND", "NVML Shared Library Not Found"),
    13: ReturnCode(Status.NOT_SUPPORTED, "NVML_ERROR_FUNCTION_NOT_FOUND", "Function Not Found"),
    14: ReturnCode(Status.FAILED, "NVML_ERROR_CORRUPTED_INFOROM", "Corrupted infoROM"),
    15: ReturnCode(Status.LOST, "NVML_ERROR_GPU_IS_LOST", "GPU is lost"),
    16: ReturnCode(Status.FAILED, "NVML_ERROR_RESET_REQUIRED", "GPU requires restart"),
    17: ReturnCode(
        Status.NOT_PERMITTED, "NVML_ERROR_OPERATING_SYSTEM", "The operating system has blocked the request."
    ),
    18: ReturnCode(Status.FAILED, "NVML_ERROR_LIB_RM_VERSION_MISMATCH", "RM has detected an NVML/RM version mismatch."),
    19: ReturnCode(Status.FAILED, "NVML_ERROR_IN_USE", "Device In Use"),
    20: ReturnCode(Status.FAILED, "NVML_ERROR_MEMORY", "Insufficient Memory"),
    21: ReturnCode(Status.NOT_FOUND, "NVML_ERROR_NO_DATA", "No Data"),
    25: ReturnCode(Status.NOT_SUPPORTED, "NVML_ERROR_ARGUMENT_VERSION_MISMATCH", "Argument Version Mismatch"),
    26: ReturnCode(Status.NOT_SUPPORTED, "NVML_ERROR_DEPRECATED", "Deprecated"),
    27: ReturnCode(Status.FAILED, "NVML_ERROR_NOT_READY", "Not Ready"),
    28: ReturnCode(Status.NOT_FOUND, "NVML_ERROR_GPU_NOT_FOUND", "GPU Not Found"),
    999: ReturnCode(Status.FAILED, "NVML_ERROR_UNKNOWN", "Unknown Error"),
}


def return_code(code: int) -> ReturnCode:
    """What an NVML return code means; a code newer than this table is a failure named by its number.

    >>> return_code(15).status, return_code(15).words
    (<Status.LOST: 'lost'>, 'GPU is lost')
    >>> return_code(77)
    ReturnCode(status=<Status.FAILED: 'failed'>, constant='nvmlReturn_t 77', words='NVML error')
    """
    return _CODES.get(code, ReturnCode(Status.FAILED, f"nvmlReturn_t {code}", "NVML error"))
