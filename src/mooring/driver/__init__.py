"""The bundled CSI driver, `loop.csi.mooring.dev`: volumes as sparse files behind loop devices.

Lives here: the services (`identity`, `controller`, `snapshots`, `listing`, `node`), what they
remember (`records`, `state`), what a start repairs (`recover`), what touches files, devices and
mounts (`backends`), and how it is served on a socket (`serve`). It holds the only copy of
somebody's data, so: a record says what happened before and after it happens, nothing but an image
that was never given to anybody is formatted, and only what was marked as garbage is deleted.

May import: `csi.proto`, `host`, `model` and what lies below. Start at `controller`, then `node`.
"""
