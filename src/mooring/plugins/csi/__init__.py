"""Volumes of CSI drivers, as the cluster and its nodes handle them.

Attaching goes through VolumeAttachments: `attachment_name.py` has their names, `attachment_wait.py`
reads their status. Both serve the controller that writes them and the node that waits for them.

The rest is the node's. `plugin.py` is the plugin, `services.py` what all of its parts need.
`attach.py` waits for attachments; volumes are staged in `stage.py`, published to pods in
`mount.py`, mapped as block devices in `block.py`, expanded in `expand.py`. A record is on disk
before the driver is called: `data_file.py` and `records.py` write it, `reconstruct.py` finds it
after a restart. `drivers.py` has the registered drivers, `paths.py` every path.
"""
