"""Sidecars: between the API and a CSI driver's socket, for any driver.

Lives here: the provisioner (claims become volumes, capacity is told), the attacher (attachments
become so), the registrar (node agents hear of the driver). Each is a reconciler with the five names
or less. What they share: `driver` (who is behind a socket, and what it can do), `watched` (caches
that many drivers share), `finalizers`, `credentials`.
May import: csi, reconcile, client, model. Start at `provisioner/decide/claim.py`.
"""
