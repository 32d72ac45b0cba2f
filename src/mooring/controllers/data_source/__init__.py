"""The data-source validator: a claim whose data source nobody serves says so in an event.

It writes nothing but events. Claims and snapshots are served by provisioners, other kinds by the
populators that a VolumePopulator announces. Start at `decide.py`.
"""
