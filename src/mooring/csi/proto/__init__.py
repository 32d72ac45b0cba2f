"""The wire: CSI 1.12 and plugin registration v1, as `*.proto` and what `make proto` makes of it."""
