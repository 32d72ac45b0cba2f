"""The names of files in the driver's state directory."""

LOCK = "mooring.lock"
CLASS_MADE = "class-made"  # how files end that say: who deletes a class does not want it back
IMAGE = "image"
VOLUMES = "volumes"
RECORD = "record.json"
LVM_HOME = "lvm.json"  # which pool the state directory belongs to
