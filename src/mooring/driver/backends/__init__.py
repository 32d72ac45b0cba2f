"""The driver's access to the machine: image files, loop devices, file systems on them."""
