"""The only code that touches the machine: live, recorded and pasted sources of raw evidence."""
