"""What `lspci` prints, with any of -nn, -v, -vv, -vvv and -D: devices, their links, and the bridges above them."""

import re
from collections.abc import Iterator

import msgspec

from rigwise.records.topology import LinkEnd

HEADING = re.compile(r"(?:([0-9a-f]{4,8}):)?([0-9a-f]{2}):([0-9a-f]{2})\.([0-7])\s+(\S.*)", re.IGNORECASE)
IDENTITY = re.compile(r"\b(10de:[0-9a-f]{4})\b", re.IGNORECASE)
PRODUCT = re.compile(r"\[([^\[\]]*[ A-Za-z][^\[\]]*)\]")
SPEED = re.compile(r"Speed\s*([\d.]+)\s*GT/s")
WIDTH = re.compile(r"Width\s*x(\d+)")
ASKED_FOR = re.compile(r"^-s ?(?:([\da-f]{4}):)?([\da-f]{2}:[\da-f]{2}\.[0-7])$", re.IGNORECASE | re.MULTILINE)
"""The command that asked for one device; its answer may have lost the heading, to grep for instance."""
MARK = re.compile(r"Width\s*x\d+\s*\((downgraded|ok)\)")
BELOW = re.compile(r"secondary=([0-9a-f]{2}), subordinate=([0-9a-f]{2})")
DISPLAY_CLASSES = ("VGA compatible controller", "3D controller", "Display controller", "0300", "0302", "0380")
"""In words, or with -n as codes."""
NVIDIA = "NVIDIA Corporation"
GENERATIONS = {2.5: 1, 5.0: 2, 8.0: 3, 16.0: 4, 32.0: 5, 64.0: 6}
"""PCIe generation of a lane's rate in GT/s."""
HIDDEN = "Capabilities: <access denied>"
"""Instead of the capabilities, where lspci does not run as root."""


class Device(msgspec.Struct, frozen=True, kw_only=True):
    """One PCI function."""

    address: str
    """`0000:41:00.0`"""
    description: str
    """`VGA compatible controller [0300]: NVIDIA Corporation AD102 [GeForce RTX 4090] [10de:2684] (rev a1)`"""
    lines: tuple[str, ...]
    """What is said of it below that, stripped."""

    def line(self, label: str) -> str:
        """The text after a label; "" where there is none."""
        return next((line.partition(":")[2].strip() for line in self.lines if line.startswith(f"{label}:")), "")

    @property
    def is_nvidia_gpu(self) -> bool:
        """Whether it is a display device of NVIDIA, be it an NVSwitch's neighbour or a laptop's."""
        kind, _, rest = self.description.partition(": ")
        return kind.startswith(DISPLAY_CLASSES) and (NVIDIA in rest or bool(IDENTITY.search(rest)))

    @property
    def is_unnamed(self) -> bool:
        """Whether only its link is told."""
        return not self.description

    @property
    def device_id(self) -> str:
        """`10de:2684`; "" without -nn."""
        found = IDENTITY.search(self.description)
        return found[1].lower() if found else ""

    @property
    def name(self) -> str:
        """The product's name in the PCI ID list: `GeForce RTX 4090`; "" where it is not told.

        >>> Device(address="", description="3D controller: NVIDIA Corporation GA100 [A100 SXM4 80GB]", lines=()).name
        'A100 SXM4 80GB'
        """
        names = PRODUCT.findall(self.description.partition(": ")[2])
        return next((name for name in names if not name.lower().startswith("10de:")), "")

    @property
    def chip(self) -> str:
        """The chip before the product's name: `AD102`; "" where it is not told."""
        words = self.description.partition(f"{NVIDIA} ")[2].split()
        return words[0] if words and words[0] != "Device" else ""

    @property
    def driver(self) -> str:
        """Kernel driver bound to it, or ""."""
        return self.line("Kernel driver in use")

    @property
    def secondary_bus(self) -> str:
        """The bus below a bridge, with its domain: `0000:41`; "" for a device that is none."""
        found = BELOW.search(self.line("Bus"))
        return f"{self.address[:4]}:{found[1]}" if found else ""

    def is_above(self, address: str) -> bool:
        """Whether a bridge leads to the device at this address, be it through other bridges."""
        found = BELOW.search(self.line("Bus"))
        domain, bus, _ = address.split(":")
        return found is not None and domain == self.address[:4] and found[1] <= bus <= found[2]

    @property
    def redirects(self) -> bool:
        """Whether its access control sends copies between devices below it up to the CPU."""
        return any(flag in self.line("ACSCtl").split() for flag in ("ReqRedir+", "CmpltRedir+"))


def parse_devices(text: str) -> tuple[Device, ...]:
    r"""Every PCI function, in order; of one that is printed twice, the longer text.

    Where no function is named, the links that could be a GPU's: of 16 lanes, or, without a word on that, narrowed.

    Raises:
        LookupError: there is none.

    >>> text = "41:00.0 VGA compatible controller: NVIDIA Corporation AD102 [GeForce RTX 4090]\n\tLnkSta: Speed 16GT/s"
    >>> [(device.address, device.name, device.line("LnkSta")) for device in parse_devices(text)]
    [('0000:41:00.0', 'GeForce RTX 4090', 'Speed 16GT/s')]
    """
    found: dict[str, Device] = {}
    for device in _devices(text):
        known = found.get(device.address)
        if known is None or len(device.lines) > len(known.lines):
            found[device.address] = device
    devices = tuple(found.values()) or tuple(_unnamed(text))
    if not devices:
        raise LookupError("no PCI device")
    return devices


def _unnamed(text: str) -> Iterator[Device]:
    r"""The links whose devices are not named, with the address that was asked for.

    >>> text = "-s 01:00.0\n  LnkCap: Port #0, Speed 8GT/s, Width x16\n  LnkSta: Speed 5GT/s, Width x1 (downgraded)"
    >>> [(device.address, link_end(device).width) for device in _unnamed(text)]
    [('0000:01:00.0', 1)]
    """
    asked = ASKED_FOR.search(text)
    address = f"{asked[1] or '0000'}:{asked[2]}".lower() if asked else ""
    can = ""
    for line in map(str.strip, text.splitlines()):
        if line.startswith("LnkCap:"):
            can = line
        elif line.startswith("LnkSta:"):
            marked = MARK.search(line)
            narrowed = marked is not None and marked[1] == "downgraded"
            if "Width x16" in can or (not can and (narrowed or "Width x16" in line)):
                yield Device(address=address, description="", lines=tuple(filter(None, (can, line))))
            can = ""


def _devices(text: str) -> Iterator[Device]:
    heading: re.Match[str] | None = None
    lines: list[str] = []
    for line in [*text.splitlines(), "00:00.0 end"]:
        if not (start := HEADING.match(line.strip())):
            lines.append(line.strip())
            continue
        if heading is not None:
            domain = (heading[1] or "0000")[-4:]
            address = f"{domain}:{heading[2]}:{heading[3]}.{heading[4]}".lower()
            yield Device(address=address, description=heading[5], lines=tuple(lines))
        heading, lines = start, []


def link_end(device: Device) -> LinkEnd:
    """What the link of a device can do (LnkCap) and does (LnkSta).

    Raises:
        LookupError: it is not told, which takes -vv as root.

    >>> lines = ("LnkCap: Port #0, Speed 16GT/s, Width x16", "LnkSta: Speed 2.5GT/s (downgraded), Width x8 (ok)")
    >>> link_end(Device(address="", description="", lines=lines))
    LinkEnd(gen=1, width=8, gen_max=4, width_max=16, narrowed=False)
    """
    can, does = device.line("LnkCap"), device.line("LnkSta")
    if not (can or does):
        raise LookupError("no link")
    marked = MARK.search(does)
    return LinkEnd(
        gen=_gen(does),
        width=_width(does),
        gen_max=_gen(can),
        width_max=_width(can),
        narrowed=marked[1] == "downgraded" if marked else None,
    )


def _gen(text: str) -> int | None:
    speed = SPEED.search(text)
    return generation(speed[1]) if speed else None


def _width(text: str) -> int | None:
    """Lanes; None for `Width x0`, a link that is down."""
    width = WIDTH.search(text)
    return int(width[1]) or None if width else None


def generation(gt_per_second: str) -> int | None:
    """The PCIe generation of a rate: `16` and `16.0` are generation 4; None for an unknown one.

    >>> generation("2.5"), generation("16.0"), generation("7")
    (1, 4, None)
    """
    try:
        return GENERATIONS.get(float(gt_per_second))
    except ValueError:
        return None
