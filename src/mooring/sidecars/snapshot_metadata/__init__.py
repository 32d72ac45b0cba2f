"""csi-snapshot-metadata: which blocks of a snapshot hold data, or have changed, for backups."""
