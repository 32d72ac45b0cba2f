"""What touches the machine for the driver: image files, loop devices, file systems on them."""
