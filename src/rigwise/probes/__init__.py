"""Questions put to a source, and their answers parsed into the typed `Rig`. One module per subject."""
