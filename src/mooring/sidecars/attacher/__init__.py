"""The attacher: VolumeAttachments of a driver become so, and are undone when they are deleted.

Recorded first, then done: the volume and the attachment get a finalizer before the driver is asked
to attach, and lose it when it has detached. What an attachment was made with is written on it, so
that it can be undone when volume and node are gone.
"""
