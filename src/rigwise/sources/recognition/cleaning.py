"""A pasted text without what terminals, mail, web pages and log collectors put around it. Lines stay lines."""

import re

_NEW_LINE = re.compile(r"\r+\n?")
_ESCAPE = re.compile(
    r"""
    (?:\x1b\[|\x9b|\^\[\[)[0-?]*+[ -/]*+[@-~]           # CSI: colours, cursor; also as cat -v writes it
  | (?:\x1b\]|\x9d)[^\x07\x1b\x9c\n]*+(?:\x07|\x1b\\|\x9c)?  # OSC: window titles, links
  | \x1b[PX^_][^\x1b\n]*+(?:\x1b\\)?                       # DCS and other strings
  | \x1b[ -/]*+[0-~]?                                      # all other sequences
  | [^\n]\x08                                              # typed over
  | [\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u200e\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff]
    """,
    re.VERBOSE,
)
_UNPRINTED = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u200e\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff]|\^\[\[")
"""Of these one stands in every escape sequence; most texts have none."""
_QUOTATION = re.compile(r"^(?:> )*+(?:>{1,2}(?!>) ?)?", re.MULTILINE)
_BOLD = re.compile(r"^\*\*(?=[^*\n]{20})([^*\n]++)\*\*[ \t]*$", re.MULTILINE)
"""A whole line in bold, as people mark what matters in a log."""
_GLUED_FENCE = re.compile(r"^[ \t]*(`{3,})(?=[\d|+\[])", re.MULTILINE)
"""A fence with the first line of the evidence behind it."""
_ANNOUNCED = re.compile(
    r"`((?:sudo )?(?:nvidia-smi|numactl|taskset|lspci|dmesg|ethtool|vmstat|mpstat|iostat|top|free|df)\b[^`\n]{0,300})`"
    r"\)?:[ \t]*$",
    re.MULTILINE,
)
"""A sentence that ends with the command whose output stands below: `I ran (`vmstat 1`):`."""
_SPREAD_XID = re.compile(
    r"NVRM ?: {1,4}Xid {1,4}\( ?PCI ?: ?([\da-fA-F]{4}) ?: ?([\da-fA-F]{2}) ?: ?([\da-fA-F]{2}) ?\) ?: ?(?=\d)"
)
"""As a picture of a screen is read: `NVRM :  Xid  ( PCI : 0000 : 01 : 00 ) : 79`."""
_NAMES = "pre|code|details|p|div|span|samp|kbd|blockquote|table|tbody|tr|td|h[1-6]"
_INITIAL = "(?=[bcdhkpst])"
"""Of all those names; evidence has many other tags, which are passed over faster."""
_TAG = re.compile(rf"</?{_INITIAL}(?:{_NAMES}|summary)(?: [^<>\n]{{0,200}})?/?>", re.IGNORECASE)
_TAG_AROUND_XML = re.compile(rf"</?{_INITIAL}(?:{_NAMES})(?: [^<>\n]{{0,200}})?/?>", re.IGNORECASE)
"""nvidia-smi has a `summary` of its own, of the fabric's health."""
_LINE_BREAK = re.compile(r"<br ?/?>", re.IGNORECASE)
_ENTITY = re.compile(r"&(?:lt|gt|amp|quot|apos|nbsp|#39|#x27|#34|#x22);")
_ENTITIES = {"&lt;": "<", "&gt;": ">", "&amp;": "&", "&quot;": '"', "&#34;": '"', "&#x22;": '"', "&nbsp;": " "}
_COLLECTED_AT = re.compile(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6,9}Z (?!\S+ kernel: |NVRM: )", re.MULTILINE)
"""GitHub Actions and `kubectl logs --timestamps`."""
_CONTAINER = re.compile(r"^\[?[\w./-]{2,60}\]? *\| ?", re.MULTILINE)
"""docker compose."""
_TALOS = re.compile(r"^\S{1,60}: +kern: +\w+: \[(\d{4}-\d\d-\d\dT[\d:.]+Z?)\]: ", re.MULTILINE)
"""The kernel log as `talosctl dmesg` prints it."""
_GREPPED = re.compile(
    r"^(?:[\w./-]{1,80}[:-])(?=[A-Z][a-z]{2} +\d{1,2} \d\d:\d\d:\d\d \S+ \S*kernel|\[ *\d+\.\d{6}\] "
    r"|\d{4}-\d\d-\d\dT\S{8,32} \S+ kernel:)",
    re.MULTILINE,
)
"""A line of a log behind the name of its file, as grep writes it: `messages:Jun 17 20:18:09 node kernel: ...`."""
_SAMPLE_LINES = 50


def cleaned(text: str) -> str:
    r"""The lines as the program wrote them.

    >>> cleaned("> \x1b[4mGPU0\x1b[0m\r\n> X &lt;unknown&gt;\r\n")
    'GPU0\nX <unknown>\n'
    """
    text = _NEW_LINE.sub("\n", text) if "\r" in text else text
    text = _ESCAPE.sub("", text) if _UNPRINTED.search(text) else text
    text = _without_markup(text.replace("\xa0", " "))
    text = _QUOTATION.sub("", text) if text.startswith(">") or "\n>" in text else text
    text = _BOLD.sub(r"\1", text) if "**" in text else text
    if "`" in text:
        text = _ANNOUNCED.sub(r"\n`\1`:", _GLUED_FENCE.sub(r"\1\n", text))
    text = _SPREAD_XID.sub(r"NVRM: Xid (PCI:\1:\2:\3): ", text) if "Xid" in text else text
    text = _TALOS.sub(r"\1 node kernel: ", text) if " kern: " in text else text
    text = _GREPPED.sub("", text) if ":" in text else text
    text = _COLLECTED_AT.sub("", text)
    return _without_container_names(text)


def _without_markup(text: str) -> str:
    """Without HTML around the evidence; the XML of nvidia-smi stays what it is."""
    if "<nvidia_smi_log" in text:
        return _TAG_AROUND_XML.sub("", text)
    if "<br" in text or "<BR" in text:
        text = _LINE_BREAK.sub("\n", text)
    if "<" in text:
        text = _TAG.sub("", text)
    return _ENTITY.sub(lambda match: _ENTITIES.get(match[0], "'"), text) if "&" in text else text


def _without_container_names(text: str) -> str:
    """Without the name before every line, where every line has one."""
    lines = [line for line in text[: _SAMPLE_LINES * 200].split("\n")[:_SAMPLE_LINES] if line.strip()]
    if len(lines) < 2 or not all(map(_CONTAINER.match, lines[:-1])):
        return text
    return _CONTAINER.sub("", text)
