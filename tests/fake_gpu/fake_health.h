/* The calls about a GPU's memory, health and modes: included by fake_nvml.c, whose table and answers they use. */

enum { FIELD_MEMORY_TEMPERATURE = 82, FIELD_RECOVERY_ACTION = 230, VALUE_IS_UNSIGNED = 1 };

typedef struct { unsigned version; u64 total, reserved, free, used; } MemoryV2;

static nvmlReturn_t answer_memory(nvmlDevice_t d, MemoryV2 *out)
{
    char text[MAX_LINE];
    nvmlReturn_t code = look_up(index_of(d), "DeviceGetMemoryInfo", text, 1);
    if (code == SUCCESS)
        out->total = field(text, "total"), out->reserved = field(text, "reserved"),
        out->free = field(text, "free"), out->used = field(text, "used");
    return code;
}

#ifndef OLD_DRIVER
nvmlReturn_t nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t d, MemoryV2 *out)
{
    return out->version == MEMORY_V2 ? answer_memory(d, out) : VERSION_MISMATCH;
}
#endif

/* Drivers before 510 know this structure only. */
typedef struct { u64 total, free, used; } MemoryV1;

nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t d, MemoryV1 *out)
{
    MemoryV2 memory = {0};
    nvmlReturn_t code = answer_memory(d, &memory);
    *out = (MemoryV1){memory.total, memory.free, memory.used};
    return code;
}

DEVICE_PAIR(DeviceGetEccMode, "current", "pending")
DEVICE_PAIR(DeviceGetPowerManagementLimitConstraints, "min", "max")
DEVICE_INT(DeviceGetRetiredPagesPendingStatus)
DEVICE_INT(DeviceGetFanSpeed)
DEVICE_INT(DeviceGetPersistenceMode)
DEVICE_INT(DeviceGetDisplayActive)
DEVICE_INT(DeviceGetComputeMode)
DEVICE_INT(DeviceGetPcieReplayCounter)
DEVICE_INT(DeviceGetGpuMaxPcieLinkGeneration)
DEVICE_TEXT(DeviceGetVbiosVersion)

nvmlReturn_t nvmlDeviceGetVirtualizationMode(nvmlDevice_t d, unsigned *out)
{
    return answer_int(index_of(d), "DeviceGetVirtualizationMode", out);
}

nvmlReturn_t nvmlDeviceGetTotalEccErrors(nvmlDevice_t d, unsigned uncorrected, unsigned aggregate, u64 *out)
{
    char key[80];
    snprintf(key, sizeof key, "DeviceGetTotalEccErrors.%s.%s", uncorrected ? "uncorrected" : "corrected",
             aggregate ? "aggregate" : "volatile");
    return answer_u64(index_of(d), key, out);
}

nvmlReturn_t nvmlDeviceGetRemappedRows(nvmlDevice_t d, unsigned *corrected, unsigned *uncorrected, unsigned *pending,
                                       unsigned *failure)
{
    char text[MAX_LINE];
    nvmlReturn_t code = look_up(index_of(d), "DeviceGetRemappedRows", text, 1);
    if (code == SUCCESS)
        *corrected = (unsigned)field(text, "corrected"), *uncorrected = (unsigned)field(text, "uncorrected"),
        *pending = (unsigned)field(text, "pending"), *failure = (unsigned)field(text, "failure");
    return code;
}

/* The call succeeds; each value carries the return code of its own. */
typedef struct {
    unsigned field, scope;
    long long timestamp, latency;
    int type, code;
    u64 value;
} FieldValue;

nvmlReturn_t nvmlDeviceGetFieldValues(nvmlDevice_t d, int count, FieldValue *values)
{
    for (int i = 0; i < count; i++) {
        const char *key = values[i].field == FIELD_MEMORY_TEMPERATURE ? "DeviceGetFieldValues.memory_temperature"
                        : values[i].field == FIELD_RECOVERY_ACTION    ? "DeviceGetFieldValues.recovery_action"
                                                                      : "";
        values[i].type = VALUE_IS_UNSIGNED;
        values[i].code = answer_u64(index_of(d), key, &values[i].value);
    }
    return SUCCESS;
}

/* The links of "link=0 active=1;link=1 active=0"; the first that is not there is no valid argument. */
nvmlReturn_t nvmlDeviceGetNvLinkState(nvmlDevice_t d, unsigned link, unsigned *active)
{
    char text[MAX_LINE], name[32];
    nvmlReturn_t code = look_up(index_of(d), "DeviceGetNvLinkState", text, 0);
    snprintf(name, sizeof name, "link=%u ", link);
    const char *at = code == SUCCESS ? strstr(text, name) : NULL;
    if (code == SUCCESS && !at)
        return INVALID_ARGUMENT;
    if (at)
        *active = (unsigned)field(at, "active");
    return code;
}

typedef struct { unsigned char cluster[16]; int status; unsigned clique, state; } FabricInfo;

nvmlReturn_t nvmlDeviceGetGpuFabricInfo(nvmlDevice_t d, FabricInfo *out)
{
    unsigned status = 0;
    nvmlReturn_t code = answer_pair(index_of(d), "DeviceGetGpuFabricInfo", "state", "status", &out->state, &status);
    out->status = (int)status;
    return code;
}
