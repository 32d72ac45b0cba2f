"""Sidecars: between the API and a CSI driver's socket, for any driver.

Lives here: the provisioner (claims become volumes, capacity is published), the attacher
(attachments become so) and the resizer (volumes grow and change), each a reconciler with the five
names; `role.py` has one row per sidecar and runs them for many drivers. What they share: `driver`
(the driver behind a socket, and what it can do), `driver_connection`, `finalizers`, `credentials`.
May import: csi, reconcile, client, model. Start at `provisioner/decide/claim.py`.
"""
