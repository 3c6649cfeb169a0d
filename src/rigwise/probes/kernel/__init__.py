"""The kernel log and the fabric manager's log: lines, times, events."""
