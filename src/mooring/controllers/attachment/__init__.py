"""The AttachDetach controller: every volume attached where pods need it, and nowhere else.

Two pictures are compared, one volume at a time: `desired.py` (pods and the nodes they run on) and
`actual.py` (VolumeAttachments, and how the attempts at them went). `decide.py` says what to do;
`multi_attach.py` and `force_detach.py` hold its two hard rules; `event_handlers.py` says what wakes
it. Start at `decide.py`.
"""
