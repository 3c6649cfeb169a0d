"""The guided experiment on the user's own pictures. torch is imported lazily, only in here."""
