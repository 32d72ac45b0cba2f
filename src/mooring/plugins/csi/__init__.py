"""Volumes of CSI drivers, as the cluster and its nodes handle them.

Attaching goes through VolumeAttachments: `attachment_name.py` says what they and their volumes are
called, `attachment_wait.py` what one tells of its attachment. Both serve the controller that writes
them and the node that waits for them.

The rest is the node's. `plugin.py` is the plugin, `services.py` what all of its parts need.
`attach.py` waits for attachments; volumes are staged in `stage.py`, published to pods in
`mount.py`, given out as devices in `block.py`, grown in `expand.py`. What a driver may have been
asked is on disk before it is asked: `data_file.py` and `records.py` keep that, `reconstruct.py`
finds it after a restart. `drivers.py` has the drivers that registered, `paths.py` every path.
"""
