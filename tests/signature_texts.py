"""What healthy machines and programs print, and the ways in which a real error text gets into a bug report."""

from pathlib import Path

ORDINARY = Path(__file__).parent / "ordinary"


def ordinary(kind: str) -> dict[str, str]:
    """By name: what healthy `programs` print, or what a healthy `kernel` logs."""
    return {file.stem: file.read_text(encoding="utf-8") for file in sorted((ORDINARY / kind).glob("*.txt"))}


def disguises(text: str) -> dict[str, str]:
    """The text as people paste it; one that has several lines is not broken any further."""
    lines = text.splitlines()
    return {
        "in a log": f"12:00:01 INFO start\n12:00:02 step 1\n{text}\n12:00:03 INFO end\n",
        "of one rank": "\n".join(f"[rank0]: {line}" for line in lines),
        "of a container": text if len(lines) > 1 else f"vllm-1  | (EngineCore pid=1) {text}",
        "from Windows": "\r\n".join(lines),
        "in a narrow terminal": text if len(lines) > 1 else _broken(text),
    }


def _broken(text: str, width: int = 80) -> str:
    """As a narrow terminal breaks it between words."""
    lines, line = [], ""
    for word in text.split(" "):
        if len(line) + len(word) > width and line.strip():
            lines.append(line)
            line = word
        else:
            line = f"{line} {word}" if line else word
    return "\n".join([*lines, line])
