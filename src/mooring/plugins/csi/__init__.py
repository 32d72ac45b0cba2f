"""Volumes of CSI drivers, as the cluster and its nodes handle them.

Attaching goes through VolumeAttachments: `attachment_name.py` says what they and their volumes are
called, `attachment_wait.py` what one tells of its attachment. Both serve the controller that writes
them and the node that waits for them.
"""
