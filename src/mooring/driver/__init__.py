"""The bundled CSI driver, `loop.csi.mooring.dev`: volumes as sparse files behind loop devices.

Lives here: the services (`identity`, `controller`, `snapshots`, `listing`, `node`), their records
on disk (`records`, `state`), the repair at startup (`recover`), the code for files, devices and
mounts (`backends`), and the gRPC server (`serve`). The driver holds the only copy of a user's data,
so: a record is written before and after each operation, only an image that was never staged is
formatted, and only files in `making` and `trash` are deleted.

May import: `csi.proto`, `host`, `model` and what lies below. Start at `controller`, then `node`.
"""
