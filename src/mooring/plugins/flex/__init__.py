"""FlexVolume: volumes of drivers that are programs in a directory of the machine.

`drivers.py` watches the directory and has the drivers, `driver.py` runs one and is the only file
that does. What it is asked and what it answers is decided without running anything: `source.py`
reads the volume, `options.py` makes the JSON argument, `reply.py` and `capabilities.py` read the
answer. On a node, `prober.py` gives the drivers to the registry as plugins (`plugin.py`); volumes
are mounted for pods in `mount.py`, once for all pods in `attach.py` (`records.py` keeps for which
volume), grown in `expand.py`.
`controller.py` is the cluster's side, `reconstruct.py` finds device mounts after a restart.
"""
