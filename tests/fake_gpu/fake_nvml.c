/* A stand-in for libnvidia-ml.so.1 that answers from the nvml.tsv of a recording (environment variable FAKE_NVML_TSV).
 *
 * Only the calls of src/rigwise/knowledge/nvml_calls.csv exist here. src/rigwise/sources/layout.py describes the table.
 * A call without a row answers NVML_ERROR_NOT_SUPPORTED; a row whose code is `hang` never answers.
 * Built with -DOLD_DRIVER it lacks the functions that drivers before 510 and 535 lack.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SUCCESS, INVALID_ARGUMENT = 2, NOT_SUPPORTED, INSUFFICIENT_SIZE = 7, VERSION_MISMATCH = 25, UNKNOWN = 999 };
enum { CLOCK_SM = 1, CLOCK_MEM = 2, TEMPERATURE_GPU = 0, THRESHOLD_SLOWDOWN = 1, THRESHOLD_MEMORY_MAX, MEMORY_V2 = 0x02000028 };
enum { SYSTEM = -1, MAX_ROWS = 4096, MAX_LINE = 16384 };

typedef int nvmlReturn_t;
typedef void *nvmlDevice_t; /* the GPU's index plus one, so that no handle is null */
typedef unsigned long long u64;

/* ---- the table ------------------------------------------------------------------------------------------------ */

typedef struct {
    int gpu;
    const char *key, *codes, *values;
    unsigned num_calls;
} Row;

static Row rows[MAX_ROWS];
static int num_rows;

static const char *unescaped(const char *cell)
{
    char *text = strdup(cell ? cell : ""), *out = text;
    for (const char *in = text; *in; in++) {
        char next = *in == '\\' ? in[1] : 0;
        char plain = next == 't' ? '\t' : next == 'n' ? '\n' : next == 'r' ? '\r' : next == '\\' ? '\\' : 0;
        if (plain)
            in++;
        *out++ = plain ? plain : *in;
    }
    *out = 0;
    return text;
}

static void read_table(void)
{
    const char *path = getenv("FAKE_NVML_TSV");
    FILE *file = path ? fopen(path, "r") : NULL;
    static char line[MAX_LINE];
    num_rows = 0;
    while (file && num_rows < MAX_ROWS && fgets(line, sizeof line, file)) {
        line[strcspn(line, "\r\n")] = 0;
        if (!*line || *line == '#')
            continue;
        char *rest = line, *gpu = strsep(&rest, "\t"), *key = strsep(&rest, "\t"), *codes = strsep(&rest, "\t");
        int index = *gpu == '-' ? SYSTEM : atoi(gpu);
        rows[num_rows++] = (Row){index, unescaped(key), unescaped(codes), unescaped(rest), 0};
    }
    if (file)
        fclose(file);
}

static Row *find(int gpu, const char *key)
{
    for (int i = 0; i < num_rows; i++)
        if (rows[i].gpu == gpu && !strcmp(rows[i].key, key))
            return &rows[i];
    return NULL;
}

/* The n-th of the values `83|85|91`, counted from 0; the last one repeats. */
static void nth(const char *values, unsigned n, char *text)
{
    for (const char *bar; n && (bar = strchr(values, '|')); n--)
        values = bar + 1;
    snprintf(text, MAX_LINE, "%.*s", (int)strcspn(values, "|"), values);
}

/* The return code of a row, and its value in `text` (MAX_LINE). `advance` counts the call. */
static nvmlReturn_t look_up(int gpu, const char *key, char *text, int advance)
{
    char code[MAX_LINE];
    Row *row = find(gpu, key);
    if (!row)
        return NOT_SUPPORTED;
    nth(row->codes, row->num_calls, code);
    nth(row->values, row->num_calls, text);
    row->num_calls += advance;
    while (!strcmp(code, "hang"))
        pause();
    return atoi(code);
}

static int index_of(nvmlDevice_t device) { return (int)(long)device - 1; }

/* ---- one way of answering per kind of answer --------------------------------------------------------------------- */

static nvmlReturn_t answer_text(int gpu, const char *key, char *out, unsigned size)
{
    char text[MAX_LINE];
    nvmlReturn_t code = look_up(gpu, key, text, 1);
    if (code == SUCCESS && strlen(text) >= size)
        return INSUFFICIENT_SIZE;
    if (code == SUCCESS)
        strcpy(out, text);
    return code;
}

static nvmlReturn_t answer_u64(int gpu, const char *key, u64 *out)
{
    char text[MAX_LINE];
    nvmlReturn_t code = look_up(gpu, key, text, 1);
    if (code == SUCCESS)
        *out = strtoull(text, NULL, 10);
    return code;
}

static nvmlReturn_t answer_int(int gpu, const char *key, unsigned *out)
{
    u64 value = 0;
    nvmlReturn_t code = answer_u64(gpu, key, &value);
    if (code == SUCCESS)
        *out = (unsigned)value;
    return code;
}

/* The number after `name=` in "total=8 free=5". */
static u64 field(const char *text, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = text; (at = strstr(at, name)); at += length)
        if ((at == text || strchr(" ;", at[-1])) && at[length] == '=')
            return strtoull(at + length + 1, NULL, 10);
    return 0;
}

static nvmlReturn_t answer_pair(int gpu, const char *key, const char *one, const char *other, unsigned *a, unsigned *b)
{
    char text[MAX_LINE];
    nvmlReturn_t code = look_up(gpu, key, text, 1);
    if (code == SUCCESS)
        *a = (unsigned)field(text, one), *b = (unsigned)field(text, other);
    return code;
}

/* The first call, with too little room, tells how many there are; the second fills them in. */
typedef struct { unsigned pid; u64 used; unsigned gpu_instance, compute_instance; } Process;

static nvmlReturn_t answer_processes(int gpu, const char *key, unsigned *count, Process *out)
{
    char text[MAX_LINE];
    unsigned room = *count, num_processes = 0;
    nvmlReturn_t code = look_up(gpu, key, text, 0);
    if (code != SUCCESS)
        return code;
    for (const char *at = text; (at = strstr(at, "pid=")); at++)
        num_processes++;
    *count = num_processes;
    if (room < num_processes || (num_processes && !out))
        return INSUFFICIENT_SIZE;
    for (char *rest = text, *one; num_processes && (one = strsep(&rest, ";")); out++)
        *out = (Process){(unsigned)field(one, "pid"), strstr(one, "N/A") ? ~0ULL : field(one, "used_bytes"), ~0U, ~0U};
    find(gpu, key)->num_calls++;
    return SUCCESS;
}

/* ---- NVML ----------------------------------------------------------------------------------------------------- */

nvmlReturn_t nvmlInitWithFlags(unsigned flags)
{
    char text[MAX_LINE];
    (void)flags;
    read_table();
    return find(SYSTEM, "Init") ? look_up(SYSTEM, "Init", text, 1) : UNKNOWN;
}
nvmlReturn_t nvmlInit_v2(void) { return nvmlInitWithFlags(0); }
nvmlReturn_t nvmlShutdown(void) { return SUCCESS; }

const char *nvmlErrorString(nvmlReturn_t code) { return code ? "error of the simulated GPU" : "Success"; }

#define SYSTEM_TEXT(name) \
    nvmlReturn_t nvml##name(char *out, unsigned size) { return answer_text(SYSTEM, #name, out, size); }
#define SYSTEM_INT(name) \
    nvmlReturn_t nvml##name##_v2(unsigned *out) { return answer_int(SYSTEM, #name, out); }
#define DEVICE_TEXT(name) \
    nvmlReturn_t nvml##name(nvmlDevice_t d, char *out, unsigned size) \
    { return answer_text(index_of(d), #name, out, size); }
#define DEVICE_INT(name) \
    nvmlReturn_t nvml##name(nvmlDevice_t d, unsigned *out) { return answer_int(index_of(d), #name, out); }
#define CLOCKS_EVENT_REASONS(name) \
    nvmlReturn_t nvml##name(nvmlDevice_t d, u64 *out) \
    { return answer_u64(index_of(d), "DeviceGetCurrentClocksEventReasons", out); }
#define DEVICE_PAIR(name, first, second) \
    nvmlReturn_t nvml##name(nvmlDevice_t d, unsigned *a, unsigned *b) \
    { return answer_pair(index_of(d), #name, first, second, a, b); }
#define DEVICE_PROCESSES(name, version) \
    nvmlReturn_t nvml##name##_##version(nvmlDevice_t d, unsigned *count, Process *out) \
    { return answer_processes(index_of(d), #name, count, out); }

SYSTEM_TEXT(SystemGetNVMLVersion)
SYSTEM_TEXT(SystemGetDriverVersion)
SYSTEM_INT(SystemGetCudaDriverVersion)
SYSTEM_INT(DeviceGetCount)

nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned gpu, nvmlDevice_t *out)
{
    char text[MAX_LINE];
    if (!find((int)gpu, "DeviceGetHandleByIndex"))
        return INVALID_ARGUMENT;
    *out = (nvmlDevice_t)(long)(gpu + 1);
    return look_up((int)gpu, "DeviceGetHandleByIndex", text, 1);
}

nvmlReturn_t nvmlDeviceGetIndex(nvmlDevice_t device, unsigned *out) /* gpustat asks it */
{
    *out = (unsigned)(long)device - 1;
    return 0;
}

DEVICE_TEXT(DeviceGetName)
DEVICE_TEXT(DeviceGetUUID)

typedef struct {
    char bus_id_legacy[16];
    unsigned domain, bus, device, pci_device_id, pci_subsystem_id;
    char bus_id[32];
} PciInfo;

nvmlReturn_t nvmlDeviceGetPciInfo_v3(nvmlDevice_t d, PciInfo *out)
{
    char text[MAX_LINE];
    nvmlReturn_t code = look_up(index_of(d), "DeviceGetPciInfo", text, 1);
    if (code != SUCCESS)
        return code;
    memset(out, 0, sizeof *out);
    sscanf(text, "busId=%31s", out->bus_id);
    sscanf(out->bus_id, "%x:%x:%x", &out->domain, &out->bus, &out->device);
    snprintf(out->bus_id_legacy, sizeof out->bus_id_legacy, "%.15s", out->bus_id + 4);
    out->pci_device_id = (unsigned)field(text, "pciDeviceId");
    return code;
}

DEVICE_PAIR(DeviceGetCudaComputeCapability, "major", "minor")

nvmlReturn_t nvmlDeviceGetUtilizationRates(nvmlDevice_t d, unsigned out[2])
{
    return answer_pair(index_of(d), "DeviceGetUtilizationRates", "gpu", "memory", out, out + 1);
}

nvmlReturn_t nvmlDeviceGetTemperature(nvmlDevice_t d, unsigned sensor, unsigned *out)
{
    return sensor == TEMPERATURE_GPU ? answer_int(index_of(d), "DeviceGetTemperature", out) : INVALID_ARGUMENT;
}

nvmlReturn_t nvmlDeviceGetTemperatureThreshold(nvmlDevice_t d, unsigned threshold, unsigned *out)
{
    const char *key = threshold == THRESHOLD_SLOWDOWN ? "DeviceGetTemperatureThreshold.slowdown"
                                                      : "DeviceGetTemperatureThreshold.memory_max";
    return threshold <= THRESHOLD_MEMORY_MAX ? answer_int(index_of(d), key, out) : NOT_SUPPORTED;
}

DEVICE_INT(DeviceGetPowerUsage)
DEVICE_INT(DeviceGetEnforcedPowerLimit)
DEVICE_INT(DeviceGetPowerManagementDefaultLimit)

nvmlReturn_t nvmlDeviceGetClockInfo(nvmlDevice_t d, unsigned clock, unsigned *out)
{
    const char *key = clock == CLOCK_SM ? "DeviceGetClockInfo.sm" : "DeviceGetClockInfo.memory";
    return clock == CLOCK_SM || clock == CLOCK_MEM ? answer_int(index_of(d), key, out) : NOT_SUPPORTED;
}

nvmlReturn_t nvmlDeviceGetMaxClockInfo(nvmlDevice_t d, unsigned clock, unsigned *out)
{
    return clock == CLOCK_SM ? answer_int(index_of(d), "DeviceGetMaxClockInfo.sm", out) : NOT_SUPPORTED;
}

CLOCKS_EVENT_REASONS(DeviceGetCurrentClocksThrottleReasons)

DEVICE_INT(DeviceGetCurrPcieLinkGeneration)
DEVICE_INT(DeviceGetMaxPcieLinkGeneration)
DEVICE_INT(DeviceGetCurrPcieLinkWidth)
DEVICE_INT(DeviceGetMaxPcieLinkWidth)
DEVICE_INT(DeviceGetPerformanceState)

DEVICE_PAIR(DeviceGetMigMode, "current", "pending")
DEVICE_PROCESSES(DeviceGetComputeRunningProcesses, v2)
DEVICE_PROCESSES(DeviceGetGraphicsRunningProcesses, v2)

#include "fake_health.h"

#ifndef OLD_DRIVER
CLOCKS_EVENT_REASONS(DeviceGetCurrentClocksEventReasons)
DEVICE_PROCESSES(DeviceGetComputeRunningProcesses, v3)
DEVICE_PROCESSES(DeviceGetGraphicsRunningProcesses, v3)
#endif
