"""The machine around the GPUs: operating system, container, memory, kernel modules, Secure Boot."""

import re

from rigwise.probes.answers import above_zero, line_with, parsed, parsed_line
from rigwise.probes.software.driver import read_loaded_modules
from rigwise.records.evidence import Evidence, Status
from rigwise.records.host import Host
from rigwise.records.reading import Reading, absent, present
from rigwise.sources.source import Source

KIB = 1024
SECURE_BOOT_VARIABLE = "/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"
"""UEFI specification, section 3.3: four bytes of attributes, then one byte, 1 for on."""
_WSL_KERNEL = re.compile(r"\b\d\.\d{1,3}\.[\w.-]{1,40}-microsoft-standard-WSL2\b")
CONTAINER_MARKERS = (
    ("/var/run/secrets/kubernetes.io", "kubernetes"),
    ("/run/.containerenv", "podman"),
    ("/.dockerenv", "docker"),
)
"""Files and folders that a container engine puts into its containers, the most exact first."""


def read_host(source: Source) -> Host:
    """Everything about the host that needs no GPU."""
    memory, version = source.file("/proc/meminfo"), _kernel_version(source)
    return Host(
        os_name=parsed("operating system", source.file("/etc/os-release"), os_name),
        kernel=parsed("kernel", version, kernel_release),
        container=read_container(source),
        wsl=read_wsl(source, version),
        num_cpus=parsed("CPUs", source.file("/sys/devices/system/cpu/online"), num_cpus),
        ram_total_bytes=parsed_line("RAM", memory, "MemTotal:", lambda line: above_zero(kib_line(line))),
        ram_available_bytes=parsed_line("available RAM", memory, "MemAvailable:", kib_line),
        swap_total_bytes=parsed_line("swap", memory, "SwapTotal:", kib_line),
        swap_used_bytes=_swap_used(memory),
        memory_pressure_ratio=parsed_line(
            "memory pressure", source.file("/proc/pressure/memory"), "some", pressure_ratio
        ),
        loaded_modules=read_loaded_modules(source),
        secure_boot=read_secure_boot(source),
    )


def _kernel_version(source: Source) -> Evidence:
    """/proc/version, or `uname -a`: in both the release is the third word."""
    file = source.file("/proc/version")
    return source.command(["uname", "-a"]) if file.status is Status.NOT_RECORDED else file


def read_wsl(source: Source, version: Evidence) -> Reading[bool]:
    """Whether the kernel is WSL's, by its version or, where nobody asked for that, by a mention of its name."""
    output = source.program_output()
    named = _WSL_KERNEL.search(output.text, 0, 2**20) if version.status is Status.NOT_RECORDED else None
    if named:
        return present("WSL", True, output, named[0])
    return parsed("WSL", version, lambda text: "microsoft" in text.lower())


def os_name(text: str) -> str:
    r"""The system's own name for itself.

    >>> os_name('NAME="Debian"\nPRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\n')
    'Debian GNU/Linux 12 (bookworm)'
    """
    return line_with(text, "PRETTY_NAME=").partition("=")[2].strip("\"'")


def kernel_release(text: str) -> str:
    """The kernel's release.

    >>> kernel_release("Linux version 6.8.0-45-generic (builder@host) (gcc 13.2.0) #45-Ubuntu SMP")
    '6.8.0-45-generic'
    """
    return text.split()[2]


def num_cpus(text: str) -> int:
    r"""How many CPUs a list of ranges names.

    >>> num_cpus("0-15"), num_cpus("0,2-3\n")
    (16, 3)
    """
    count = 0
    for span in text.strip().split(","):
        first, _, last = span.partition("-")
        count += int(last or first) - int(first) + 1
    return count


def kib_line(line: str) -> int:
    """Bytes of one line of /proc/meminfo.

    >>> kib_line("MemTotal:       65536 kB")
    67108864
    """
    return int(line.split()[1]) * KIB


def pressure_ratio(line: str) -> float:
    """Share of the last minute, 0 to 1, in which some task waited (PSI `avg60`).

    >>> pressure_ratio("some avg10=0.00 avg60=12.50 avg300=1.00 total=99")
    0.125
    """
    found = re.search(r"avg60=([\d.]+)", line)
    if found is None:
        raise ValueError(line)
    return float(found[1]) / 100


def _swap_used(memory: Evidence) -> Reading[int]:
    name = "swap used"
    try:
        lines = [line_with(memory.text, start) for start in ("SwapTotal:", "SwapFree:")]
    except LookupError:
        return absent(name, memory)
    return parsed(name, memory, lambda _text: kib_line(lines[0]) - kib_line(lines[1]), "\n".join(lines))


def read_container(source: Source) -> Reading[str]:
    """The kind of container this is: `docker`, `podman`, `kubernetes`, `lxc`; "none" when the markers say none."""
    name = "container"
    groups = source.file("/proc/1/cgroup")
    for path, kind in CONTAINER_MARKERS:
        marker = source.file(path)
        if marker.status is Status.OK:
            return present(name, container_kind(groups.text) or kind, marker, f"{path} exists")
    return parsed(name, groups, lambda text: container_kind(text) or "none")


def container_kind(cgroup: str) -> str:
    """The container that the control groups of process 1 name, "" for none.

    >>> container_kind("0::/kubepods.slice/pod1"), container_kind("1:name=systemd:/docker/0a1b"), container_kind("0::/")
    ('kubernetes', 'docker', '')
    """
    for word, kind in (("kubepods", "kubernetes"), ("docker", "docker"), ("libpod", "podman"), ("lxc", "lxc")):
        if word in cgroup:
            return kind
    return ""


def read_secure_boot(source: Source) -> Reading[bool]:
    """Whether Secure Boot is on, from the firmware's variable or, where it is hidden, from `mokutil`."""
    variable = source.file(SECURE_BOOT_VARIABLE)
    if variable.status is Status.OK:
        return parsed("Secure Boot", variable, secure_boot_byte)
    return parsed("Secure Boot", source.command(["mokutil", "--sb-state"], timeout_seconds=3.0), secure_boot)


def secure_boot_byte(text: str) -> bool:
    r"""Whether the firmware's variable says that Secure Boot is on.

    >>> secure_boot_byte("\x06\0\0\0\x01"), secure_boot_byte("\x06\0\0\0\0")
    (True, False)
    """
    return {"\x01": True, "\0": False}[text[-1:]]


def secure_boot(text: str) -> bool:
    r"""Whether `mokutil --sb-state` says that Secure Boot is on.

    >>> secure_boot("SecureBoot enabled\n"), secure_boot("SecureBoot disabled\nPlatform is in Setup Mode")
    (True, False)
    """
    return {"enabled": True, "disabled": False}[line_with(text, "SecureBoot").split()[1]]
